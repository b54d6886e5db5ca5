// A job as others see it: how it begins, what they ask and leave word of, and its events. What its
// thread does is in job_run.cpp.
#include "host_agent/job/job.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/check.hpp"
#include "base/log.hpp"
#include "host_agent/job/workload.hpp"

namespace berth::host_agent {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view never_started = "{}";  // the START of a job that was not

// The server's answer to an event.
struct ErrorCode {
    std::string code;
};
BOOST_DESCRIBE_STRUCT(ErrorCode, (), (code))
struct ErrorBody {
    ErrorCode error;
};
BOOST_DESCRIBE_STRUCT(ErrorBody, (), (error))

std::string code_in(const std::string& body) {
    try {
        return wire::decode_known<ErrorBody>(body, "answer").error.code;
    } catch (const Problem&) {
        return {};
    }
}

// Whether a CLEANED that waits to be sent says that all was wiped.
bool tells_of_wipe(const JobRecord& record) {
    const auto told = std::find_if(record.unsent.begin(), record.unsent.end(),
                                   [](const Unsent& event) { return event.kind == "CLEANED"; });
    if (told == record.unsent.end()) return false;
    const auto event = wire::decode<agent_protocol::JobEvent>(told->body, "event");
    return is_wiped(wire::decode_known<CleanedEvidence>(event.evidence.text, "evidence"));
}

}  // namespace

// ---- Beginning and end

// From a command nothing of it is left on disk when it throws: whoever is refused must not be
// started by the next agent. From the disk it never throws: a job that cannot be understood any
// more is told as such, and cleaned up.
Job::Job(JobContext& context, JobRecord record, Origin origin)
    : context_(context),
      id_(record.job_id),
      origin_(origin),
      record_(std::move(record)),
      state_(state_of(record_.phase)),
      outbox_(context_, id_, record_.unsent) {
    workload_.job = id_;
    workload_.folder = context_.records.folder(id_);
    if (origin_ == Origin::command)
        begin();
    else
        take_up();
    thread_ = std::thread([this] { run(); });
}

Job::~Job() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        cancelled_ = true;
    }
    changed_.notify_all();
    thread_.join();
    prober_.reset();
}

void Job::begin() {
    try {
        understand();
        make_notice_folder();
        commit();
    } catch (const std::exception&) {
        drop_folder();
        throw;
    }
}

