// A host agent in a simulation. It speaks to the real routes and obeys real commands, and does
// everything that hosts do: it is slow, crashes, loses its connection, counts wrongly or lies,
// takes the machine back, forgets to clean. Whatever the service took is told to the bookkeeper.
#pragma once

#include <set>

#include "agent_protocol/types.hpp"
#include "simulation/stage.hpp"
#include "support/host_agent_double.hpp"

namespace berth::simulation {

class HostAgent {
public:
    struct Character {
        std::int64_t runs_percent = 100;  // what its counter says of the time that passed
        Duration clock_error{};
        bool interruptible = false;
        bool ignores_lease = false;    // goes on where a workload has to be gone
        bool hides_endpoints = false;  // says READY without what it is reached at, or at nothing
        bool ends_unasked = false;     // says STOPPED when it has something better to do
        std::int64_t late_s_max = 0;   // by how much its reports are late
        int trouble_percent = 10;      // how often things go wrong
    };
    HostAgent(Players players, std::string machine, Character character);

    // Something may wait for it.
    void nudge();
    void heartbeat();
    // From now on it is there and does its work.
    void behave();
    // It is there, and nobody gets through to it by its gate.
    void lose_link(Duration span);
    bool is_linked_to(const std::string& gate) const;
    // The service was put back to a copy, and has forgotten what this agent was told.
    void note_restored() { restored_at_ = players_.now(); }

    bool is_present() const { return present_; }
    bool is_clean() const { return !work_; }
    const std::string& machine() const { return machine_; }

private:
    using Phase = agent_protocol::JobPhase;
    struct Work {
        std::string job;
        PlainModel::Start start = {};
        std::vector<agent_protocol::JobEndpoint> endpoints = {};  // what it is reached at
        Phase phase = Phase::preparing;
        std::int64_t budget_version = 1;
        std::string container = {};
        Time ready_at{};
        std::int64_t last_ms = 0;  // when it was stopped
        std::optional<Time> funded_through = {};
        Time lease_until{};
        bool tells_end = false;  // STOPPED has to be told
        bool has_told_end = false;
        bool by_gate = false;
        std::string gate = {};  // at which its doors are, as it was told; empty: it has none
    };

    int send(const std::string& target, const std::string& body, std::string* answer = nullptr);
    agent_protocol::JobReport report() const;
    std::int64_t runtime_ms() const;
    std::string workload() const;
    test::DoubleWorkload told_workload() const;
    bool holds(const std::string& job) const { return work_ && work_->job == job; }

    void obey(const std::string& orders);
    void take_lease(const agent_protocol::Lease& lease);
    void carry_out(const agent_protocol::Command& command);
    bool acknowledge(const agent_protocol::Command& command, const agent_protocol::Ack& ack);
    void take_start(const agent_protocol::Command& command);
    void take_clean(const std::string& job);

    template <class Evidence>
    int tell(const std::string& job, agent_protocol::JobEventKind kind, const Evidence& evidence);
    void prepare(const std::string& job, int steps);
    bool ask_for_doors(const std::string& job);
    void mind_link();
    void get_ready(const std::string& job);
    void plan_trouble(const std::string& job);
    void switch_engine(const std::string& job, bool up);
    void exit(const std::string& job);
    void give_notice(const std::string& job);
    void crash(const std::string& job);
    void vanish(Duration span);
    void stop_work();
    void tell_end(const std::string& job, int tries);
    void clean(const std::string& job);

    void keep_beating();
    void mind_limits();

    Players players_;
    const std::string machine_;
    Character character_;
    test::HostAgentDouble host_;
    int boots_ = 1;
    bool present_ = true;
    bool beats_ = false;  // a heartbeat is in the timeline
    bool behaves_ = false;
    std::optional<Time> restored_at_;
    Time link_back_at_{};
    std::optional<Time> unlinked_since_;
    Duration late_{};  // the report that is on its way
    std::optional<Work> work_;
    std::map<std::string, std::int64_t> leases_;  // the highest of each job, kept for good
    std::set<std::string> acknowledged_;
};

}  // namespace berth::simulation
