// What a gate knows: machines with their links and doors, strangers who wait, and streams. All of
// it lives on one loop and is touched on its thread only; what others may call says so.
//
// Nothing is kept on disk: a gate that is started anew learns everything from the tickets that
// machines show it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "agent_protocol/gate.hpp"
#include "agent_protocol/gate_ticket.hpp"
#include "gate/limits.hpp"
#include "gate/link.hpp"
#include "gate/tally.hpp"
#include "http/first_bytes.hpp"
#include "http/hand_over.hpp"
#include "http/ports.hpp"
#include "http/pump.hpp"

namespace berth::gate {

using agent_protocol::CallId;
using agent_protocol::DoorId;
using agent_protocol::DoorKind;
using agent_protocol::LinkId;

struct Timings {
    Duration tick = std::chrono::milliseconds(250);
    Duration ping = std::chrono::seconds(10);
    Duration wait_max = agent_protocol::call_life;  // of a stranger, from the knock on
    Duration silence_max = std::chrono::seconds(1);
    Duration unanswered_told = agent_protocol::unanswered_told;
    // Who is at a door for SSH for longer has shown the key: hosts give half a minute for that.
    Duration stranger_max = std::chrono::seconds(35);
    Duration streams_after_expiry = std::chrono::minutes(15);
    // A drained gate without streams waits so long for machines to leave.
    Duration links_leave = std::chrono::seconds(30);
    Duration drain_max = std::chrono::hours(24);
};

struct BoardOptions {
    std::string address = "0.0.0.0";  // of the doors
    LimitNumbers limits{};
    Timings timings{};
};

// A call that was answered: the stranger, until the machine's side of it is here. Dropped before
// that, the stranger is closed.
class Answered {
public:
    virtual ~Answered() = default;
    virtual void join(http::Carrier machine) = 0;  // once; from any thread
};

class Board : public std::enable_shared_from_this<Board> {
public:
    // `loop` is the one that everything lives on; streams go by turns to `stream_loops`.
    Board(std::shared_ptr<http::Loop> loop, std::vector<std::shared_ptr<http::Loop>> stream_loops,
          const Clock& clock, Random& random, Tally& tally, BoardOptions options);
    ~Board();

    // From any thread: begins to look after itself, and ends with everything it has.
    void start();
    void close();

    // A ticket whose signatures were found good. Gives the link, or why there is none.
    struct Admitted {
        std::shared_ptr<Link> link;
        std::optional<Refused> refused;
    };
    Admitted admit(const agent_protocol::Ticket& ticket);
    // Replaces the doors of a link. Empty: done.
    enum class Renewal { done, no_link, stale };
    Renewal renew(const LinkId& link, const agent_protocol::Ticket& ticket);
    void on_link_gone(const std::shared_ptr<Link>& link);

    // Null when there is no such call (any more).
    std::shared_ptr<Answered> answer(const CallId& call);

    std::vector<agent_protocol::DoorReport> report();
    // After the last report, with these rows, was heard.
    void follow(const agent_protocol::GateOrders& orders,
                const std::vector<agent_protocol::DoorReport>& heard);
    void drain();
    bool is_drained() const;
    Present present() const;