void Job::take_up() {
    sighting_.is_certain = false;
    try {
        if (state_ == HostJobState::cleaning && tells_of_wipe(record_)) enter(HostJobEvent::wiped);
        understand();
    } catch (const std::exception& error) {
        log(Level::error, "job_not_understood",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
    try {
        make_notice_folder();
    } catch (const StateLost& error) {
        log(Level::error, "notice_not_written",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
}

void Job::understand() {
    if (record_.start.text == never_started) return;
    auto order = wire::decode_known<agent_protocol::StartPayload>(record_.start.text, "start");
    workload_ = workload_of(record_, order, context_);
    order_ = std::move(order);
}

void Job::make_notice_folder() const {
    const std::string notice = workload_.folder + "/notice";
    std::error_code failed;
    context_.records.make_folder(id_);
    std::filesystem::create_directories(notice, failed);
    if (failed) throw StateLost(fmt::format("{}: {}", notice, failed.message()));
    ::chmod(notice.c_str(), 0755);
}

// Of one that was to be cleaned up it may hold what is still to be removed.
void Job::drop_folder() const {
    if (record_.start.text == never_started) return;
    try {
        context_.records.forget(id_);
    } catch (const std::exception& error) {
        log(Level::error, "state_not_written", {{"why", error.what()}});
    }
}

// ---- What others ask and leave word of

JobRecord Job::record() const {
    const std::lock_guard lock(mutex_);
    return record_;
}

bool Job::is_forgotten() const {
    const std::lock_guard lock(mutex_);
    return state_ == HostJobState::forgotten;
}

bool Job::is_leaving() const {
    const std::lock_guard lock(mutex_);
    return state_ == HostJobState::cleaned || state_ == HostJobState::forgotten;
}

agent_protocol::JobReport Job::report() const {
    const agent_protocol::JobCounters counters = context_.counters.job(id_);
    const std::lock_guard lock(mutex_);
    agent_protocol::JobReport report;
    report.job_id = id_;
    report.lease_seq.value = counters.lease_seq;
    report.budget_version.value = counters.budget_version;
    report.phase = record_.phase;
    if (!record_.container_id.empty())
        report.container_id = wire::Text<1, 128>{record_.container_id};
    report.runtime_ms.value = told_runtime_ms();
    return report;
}

void Job::stop(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!record_.stop_reason) record_.stop_reason = reason;
    cancelled_ = true;
    changed_.notify_all();
    commit();
    // It is over, and the server does not know: an agent that was killed before it heard the answer
    // to READY told EXITED alone.
    if (state_ == HostJobState::stopped && !outbox_.has("STOPPED"))
        queue("STOPPED", end_evidence(record_, Look{}, end_details("", "")));
}

void Job::clean() {
    const std::lock_guard lock(mutex_);
    if (phase_of(state_) == agent_protocol::JobPhase::cleaning) return;
    record_.is_clean_wanted = true;
    cancelled_ = true;
    changed_.notify_all();
    commit();
}

void Job::take(const agent_protocol::Lease& lease) {
    if (context_.counters.take_lease(id_, lease.lease_seq.value)) return;
    if (context_.counters.take_budget(id_, lease.budget_version.value, lease.budget_micro)) return;
    {
        const std::lock_guard lock(mutex_);
        record_.lease_expires_at = lease.expires_at;
        record_.funded_through = lease.funded_through.value;
        record_.reported_ms.value = told_runtime_ms();
        if (record_.is_noticed) write_notice("preempt", record_.funded_through);
        save();
    }
    context_.wake_deadlines();
}

void Job::fund(std::optional<Time> funded_through) {
    {
        const std::lock_guard lock(mutex_);
        record_.funded_through = funded_through;
        commit();
    }
    context_.wake_deadlines();
}

void Job::note_notice() {
    const std::lock_guard lock(mutex_);
    record_.is_noticed = true;
    record_.noticed_at = context_.now();
    write_notice("preempt", std::nullopt);  // the next lease tells the deadline
    save();
}

void Job::enforce_deadlines(Time now) {
    std::optional<std::string> reason;
    {
        const std::lock_guard lock(mutex_);
        const bool runs = state_ == HostJobState::preparing || state_ == HostJobState::running;
        if (runs && !wants_stop()) reason = due(record_, now);
        if (runs && !wants_stop() && is_owners_time_over(record_, context_.clock))
            reason = "owners_hours";
    }
    if (!reason) return;
    log(Level::warn, "job_due", {{"job_id", to_string(id_)}, {"why", *reason}});
    try {
        stop(*reason);
    } catch (const agent_protocol::StateLost& error) {
        log(Level::error, "record_not_written",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
}

// ---- Events

std::optional<Outgoing> Job::next_outgoing(steady_clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (state_ == HostJobState::forgotten) return std::nullopt;
    return outbox_.next(now);
}

std::optional<steady_clock::time_point> Job::next_try() const {
    const std::lock_guard lock(mutex_);
    if (state_ == HostJobState::forgotten) return std::nullopt;
    return outbox_.next_try();
}

void Job::unanswered() {
    const std::lock_guard lock(mutex_);
    outbox_.back_off();
}

void Job::answered(const Outgoing& outgoing, int status, const std::string& body) {
    const std::string code = status == 200 ? "" : code_in(body);
    if (status != 200)
        log(Level::warn, "event_refused",
            {{"job_id", to_string(id_)},
             {"kind", outgoing.kind},
             {"status", status},
             {"code", code}});
    if (status == 401 || status == 429 || status >= 500) return unanswered();
    std::optional<agent_protocol::Lease> lease;
    if (status == 200) {
        const auto taken = wire::decode_known<agent_protocol::JobEventTaken>(body, "answer");
        context_.counters.take_fence(taken.fence.value);
        lease = taken.lease.value;
    }
    {
        const std::lock_guard lock(mutex_);
        switch (outbox_.answered(outgoing, status, code)) {
            case Outbox::Fate::waits: return;
            case Outbox::Fate::restamped: return save();
            case Outbox::Fate::heard:
                if (outgoing.is_engine_down) engine_.is_down_known = *outgoing.is_engine_down;
                return;
            case Outbox::Fate::taken: settle(outgoing.kind, true); break;
            case Outbox::Fate::refused: settle(outgoing.kind, false); break;
        }
    }
    changed_.notify_all();
    if (lease) take(*lease);
}

// The server has the event, or never will.
void Job::settle(const std::string& kind, bool is_taken) {
    if (kind == "READY" && is_taken && state_ == HostJobState::preparing) {
        record_.ready_us = wire::Count{context_.clock.since_boot().count()};
        enter(HostJobEvent::ready_taken);
        log(Level::info, "job_ready", {{"job_id", to_string(id_)}});
    }
    if (kind == "CLEANED")
        enter(state_ == HostJobState::cleaned ? HostJobEvent::cleaned_taken
                                              : HostJobEvent::wipe_failed);
    save();
}

void Job::queue(const std::string& kind, const std::string& evidence) {
    outbox_.add(kind, evidence);
    save();
    context_.wake_sender();
}

void Job::queue_fleeting(const std::string& kind, const std::string& evidence,
                         std::optional<bool> is_engine_down) {
    outbox_.add_fleeting(kind, evidence, is_engine_down);
    context_.wake_sender();
}

// ---- Under the lock

// The one place where the state changes; what is on disk follows with the next save().
void Job::enter(HostJobEvent event) {
    const auto next = next_state(state_, event);
    require(next.has_value(), "what happens to a job fits its state");
    state_ = *next;
    record_.phase = phase_of(state_);
}

// An agent that was away must not count until it came back.
void Job::stop_counting(const Look& look) {
    if (record_.runtime_ms || !record_.ready_us) return;
    std::optional<Duration> ran_until = sighting_.running_at;
    if (look.ended_ago) ran_until = context_.clock.since_boot() - *look.ended_ago;
    record_.runtime_ms = wire::Count{runtime_ms_until(record_, context_.clock, ran_until)};
}

std::int64_t Job::told_runtime_ms() const {
    return sighting_.is_certain ? runtime_ms(record_, context_.clock)
                                : runtime_ms_until(record_, context_.clock, sighting_.running_at);
}

EndDetails Job::end_details(const std::string& code, const std::string& sentence) const {
    EndDetails details{context_.clock.boot_id(), code, sentence};
    // Where its secrets are not known nothing of it is shown.
    if (!order_ && record_.start.text != never_started) return details;
    const std::string tail = context_.runtime.log_tail(workload_, log_tail_bytes);
    if (!tail.empty()) details.log_tail = presentable(tail, secrets());
    return details;
}

std::vector<std::string> Job::secrets() const {
    std::vector<std::string> all;
    for (const auto& [name, value] : workload_.secrets) all.push_back(value);
    return all;
}

// In a folder of ours that the workload sees read-only: we open no path inside its own.
void Job::write_notice(const std::string& kind, std::optional<Time> deadline) const {
    const std::string path = workload_.folder + "/notice/notice.json";
    Notice notice{kind, deadline, record_.noticed_at};
    if (!record_.noticed_at) notice.billing_stopped_at = context_.now();
    try {
        agent_protocol::write_durably(path, wire::encode(notice) + "\n");
    } catch (const agent_protocol::StateLost& error) {
        log(Level::error, "notice_not_written",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
    ::chmod(path.c_str(), 0644);
}

void Job::save() {
    try {
        commit();
    } catch (const agent_protocol::StateLost& error) {
        log(Level::error, "record_not_written",
            {{"job_id", to_string(id_)}, {"why", error.what()}});
    }
}

void Job::commit() {
    if (context_.time.anchor()) {
        record_.server_time = context_.now();
        record_.since_boot_us.value = context_.clock.since_boot().count();
        record_.saved_boot_id = context_.clock.boot_id();
    }
    if (state_ != HostJobState::forgotten) context_.records.save(record_);
}

}  // namespace berth::host_agent
