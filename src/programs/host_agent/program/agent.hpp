// The agent as it runs: heartbeats, commands, events, deadlines, each on a thread of its own, so
// that none waits for another. Everything that must survive is on disk before it is acted on:
// ending the process at any moment is a way to stop it, and the usual one.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "host_agent/core/host.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/gate/doors.hpp"
#include "host_agent/program/agent_keys.hpp"
#include "host_agent/program/control.hpp"
#include "host_agent/program/job_table.hpp"
#include "host_agent/program/server_commands.hpp"
#include "host_agent/qualification/qualification.hpp"

namespace berth::host_agent {

// A flag that threads sleep on.
class WakeFlag {
public:
    void raise();
    // Until it rings or `most` is over.
    void wait(Duration most);

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_raised_ = false;
};

class Agent {
public:
    struct Parts {
        StateFolder& state;
        Identity identity;
        Settings settings;
        Runtime& runtime;
        Front* front;
        Front& gate_front;
        gpu::Gpus& gpus;
        const BootClock& clock;
        bool clock_jumps = false;  // it is a simulation's
        http::Client& client;
        const OwnersPolicy& policy;
    };
    explicit Agent(Parts parts);

    // Takes up the jobs it finds and begins. It is never destroyed: the process ends.
    void start();

    // What the owner asks by the control socket; the answer is for people.
    std::string handle(const std::string& request);

private:
    void clean_strays();
    void heartbeats();
    bool beat();
    http::Response send_beat(agent_protocol::Heartbeat& beat);
    std::vector<std::string> warm_digests();
    bool note_trouble(const std::string& why);  // whether it is news
    void note_reach(const agent_protocol::AgentOrders& orders);
    bool is_heard();
    agent_protocol::Manifest look_at_host();
    bool tell_manifest(bool was_told);
    std::vector<gpu::Health> find_health();
    void tell_health();
    agent_protocol::HostModeReport host_mode();
    std::optional<std::string> owners_objection() const;
    std::optional<std::string> limit_power();
    void wait_for_commands();
    void send_events();
    void enforce_deadlines();
    void follow_jumps();

    void forget_cleaned();
    std::string preempt(const std::string& reason);
    std::string status();
    std::string standing();

    // How it stands with the server, as the last heartbeat found it.
    struct ServerContact {
        std::optional<Time> heard_at;
        std::vector<std::string> warnings;  // of the server
        std::string reach;                  // how it reaches this machine, in words; or nothing
        std::string trouble;                // why it was not heard; empty when it was
    };

    const Parts parts_;
    ServerTime time_;
    SharedCounters counters_;
    Link link_;
    DoorKeeper doors_;
    Sampler sampler_;
    JobContext job_context_;
    JobTable jobs_;
    AgentKeys keys_;
    Qualification qualification_;
    ServerCommands commands_;
    WakeFlag sender_wake_;
    WakeFlag heartbeat_wake_;
    WakeFlag deadlines_wake_;
    // Of the heartbeats' thread alone
    std::string manifest_hash_;
    std::optional<std::vector<std::string>> warm_told_;  // digests; none: nothing was told yet
    bool takes_warm_images_ = true;                      // the server, as far as it has said
    bool cards_told_ = false;
    std::deque<agent_protocol::HealthEvent> untold_health_;
    std::mutex cards_mutex_;
    std::vector<GpuName> gpu_names_;
    std::mutex contact_mutex_;
    ServerContact contact_;
    std::unique_ptr<Control> control_;
};

}  // namespace berth::host_agent