    // Runs work on the loop and waits for it: for threads that may block.
    void run(const std::function<void()>& work);
    const std::shared_ptr<http::Loop>& loop() const { return loop_; }

private:
    class Taken;
    // The order of tickets of one machine.
    struct Rank {
        std::int64_t fence = 0;
        std::int64_t serial = 0;
        friend auto operator<=>(const Rank&, const Rank&) = default;
    };
    struct Machine {
        Rank rank;
        Time expires_at{};
        std::shared_ptr<Link> link;
        std::vector<DoorId> doors;
        std::size_t waiting = 0;
    };
    // What the streams of a door have in common; there is none before the first.
    struct Flow {
        http::Pace pace;
        http::PumpCounters counters;
    };
    struct Joined {
        http::Pump pump;
        std::string source;  // the network whose stream it is
        Duration since{};
    };
    struct Door {
        MachineId machine{};
        std::uint16_t port = 0;
        DoorKind kind = DoorKind::http;
        std::size_t streams_max = 0;
        bool open = false;
        Rank rank{};  // of the ticket that gave it last
        Rank told{};  // as it was in the last report
        Time expires_at{};
        Bucket calls{};
        std::size_t waiting = 0;
        std::size_t joining = 0;                    // answered, and not a stream yet
        std::int64_t unanswered = 0;                // calls, since one was answered
        Duration unanswered_at{};                   // the last of them
        std::map<std::uint64_t, Joined> streams{};  // the oldest first
        std::int64_t rate_bps = 0;                  // each way; 0: no limit
        std::shared_ptr<Flow> flow{};

        std::uint64_t bytes_in() const { return flow ? flow->counters.from_a.load() : 0; }
        std::uint64_t bytes_out() const { return flow ? flow->counters.from_b.load() : 0; }
    };
    struct Call {
        DoorId door;
        http::Carrier stranger;
        Duration since{};  // by the clock that never jumps
        bool told = false;
    };

    // board_links.cpp
    static Rank rank_of(const agent_protocol::Ticket& ticket);
    void take_ticket(Machine& machine, const agent_protocol::Ticket& ticket);
    void take_door(const agent_protocol::Ticket& ticket, const agent_protocol::TicketDoor& door);
    bool is_cut(const DoorId& id, const Rank& rank) const;
    void end_link(Machine& machine, agent_protocol::ByeReason why);
    void forget_told(const MachineId& id);
    void leave(const MachineId& id);

    // board_calls.cpp
    void on_visitor(http::Visitor visitor);
    std::optional<Refused> judge(Door& door, const Machine& machine, const http::Address& source);
    bool make_room(Door& door, const http::Address& source, bool relay);
    bool end_one_for(Door& door, const std::string& source);
    void on_first_bytes(const DoorId& id, http::FirstSeen seen, Duration since);
    void wait_for_machine(const DoorId& id, http::Carrier stranger, Duration since);
    void tell(const CallId& id, Call& call, Machine& machine);
    void tell_all(const MachineId& id, Machine& machine);
    void count_waiting(const DoorId& id, int change);
    void join(const DoorId& id, http::Carrier stranger, http::Carrier machine, Duration since);
    void drop_waiting(const DoorId& id);

    // board.cpp
    void tick();
    void ping();
    void expire_calls();
    void expire_doors();
    void close_door(Door& door);
    void end_streams(Door& door);
    void forget();
    static Duration steady();

    const std::shared_ptr<http::Loop> loop_;
    const std::vector<std::shared_ptr<http::Loop>> stream_loops_;
    const Clock& clock_;
    Random& random_;
    Tally& tally_;
    const BoardOptions options_;
    std::unique_ptr<http::Ports> ports_;

    std::unordered_map<MachineId, Machine> machines_;
    std::unordered_map<DoorId, Door> doors_;
    std::unordered_map<std::uint16_t, DoorId> by_port_;
    std::unordered_map<CallId, Call> calls_;
    std::map<DoorId, std::pair<Rank, Time>> cut_;  // up to which ticket, and until when it counts
    Sources sources_;
    Sources seldom_;  // by their networks: who has some left comes seldom
    http::AddressBlocks relays_;
    std::size_t waiting_ = 0;
    std::uint64_t streams_begun_ = 0;
    std::uint64_t gone_bytes_in_ = 0;  // of doors that are forgotten
    std::uint64_t gone_bytes_out_ = 0;
    Duration pinged_at_{};
    std::optional<Duration> draining_since_;
    Time heard_at_{};  // when the server last answered a report
    bool closed_ = false;
};

}  // namespace berth::gate
