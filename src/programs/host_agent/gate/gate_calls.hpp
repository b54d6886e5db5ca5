// The calls that a gate asks for. For each the agent dials the gate once more and, beside that, the
// port of loopback that the door was given for, and joins the two. A gate names doors, never
// addresses: what is not among the doors here leads nowhere, and nobody makes this host dial more
// often, or hold more streams, than a gate that keeps to its own limits would.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "host_agent/gate/gate_address.hpp"
#include "http/call_out.hpp"
#include "http/loop_thread.hpp"
#include "http/pump.hpp"

namespace berth::host_agent {

class GateCalls {
public:
    struct Options {
        bool by_tls = false;                           // never by plain TCP
        Duration plain_max = std::chrono::seconds(5);  // then TLS is tried
    };
    explicit GateCalls(Options options) : options_(options) {}

    struct Door {
        agent_protocol::DoorKind kind = agent_protocol::DoorKind::http;
        std::int64_t local_port = 0;

        friend bool operator==(const Door&, const Door&) = default;
    };
    using Doors = std::map<agent_protocol::DoorId, Door>;

    // From any thread, as the rest. Streams of doors that are not among them any more end.
    void set_doors(Doors doors);
    void answer(const GateAddress& gate, const agent_protocol::LinkLine& call);

    struct Counts {
        std::uint64_t unknown = 0;   // calls for doors that are not ours
        std::uint64_t too_many = 0;  // beyond the limits
        std::uint64_t failed = 0;    // gate or workload was not reached
        std::uint64_t joined = 0;
        std::uint64_t open = 0;  // now
    };
    Counts counts() const;

private:
    // A door with who came by it.
    struct Held {
        Door door;
        bool is_closed = false;
        std::size_t streams = 0;  // those that are being dialled included
        double tokens = 0;
        std::chrono::steady_clock::time_point filled_at{};
        std::vector<http::Pump> pumps;

        bool may_dial(std::chrono::steady_clock::time_point now);
    };
    struct Call {
        std::shared_ptr<Held> held;
        GateAddress gate;
        agent_protocol::LinkLine line;
        bool is_gate_done = false;
        bool is_local_done = false;
        http::Carrier to_gate;
        http::Carrier to_local;
    };
    using CallOf = std::shared_ptr<Call>;
    enum class Way { plain, tls };

    // On the loop.
    void begin(const GateAddress& gate, const agent_protocol::LinkLine& line);
    void dial_gate(const CallOf& call, Way way);
    void dial_local(const CallOf& call);
    static void note_failure(const Call& call, Way way, const http::Called& called);
    void gate_answered(const CallOf& call, Way way, http::Called called);
    void settle(const CallOf& call);

    const Options options_;
    // Of the loop alone.
    std::map<agent_protocol::DoorId, std::shared_ptr<Held>> held_;
    std::set<agent_protocol::GateId> by_tls_;  // where plain calls do not get through
    std::atomic<std::uint64_t> unknown_{0};
    std::atomic<std::uint64_t> too_many_{0};
    std::atomic<std::uint64_t> failed_{0};
    std::atomic<std::uint64_t> joined_{0};
    std::atomic<std::uint64_t> open_{0};
    http::LoopThread thread_;  // ends before what is above
};

}  // namespace berth::host_agent
