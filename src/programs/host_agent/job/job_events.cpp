// What a job hears and says: commands and leases in, events out.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/json_text.hpp"
#include "base/log.hpp"
#include "host_agent/job/job.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t fleeting_max = 16;
constexpr Duration patience_max = 30s;

struct Taken {
    wire::Decimal fence;
    wire::Nullable<wire::Object> lease;
};
BOOST_DESCRIBE_STRUCT(Taken, (), (fence, lease))

struct ErrorCode {
    std::string code;
};
BOOST_DESCRIBE_STRUCT(ErrorCode, (), (code))
struct ErrorBody {
    wire::Object error;
};
BOOST_DESCRIBE_STRUCT(ErrorBody, (), (error))

std::string code_in(const std::string& body) {
    try {
        const auto error = wire::decode_known<ErrorBody>(body, "answer");
        return wire::decode_known<ErrorCode>(error.error.text, "answer").code;
    } catch (const Problem&) {
        return {};
    }
}

}  // namespace

JobRecord Job::record() const {
    const std::lock_guard lock(mutex_);
    return record_;
}

bool Job::is_forgotten() const {
    const std::lock_guard lock(mutex_);
    return is_forgotten_;
}

bool Job::is_leaving() const {
    const std::lock_guard lock(mutex_);
    return is_forgotten_ || (record_.phase == Phase::cleaning && is_wiped_);
}

std::int64_t Job::told_runtime_ms() const {
    return is_seen_ ? runtime_ms(record_, context_.clock)
                    : runtime_ms_until(record_, context_.clock, seen_running_);
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
    const bool is_told = std::any_of(record_.unsent.begin(), record_.unsent.end(),
                                     [](const Unsent& event) { return event.kind == "STOPPED"; });
    if (record_.phase == Phase::stopped && !is_told) queue("STOPPED", end_evidence(Look{}, "", ""));
}

void Job::clean() {
    const std::lock_guard lock(mutex_);
    if (record_.phase == Phase::cleaning) return;
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
        const bool runs = record_.phase == Phase::preparing || record_.phase == Phase::running;
        if (runs && !wants_stop()) reason = due(record_, now);
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

std::optional<Job::Outgoing> Job::next_outgoing(steady_clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (is_forgotten_ || now < try_at_) return std::nullopt;
    if (!record_.unsent.empty())
        return Outgoing{record_.unsent.front().kind, record_.unsent.front().body, true};
    if (fleeting_.empty()) return std::nullopt;
    return fleeting_.front();
}

std::optional<steady_clock::time_point> Job::next_try() const {
    const std::lock_guard lock(mutex_);
    if (is_forgotten_ || (record_.unsent.empty() && fleeting_.empty())) return std::nullopt;
    return try_at_;
}

void Job::unanswered() {
    const std::lock_guard lock(mutex_);
    patience_ = std::clamp<Duration>(patience_ * 2, 1s, patience_max);
    try_at_ = steady_clock::now() + patience_;
    // What was told in passing is stale by the time that anybody hears it. How the engine is is
    // told anew (see has_engine_to_tell).
    fleeting_.clear();
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
        const auto taken = wire::decode_known<Taken>(body, "answer");
        context_.counters.take_fence(taken.fence.value);
        if (taken.lease.value)
            lease = wire::decode_known<agent_protocol::Lease>(taken.lease.value->text, "lease");
    }
    {
        const std::lock_guard lock(mutex_);
        patience_ = {};
        if (!outgoing.is_durable) {
            if (!fleeting_.empty()) fleeting_.pop_front();
            if (status == 200 && outgoing.is_engine_down) is_down_known_ = *outgoing.is_engine_down;
            if (status != 200) try_at_ = steady_clock::now() + 5s;
            return;
        }
        // Dropped meanwhile: a READY of a job that was stopped.
        if (record_.unsent.empty() || record_.unsent.front().body != outgoing.body) return;
        if (code == "STALE_FENCE" || code == "LEASE_SEQ_REPLAY") {
            try_at_ = steady_clock::now() + 1s;
            if (restamp(record_.unsent.front())) return save();
        }
        // What was told under this very lease already is known, if in other words.
        const bool is_known = code == "LEASE_SEQ_REPLAY" && outgoing.kind != "READY";
        if ((status == 409 && !is_known) || (status == 404 && outgoing.kind == "CLEANED")) {
            // READY is asked for again until the server reaches the endpoint; the rest waits for
            // the server to come to the state in which it fits.
            try_at_ = steady_clock::now() + 2s;
            return;
        }
        settle(outgoing.kind, status == 200 || is_known);
    }
    changed_.notify_all();
    if (lease) take(*lease);
}

// The server has the event, or never will.
void Job::settle(const std::string& kind, bool is_taken) {
    record_.unsent.erase(record_.unsent.begin());
    if (kind == "READY" && is_taken && record_.phase == Phase::preparing) {
        record_.ready_us = wire::Count{context_.clock.since_boot().count()};
        record_.phase = Phase::running;
        log(Level::info, "job_ready", {{"job_id", to_string(id_)}});
    }
    if (kind == "CLEANED") {
        if (is_wiped_) {
            is_forgotten_ = true;
            return;
        }
        record_.phase = Phase::stopped;
    }
    save();
}

