// How a job moves: the one place that carries out what the table of states says, with everything
// that goes with it (meter, money, machine, commands, evidence) in the caller's transaction.
// Whoever lets something happen to a job holds its machine first, then the job.
#pragma once

#include "machines/commands.hpp"
#include "machines/machine.hpp"
#include "rentals/blame.hpp"
#include "rentals/deadlines.hpp"
#include "rentals/evidence.hpp"
#include "rentals/meter.hpp"

namespace berth::rentals {

inline constexpr Duration lease_lasts = std::chrono::seconds(90);
inline constexpr std::int64_t stop_grace_s = 10;

// A locked job with its machine; none when the machine is gone.
struct HeldJob {
    JobRow job;
    std::optional<machines::Machine> machine;

    bool has_machine() const { return machine && machine->job_id == job.terms.job_id; }
};
std::optional<HeldJob> hold_job(db::Transaction& tx, JobId id);

Meter meter_of(const JobRow& job);
// As the policies of keys call it.
accounts::RentalClass rental_class(AvailabilityClass availability_class);
// What it has cost so far.
Micro charge_of(const JobRow& job);

class Lifecycle {
public:
    explicit Lifecycle(const machines::Commands& commands) : commands_(commands) {}

    struct Cause {
        Time at;  // nothing later is billed
        std::optional<Failure> failure = {};
        std::string reason = {};               // for the host, why to stop
        Blame blame = Blame::host;             // for a start that failed
        bool wipe_failed = false;              // and was not only late
        std::optional<TimeToReady> took = {};  // of a start that came up
    };
    // Throws CONFLICT where the table has no such line. Saves the job and the machine.
    void apply(const db::Context& context, HeldJob& held, Event event, const Cause& cause) const;

    // Lets everything happen whose time has come; true when something did. The job is saved with
    // the time at which to look again.
    bool pass_time(const db::Context& context, HeldJob& held, Time up_since) const;

    // Counts a report of a metered job, and settles the days that ended before it; the caller
    // saves. A heartbeat is counted before it is granted a lease.
    struct Usage {
        std::int64_t runtime_ms = 0;
        EngineStatus engine = EngineStatus::unknown;
        bool renews_lease = false;
    };
    void accept_usage(const db::Context& context, HeldJob& held, const Usage& usage) const;

    // A GPU is lost, or all are back: nothing is billed in between. The caller saves.
    void turn_gpus(const db::Context& context, HeldJob& held, bool lost) const;

    // The next lease of a live job; the caller saves.
    agent_protocol::Lease grant(const db::Context& context, JobRow& job) const;

    void send_budget(const db::Context& context, const HeldJob& held) const;
    // Ends whatever an agent still has of a job.
    // An agent that lost the job tells its end under the lease that is named here.
    void send_stop(const db::Context& context, const machines::Machine& machine, JobId job,
                   const std::string& reason, std::optional<std::int64_t> lease_seq = {}) const;
    void send_clean(const db::Context& context, const machines::Machine& machine, JobId job) const;

    const machines::Commands& commands() const { return commands_; }

private:
    void count(const db::Context& context, HeldJob& held, const Usage& usage) const;
    void settle(const db::Context& context, JobRow& job) const;
    void settle_days(const db::Context& context, JobRow& job, const Report& report, Time not_after,
                     Stands stands) const;
    void capture_day(const db::Context& context, const JobRow& job, std::int64_t runtime_ms,
                     Time midnight) const;
    void free_machine(const db::Context& context, HeldJob& held, const Cause& cause) const;
    void quarantine(const db::Context& context, HeldJob& held,
                    machines::QuarantineCause cause) const;
    void begin_cleaning(const db::Context& context, HeldJob& held) const;
    void carry_out(const db::Context& context, HeldJob& held, const Transition& line,
                   const Cause& cause) const;

    const machines::Commands& commands_;
};

agent_protocol::Lease lease_of(const JobRow& job);

// Saves a job with the time of its next due.
void save(const db::Context& context, JobRow& job);
void save(const db::Context& context, JobRow& job, const JobLive& stored);  // see save_changes()

}  // namespace berth::rentals
