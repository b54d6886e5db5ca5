// The agent as it runs: heartbeats, commands, events, deadlines, each on a thread of its own, so
// that none waits for another. Everything that must survive is on disk before it is acted on:
// ending the process at any moment is a way to stop it, and the usual one.
#pragma once

#include <map>
#include <memory>

#include "host_agent/core/host.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/job/job.hpp"
#include "host_agent/program/control.hpp"
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
        gpu::Gpus& gpus;
        const BootClock& clock;
        bool clock_jumps = false;  // it is a simulation's
        http::Client& client;
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
    void try_other_key(const std::string& refused);
    void drop_old_key(const std::string& answered);
    void keep_identity();
    std::string own_seed();
    agent_protocol::Manifest look_at_host();
    bool tell_manifest(bool was_told);
    void tell_health();
    agent_protocol::HostModeReport host_mode();
    void commands();
    void send_events();
    void enforce_deadlines();
    void follow_jumps();

    // False when some acknowledgement did not get through.
    bool carry_out_orders(const agent_protocol::AgentOrders& orders);
    bool take_command(const std::string& text);
    // Signed by the server's key, or by the one that it said would be next.
    agent_protocol::CheckedCommand check(const std::string& text);
    bool answer(agent_protocol::CommandId id, const agent_protocol::CheckedCommand& checked);
    std::optional<Code> refusal(const agent_protocol::Command& command);
    void forget_refused(const std::optional<agent_protocol::Command>& command);
    bool carry_out(const agent_protocol::Command& command);
    bool start_job(const agent_protocol::Command& command);
    bool stop_job(const agent_protocol::Command& command);
    bool clean_job(const agent_protocol::Command& command);
    bool take_budget(const agent_protocol::Command& command);
    bool rotate_key(const agent_protocol::Command& command);
    bool pin_key(const agent_protocol::Command& command);
    bool qualify(const agent_protocol::Command& command);
    struct Answer {
        std::string result;
        std::string code{};
        std::string detail{};
    };
    bool acknowledge(agent_protocol::CommandId id, const Answer& answer);

    // Why the job cannot be taken on; empty when it was given its ports.
    std::optional<std::string> give_ports(const StartOrder& order, JobRecord& record);
    std::shared_ptr<Job> find(JobId id);
    std::vector<std::shared_ptr<Job>> jobs();
    void forget_cleaned();
    std::string preempt(const std::string& reason);
    std::string status();

    Parts parts_;
    ServerTime time_;
    SharedCounters counters_;
    Link link_;
    Sampler sampler_;
    JobContext job_context_;
    Qualification qualification_;
    WakeFlag sender_wake_;
    WakeFlag heartbeat_wake_;
    WakeFlag deadlines_wake_;
    std::mutex command_turn_;  // commands come to two threads: one at a time
    static constexpr std::size_t answered_max = 64;
    std::deque<agent_protocol::CommandId> answered_;
    std::mutex mutex_;
    std::map<JobId, std::shared_ptr<Job>> jobs_;
    Identity identity_;
    std::string manifest_hash_;  // of the heartbeats' thread alone
    std::mutex cards_mutex_;
    std::vector<GpuName> gpu_names_;
    std::optional<Time> heard_at_;
    std::vector<std::string> warnings_;  // of the server, about the last heartbeat
    std::string trouble_;                // why the server was not heard last
    std::unique_ptr<Control> control_;
};

}  // namespace berth::host_agent
