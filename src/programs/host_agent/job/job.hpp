// One job on this host, from START to CLEANED. A thread of its own makes every call that takes
// long; the agent's other threads only leave word: a lease, a wish to stop, an answer of the
// server.
//
// Whatever was decided is in the job's record on disk before it is done, so that kill -9 at any
// moment leaves a job that the next agent goes on with.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "gpu/gpu.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/shared_counters.hpp"
#include "host_agent/core/state_folder.hpp"
#include "host_agent/job/deadlines.hpp"
#include "host_agent/job/evidence.hpp"
#include "host_agent/job/orders.hpp"
#include "host_agent/job/prober.hpp"
#include "http/client.hpp"

namespace berth::host_agent {

// What a job uses of its agent.
struct JobContext {
    const StateFolder& state;
    Settings settings;
    Runtime& runtime;
    Front* front;  // null: endpoints are served without TLS, on loopback alone
    gpu::Gpus& gpus;
    std::function<std::vector<GpuName>()> gpu_names;  // as they are now
    const BootClock& clock;
    ServerTime& time;
    SharedCounters& counters;
    http::Client& client;
    std::function<void()> wake_sender;     // there is something to send
    std::function<void()> wake_heartbeat;  // something changed that the server should know
    std::function<void()> wake_deadlines;  // a deadline may have moved

    Time now() const;  // the server's, as far as it is known
};

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

    // Deadlines, once a second and whenever one may have moved.
    void enforce_deadlines(Time now);

    // For the sender: what is next, if anything may be sent now, and what came of it.
    struct Outgoing {
        std::string kind;
        std::string body;
        bool is_durable = true;
        std::optional<bool> is_engine_down{};  // that it says so, or that it is not
    };
    std::optional<Outgoing> next_outgoing(std::chrono::steady_clock::time_point now);
    std::optional<std::chrono::steady_clock::time_point> next_try() const;
    void answered(const Outgoing& outgoing, int status, const std::string& body);
    void unanswered();

private:
    using Phase = agent_protocol::JobPhase;
    using Lock = std::unique_lock<std::mutex>;

    void run();
    void prepare();
    void bring_up(const StartOrder& order);
    void open_doors();
    void close_doors();
    bool wait_until_ready(const StartOrder& order, std::chrono::steady_clock::time_point began,
                          std::int64_t pull_ms);
    void tell_ready(std::int64_t pull_ms, std::int64_t load_ms, std::int64_t all_ms);
    void wait_for_answer_of_ready();
    void watch();
    void start_probing(const StartOrder& order);
    void tell_usage();
    void stop_workload();
    void wait_for_clean();
    void let_files_be_fetched();
    void clean_up();
    CleanedSaid wipe();
    void fail(const std::string& code, const std::string& sentence);
    void end(const Look& look, bool was_stopped);
    Look look();  // on the job's thread, and notes that it was seen
    void end_workload();
    void stop_counting(const Look& look);
    std::int64_t told_runtime_ms() const;
    std::string end_evidence(const Look& look, const std::string& code,
                             const std::string& sentence) const;

    void begin();
    void take_up();
    void fill_workload();
    void make_notice_folder() const;
    void drop_folder() const;
    bool wants_stop() const { return record_.stop_reason || record_.is_clean_wanted; }
    bool pause(Lock& lock, Duration span);  // false when the thread is to end
    // To the disk; throws StateLost. For what is acknowledged.
    void commit();
    // The same as far as it goes: what has to end ends on a full disk too, and the next agent finds
    // out anew what was not written.
    void save();
    void settle(const std::string& kind, bool is_taken);
    std::vector<std::string> secrets() const;
    void queue(const std::string& kind, const std::string& evidence);
    void queue_fleeting(const std::string& kind, const std::string& evidence,
                        std::optional<bool> is_engine_down = {});
    bool has_engine_to_tell() const;
    std::string event_body(const std::string& kind, const std::string& evidence) const;
    void write_notice(const std::string& kind, std::optional<Time> deadline) const;
    void drop_unsent(const std::string& kind);
    bool restamp(Unsent& event) const;  // whether it changed

    JobContext& context_;
    const JobId id_;
    Workload workload_;
    bool is_understood_ = true;  // what a record on disk says; else the workload has but its names
    std::optional<Prober> prober_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    JobRecord record_;
    const Origin origin_;
    std::deque<Outgoing> fleeting_;
    std::chrono::steady_clock::time_point try_at_{};
    Duration patience_{};
    std::atomic<bool> cancelled_{false};
    bool is_forgotten_ = false;
    bool is_wiped_ = false;
    bool ends_ = false;
    bool is_probed_ = false;
    bool is_engine_down_ = false;
    bool is_down_known_ = false;  // to the server
    // Whether it is known to run, and when that was last seen, since boot. While it is not, nobody
    // pays for the time: it may be over.
    bool is_seen_ = true;
    std::optional<Duration> seen_running_;
    bool are_doors_open_ = false;  // of the job's thread alone
    std::thread thread_;
};

}  // namespace berth::host_agent
