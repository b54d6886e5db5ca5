// Rentals put together: what renters ask for, what agents say, and what time brings.
#pragma once

#include "gates/gates.hpp"
#include "offers/live_jobs.hpp"
#include "rentals/deadline_worker.hpp"
#include "rentals/jobs.hpp"
#include "rentals/operators.hpp"
#include "rentals/quotes.hpp"
#include "rentals/schema.hpp"

namespace berth::rentals {

class Rentals final : public offers::LiveJobs {
public:
    struct Parts {
        const crypto::Sealer& sealer;
        const machines::Commands& commands;
        const accounts::Integrations& integrations;
        http::Client& client;
        http::Reach reach;  // which endpoints of jobs may be dialled
        EngineTls engine_tls = EngineTls::required;
        const http::OwnListeners* own_listeners = nullptr;  // which may not
        const EndpointProber* prober = nullptr;             // another than the network's
    };
    explicit Rentals(const Parts& parts);

    void add_routes(api::Router& router) const;
    machines::JobSide& host_agent_side() { return host_agent_side_; }
    const Lifecycle& lifecycle() const { return lifecycle_; }

    std::optional<Time> promised_until(db::Transaction& tx,
                                       const machines::Machine& machine) const override;
    void custom_images_off(const db::Context& context, machines::Machine& machine) const override;
    // An operator has put the machine aside: its job is stopped, and one that is over is not waited
    // for any more. The machine is held by this transaction.
    void put_aside(const db::Context& context, machines::Machine& machine) const;
    // The owner wants the machine back: its interruptible job gets notice, as from the agent.
    // CONFLICT where there is none, or it cannot be given notice. The machine is held likewise.
    struct Notice {
        JobId job_id;
        Time notice_at;
        Time deadline_at;
    };
    Notice give_notice(const db::Context& context, machines::Machine& machine,
                       const std::string& reason) const;

private:
    Lifecycle lifecycle_;
    StrayJobs strays_;
    Prober prober_;
    HostAgentSide host_agent_side_;
    Quotes quotes_;
    Jobs jobs_;
    Operators operators_;
};

// The service begins, before anybody is answered. A SQLite file belongs to one process, so that its
// start is always the end of an outage; with PostgreSQL another one may have been there, and one
// that only works is none that agents could have spoken to.
void note_start(db::Database& database, Time now);

// The medians of the starts of a template in the last 30 days, once five were measured.
std::optional<TimeToReady> usual_start(db::Transaction& tx, TemplateId id, Time now);

// What a receipt says of a job beside the ledger: totals up to now, also while it runs.
struct JobSummary {
    JobState state = JobState::RESERVED;
    std::int64_t accepted_runtime_ms = 0;
    Micro charge;
    std::optional<std::string> evidence_head;
    // Of a job by a gate: what was not billed because it was not carried, and what was.
    std::optional<std::int64_t> uncarried_ms = {};
    std::optional<std::int64_t> carried_bytes = {};
};
std::optional<JobSummary> find_summary(db::Transaction& tx, JobId job, Time now);

// Whose job it is, and how its machine was reached when it was rented.
std::optional<gates::PlacedJob> find_placed(db::Transaction& tx, JobId job);
// What gates carried for it, both ways; none of a job that is reached directly.
std::optional<std::int64_t> carried_bytes_of(db::Transaction& tx, JobId job);

// The machine's latest jobs, newest first, as its owner sees them.
struct PastJob {
    JobId job_id;
    MachineId machine_id;
    JobState state = JobState::RESERVED;
    Time started_at;
    std::optional<Time> ended_at;
    std::optional<EndReason> end_reason;
    Micro rate_per_hour;
    bool ready = false;
    std::int64_t billed_ms = 0;
    std::optional<Failure> failure;
    std::optional<std::string> clean_error;  // why the host could not clean up after it
};
std::vector<PastJob> past_jobs(db::Transaction& tx, MachineId machine, std::int64_t rows_max);
// The same of all its machines, or of one of them, from before this job.
struct HostJobs {
    AccountId host;
    std::optional<MachineId> machine = {};
    std::optional<JobId> before = {};
};
std::vector<PastJob> past_jobs(db::Transaction& tx, const HostJobs& asked, std::int64_t rows_max);

// Deletes what is over for long; how many rows.
std::int64_t prune_old_strays(db::Transaction& tx, Time now, std::int64_t rows_max);
std::int64_t prune_old_quotes(db::Transaction& tx, Time now, std::int64_t rows_max);
std::int64_t prune_old_evidence(db::Transaction& tx, Time now, std::int64_t rows_max);

}  // namespace berth::rentals