// Fence and lease have moved on since it was written; what happened has not.
bool Job::restamp(Unsent& event) const {
    auto said = wire::decode<agent_protocol::JobEvent>(event.body, "event");
    said.fence.value = context_.counters.fence();
    said.lease_seq.value = context_.counters.job(id_).lease_seq;
    const std::string before = std::exchange(event.body, wire::encode(said));
    return event.body != before;
}

void Job::tell_ready(std::int64_t pull_ms, std::int64_t load_ms, std::int64_t all_ms) {
    ReadySaid said;
    said.container_id = record_.container_id;
    said.boot_id = record_.boot_id;
    for (const Announced& door : record_.doors) {
        EndpointSaid endpoint{"http", door.name, context_.settings.public_host, door.port, {}};
        if (!door.tls_key_sha256.empty()) endpoint.tls_key_sha256 = door.tls_key_sha256;
        said.endpoints.push_back(std::move(endpoint));
    }
    if (record_.ssh_port.value != 0)
        said.endpoints.push_back(
            {"ssh", "ssh", context_.settings.public_host, record_.ssh_port, {}});
    said.ssh_host_key_fingerprint = record_.ssh_host_key_fingerprint;
    said.time_to_ready = {{pull_ms}, {load_ms}, {std::max<std::int64_t>(0, all_ms - load_ms)}};
    queue("READY", wire::encode(said));
}

void Job::tell_usage() {
    const Look look = context_.runtime.look(workload_);
    std::string tail = context_.runtime.log_tail(workload_, 8192);
    const std::lock_guard lock(mutex_);
    if (record_.phase != Phase::running) return;
    UsageSaid said;
    said.runtime_ms.value = told_runtime_ms();
    said.container_id = record_.container_id;
    said.boot_id = record_.boot_id;
    if (is_probed_) said.engine = is_engine_down_ ? "down" : "up";
    said.log_tail = presentable(std::move(tail), secrets());
    if (look.egress_bytes) said.egress_bytes = wire::Decimal{*look.egress_bytes};
    queue_fleeting("USAGE", wire::encode(said),
                   is_probed_ ? std::optional(is_engine_down_) : std::nullopt);
}

std::vector<std::string> Job::secrets() const {
    std::vector<std::string> all;
    for (const auto& [name, value] : workload_.secrets) all.push_back(value);
    return all;
}

std::string Job::end_evidence(const Look& look, const std::string& code,
                              const std::string& sentence) const {
    EndSaid said;
    if (!record_.container_id.empty()) {
        said.container_id = record_.container_id;
        said.boot_id = context_.clock.boot_id();
    }
    if (record_.runtime_ms) said.runtime_ms = wire::Decimal{record_.runtime_ms->value};
    if (look.exit_code && *look.exit_code >= 0) said.exit_code = wire::Count{*look.exit_code};
    if (look.status == Look::Status::exited) said.oom = look.out_of_memory;
    if (!code.empty()) said.code = code;
    if (!sentence.empty()) said.message = brief(sentence);
    said.reason = record_.stop_reason;
    if (look.egress_bytes) said.egress_bytes = wire::Decimal{*look.egress_bytes};
    // Where its secrets are not known nothing of it is shown.
    const std::string tail =
        is_understood_ ? context_.runtime.log_tail(workload_, 8192) : std::string();
    if (!tail.empty()) said.log_tail = presentable(tail, secrets());
    return wire::encode(said);
}

void Job::queue(const std::string& kind, const std::string& evidence) {
    record_.unsent.push_back({kind, event_body(kind, evidence)});
    try_at_ = {};
    save();
    context_.wake_sender();
}

void Job::queue_fleeting(const std::string& kind, const std::string& evidence,
                         std::optional<bool> is_engine_down) {
    std::erase_if(fleeting_,
                  [&](const Outgoing& each) { return each.kind == kind && kind == "PROGRESS"; });
    if (fleeting_.size() == fleeting_max) fleeting_.pop_front();
    fleeting_.push_back({kind, event_body(kind, evidence), false, is_engine_down});
    context_.wake_sender();
}

// An engine went down, or came back, and the server has not heard it; nor is it on its way.
bool Job::has_engine_to_tell() const {
    const std::lock_guard lock(mutex_);
    return is_probed_ && is_engine_down_ != is_down_known_ && steady_clock::now() >= try_at_ &&
           std::none_of(fleeting_.begin(), fleeting_.end(), [this](const Outgoing& each) {
               return each.is_engine_down == is_engine_down_;
           });
}

std::string Job::event_body(const std::string& kind, const std::string& evidence) const {
    return fmt::format(R"({{"fence":"{}","lease_seq":"{}","kind":"{}","at":"{}","evidence":{}}})",
                       context_.counters.fence(), context_.counters.job(id_).lease_seq, kind,
                       to_rfc3339(context_.now()), evidence);
}

void Job::drop_unsent(const std::string& kind) {
    std::erase_if(record_.unsent, [&](const Unsent& event) { return event.kind == kind; });
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
    if (!is_forgotten_) context_.state.save(record_);
}

}  // namespace berth::host_agent
