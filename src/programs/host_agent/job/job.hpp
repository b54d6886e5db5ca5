// One job on this host, from START to CLEANED. A thread of its own makes every call that takes
// long; the agent's other threads only leave word: a lease, a wish to stop, an answer of the
// server. What leads from one state to the next is in job_states.hpp.
//
// Whatever was decided is in the job's record on disk before it is done, so that kill -9 at any
// moment leaves a job that the next agent goes on with.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "agent_protocol/payloads.hpp"
#include "host_agent/job/deadlines.hpp"
#include "host_agent/job/evidence.hpp"
#include "host_agent/job/job_context.hpp"
#include "host_agent/job/job_evidence.hpp"
#include "host_agent/job/job_record.hpp"
#include "host_agent/job/job_states.hpp"
#include "host_agent/job/outbox.hpp"
#include "host_agent/job/prober.hpp"

namespace berth::host_agent {

class Job {
public:
    // Begins to live at once. A record from the disk is taken up where it was left.
    enum class Origin { command, disk };
    Job(JobContext& context, JobRecord record, Origin origin);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    JobId id() const { return id_; }
    agent_protocol::JobReport report() const;
    JobRecord record() const;
    bool is_forgotten() const;  // cleaned, and the server knows
    bool is_leaving() const;    // cleaned, and the server may know

    // Commands.
    void stop(const std::string& reason);
    void clean();
    void take(const agent_protocol::Lease& lease);
    void fund(std::optional<Time> funded_through);
    void note_notice();  // the server took our notice

    // Once a second and whenever one may have moved.
    void enforce_deadlines(Time now);

    // For the sender: what is next, if anything may be sent now, and what came of it.
    std::optional<Outgoing> next_outgoing(std::chrono::steady_clock::time_point now);
    std::optional<std::chrono::steady_clock::time_point> next_try() const;
    void answered(const Outgoing& outgoing, int status, const std::string& body);
    void unanswered();

private:
    using Lock = std::unique_lock<std::mutex>;
    static constexpr std::size_t log_tail_bytes = 8192;

    // Whether the workload is known to run, and when that was last seen, since boot. While it is
    // not, nobody pays for the time: it may be over.
    struct Sighting {
        bool is_certain = true;
        std::optional<Duration> running_at;
    };
    struct EngineHealth {
        enum class Status { not_probed, up, down };
        Status status = Status::not_probed;
        bool is_down_known = false;  // to the server

        bool is_probed() const { return status != Status::not_probed; }
        bool is_down() const { return status == Status::down; }
    };

    // Beginning and end.
    void begin();
    void take_up();
    void understand();
    void make_notice_folder() const;
    void drop_folder() const;

    // On the job's thread: one function for each state that it has work in.
    void run();
    void run_state(HostJobState state);
    void prepare();
    void watch();
    void stop_workload();
    void wait_for_clean();
    void clean_up();
    void wait_until_forgotten();

    void bring_up();
    void wait_until_ready(std::chrono::steady_clock::time_point began, std::int64_t pull_ms);
    void wait_for_answer_of_ready();
    void open_doors();
    void close_doors();
    // The doors of a gate, where the world comes by one.
    void want_doors_of_gate();
    void want_way_to_files();
    std::optional<std::vector<DoorPlace>> places() const;
    bool has_moved() const;
    void start_probing();
    bool has_engine_to_tell() const;
    void tell_usage();
    bool note_egress(const Look& look);  // whether there is news of it
    void let_files_be_fetched();
    CleanedEvidence wipe();
    void fail(const std::string& code, const std::string& why);
    void end(const Look& look, bool was_stopped);
    Look look();  // and notes that it was seen
    void end_workload();
    bool pause(Lock& lock, Duration span);  // false when the thread is to end

    // Under the lock.
    void enter(HostJobEvent event);
    bool wants_stop() const { return record_.stop_reason || record_.is_clean_wanted; }
    void stop_counting(const Look& look);
    std::int64_t told_runtime_ms() const;
    void queue(const std::string& kind, const std::string& evidence);
    void queue_fleeting(const std::string& kind, const std::string& evidence,
                        std::optional<bool> is_engine_down = {});
    void tell_progress(agent_protocol::ProgressStep step, const Progress& progress);
    void settle(const std::string& kind, bool is_taken);
    EndDetails end_details(const std::string& code, const std::string& sentence) const;
    void write_notice(const std::string& kind, std::optional<Time> deadline) const;
    // To the disk; throws StateLost. For what is acknowledged.
    void commit();
    // The same as far as it goes: what has to end ends on a full disk too, and the next agent finds
    // out anew what was not written.
    void save();

    std::vector<std::string> secrets() const;

    JobContext& context_;
    const JobId id_;
    const Origin origin_;
    // What START said; empty where nothing was started, or what the disk says is not understood.
    // Then the workload has but its names.
    std::optional<agent_protocol::StartPayload> order_;
    Workload workload_;
    std::optional<Prober> prober_;
    bool are_doors_open_ = false;               // of the job's thread alone
    EgressUse egress_use_ = EgressUse::within;  // the same

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    JobRecord record_;
    HostJobState state_;
    Outbox outbox_;
    Sighting sighting_;
    EngineHealth engine_;
    std::atomic<bool> cancelled_{false};  // what a runtime does for long is to end
    bool ends_ = false;                   // the thread is to
    std::thread thread_;
};

}  // namespace berth::host_agent
