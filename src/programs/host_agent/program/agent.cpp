#include "host_agent/program/agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "agent_protocol/hashes.hpp"
#include "base/enum_names.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "host_agent/core/reach_words.hpp"
#include "host_agent/job/evidence.hpp"
#include "host_agent/program/enrolled.hpp"
#include "host_agent/program/power_limit.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;
using agent_protocol::AgentOrders;
using std::chrono::steady_clock;

constexpr Duration commands_wait = 25s;  // routers forget who is silent for longer
constexpr Duration backoff_max = 30s;
constexpr int beats_between_manifests = 3;
constexpr std::size_t reason_bytes_max = 200;  // what the server takes

std::vector<GpuName> names_of(const agent_protocol::Manifest& manifest) {
    std::vector<GpuName> names;
    for (const auto& card : manifest.gpus.value)
        names.push_back({card.pci_address.value, card.uuid.value ? card.uuid.value->value : ""});
    return names;
}

// A thread that must not end: what it throws is a mistake of ours, or a disk that is gone. Either
// way the process ends, and whoever started it starts it again.
void begin(std::function<void()> work) {
    std::thread([work = std::move(work)] {
        try {
            work();
        } catch (const std::exception& error) {
            log(Level::error, "agent_ends", {{"why", error.what()}});
            std::_Exit(1);
        }
    }).detach();
}

}  // namespace

void WakeFlag::raise() {
    {
        const std::lock_guard lock(mutex_);
        is_raised_ = true;
    }
    changed_.notify_all();
}

void WakeFlag::wait(Duration most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [this] { return is_raised_; });
    is_raised_ = false;
}

Agent::Agent(Parts parts)
    : parts_(std::move(parts)),
      time_(parts_.clock),
      counters_(parts_.state.counters_path()),
      link_(parts_.client, parts_.clock, parts_.identity),
      doors_({link_, counters_, parts_.client},
             {.calls = {.by_tls = parts_.settings.gate_tls.value_or(false)}, .pace = {}}),
      sampler_(parts_.gpus, parts_.clock, parts_.state.folder(), parts_.settings.share),
      job_context_{.records = JobRecords(parts_.state),
                   .settings = parts_.settings,
                   .runtime = parts_.runtime,
                   .front = parts_.front,
                   .gate_front = parts_.gate_front,
                   .gate = doors_,
                   .gpus = parts_.gpus,
                   .gpu_names =
                       [this] {
                           const std::lock_guard lock(cards_mutex_);
                           return gpu_names_;
                       },
                   .limit_power = [this] { return limit_power(); },
                   .clock = parts_.clock,
                   .time = time_,
                   .counters = counters_,
                   .client = parts_.client,
                   .wake_sender = [this] { sender_wake_.raise(); },
                   .wake_heartbeat = [this] { heartbeat_wake_.raise(); },
                   .wake_deadlines = [this] { deadlines_wake_.raise(); }},
      keys_(parts_.state, link_, parts_.identity),
      qualification_({link_, counters_, parts_.gpus, parts_.runtime, doors_, parts_.settings,
                      parts_.state.folder(), parts_.identity.server}),
      commands_({link_, counters_, keys_, jobs_, job_context_, qualification_, parts_.policy}) {}

void Agent::start() {
    manifest_hash_ = agent_protocol::manifest_hash(look_at_host());
    for (JobRecord& record : job_context_.records.all()) {
        if (record.server_time)
            time_.remember(
                {record.saved_boot_id, Duration(record.since_boot_us.value), *record.server_time});
        log(Level::info, "job_found",
            {{"job_id", to_string(record.job_id)}, {"phase", enum_name(record.phase)}});
        jobs_.begin(job_context_, std::move(record), Job::Origin::disk);
    }
    clean_strays();
    control_ = std::make_unique<Control>(
        parts_.state.control_path(), [this](const std::string& asked) { return handle(asked); });
    begin([this] { heartbeats(); });
    begin([this] { wait_for_commands(); });
    begin([this] { send_events(); });
    begin([this] { enforce_deadlines(); });
    if (parts_.clock_jumps) begin([this] { follow_jumps(); });
}

// What a job left that was forgotten a moment too early.
void Agent::clean_strays() {
    for (const JobId id : parts_.runtime.present()) {
        if (jobs_.find(id)) continue;
        log(Level::warn, "stray_found", {{"job_id", to_string(id)}});
        Workload workload;
        workload.job = id;
        workload.folder = job_context_.records.folder(id);
        // The jobs that are known need this agent, whatever becomes of a stray.
        try {
            parts_.runtime.clean(workload);
            job_context_.records.forget(id);
        } catch (const std::exception& error) {
            log(Level::error, "stray_not_cleaned",
                {{"job_id", to_string(id)}, {"why", error.what()}});
        }
    }
}

// ---- Heartbeats

void Agent::heartbeats() {
    const auto every =
        std::chrono::seconds(std::max<std::int64_t>(1, parts_.identity.heartbeat_s.value));
    bool is_manifest_told = false;
    Duration backoff = 1s;
    for (int count = 0;; ++count) {
        const Duration began = parts_.clock.since_boot();
        try {
            if (!is_manifest_told || count % beats_between_manifests == 0) {
                const bool was_told = std::exchange(is_manifest_told, false);
                is_manifest_told = tell_manifest(was_told);
            }
            tell_health();
            if (beat()) backoff = 1s;
        } catch (const http::TransportError& error) {
            if (note_trouble(error.what()))
                log(Level::warn, "server_away", {{"why", error.what()}});
        } catch (const StateLost& error) {
            log(Level::error, "state_not_written", {{"why", error.what()}});
            note_trouble(error.what());
        }
        if (is_heard()) {
            // At most six a minute, whoever wakes it.
            const Duration took = parts_.clock.since_boot() - began;
            heartbeat_wake_.wait(std::max<Duration>(every - took, 1ms));
            const Duration passed = parts_.clock.since_boot() - began;
            if (passed < every && passed < 10s)
                std::this_thread::sleep_for(std::min<Duration>(1s, 10s - passed));
        } else {
            std::this_thread::sleep_for(backoff);
            backoff = std::min<Duration>(backoff * 2, every);
        }
    }
}

bool Agent::beat() {
    agent_protocol::Heartbeat beat;
    beat.boot_id.value = parts_.clock.boot_id();
    beat.fence.value = counters_.fence();
    beat.manifest_hash.value = manifest_hash_;
    beat.sent_at = parts_.clock.wall();
    beat.host_mode = host_mode();
    beat.telemetry = sampler_.take();
    for (const auto& job : jobs_.all()) beat.jobs.value.push_back(job->report());
    std::vector<std::string> warm = warm_digests();
    if (takes_warm_images_ && warm_told_ != warm)
        for (auto& told = beat.warm_images.emplace().value; const std::string& digest : warm)
            told.push_back({digest});
    const std::string seed = keys_.seed();
    const http::Response response = send_beat(beat);
    const auto orders = response.status == 200 ? agent_protocol::read_orders(response.body)
                                               : std::optional<AgentOrders>();
    if (!orders) {
        if (response.status == 401) keys_.try_other(seed);
        log(Level::warn, "heartbeat_refused",
            {{"status", response.status}, {"answer", response.body}});
        note_trouble(fmt::format("the server answered {}", response.status));
        return false;
    }
    time_.hear(orders->server_time);
    warm_told_ = std::move(warm);
    {
        const std::lock_guard lock(contact_mutex_);
        contact_.heard_at = orders->server_time;
        contact_.warnings = orders->warnings;
        contact_.trouble.clear();
    }
    keys_.drop_old(seed);
    commands_.carry_out(*orders);
    return true;
}

// A server of the last version refuses a heartbeat whole for the one member that it does not know,
// and a host that nobody hears leaves the market.
http::Response Agent::send_beat(agent_protocol::Heartbeat& beat) {
    const auto send = [&] {
        return link_.send({.target = "/api/v1/host-agent/heartbeat", .body = wire::encode(beat)});
    };
    http::Response response = send();
    const bool is_unknown = response.status == 422 && beat.warm_images &&
                            response.body.find("body.warm_images") != std::string::npos;
    if (!is_unknown) return response;
    log(Level::warn, "warm_images_refused", {{"answer", response.body}});
    takes_warm_images_ = false;
    beat.warm_images.reset();
    return send();
}

// Those that were used last, should there be too many.
std::vector<std::string> Agent::warm_digests() {
    std::vector<std::string> digests;
    const std::vector<std::string> images = parts_.runtime.warm_images();
    for (auto image = images.rbegin(); image != images.rend(); ++image) {
        const std::size_t at = image->find('@');
        if (at == std::string::npos || digests.size() == agent_protocol::warm_images_max) continue;
        digests.push_back(image->substr(at + 1));
    }
    std::sort(digests.begin(), digests.end());
    digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
    return digests;
}

bool Agent::note_trouble(const std::string& why) {
    const std::lock_guard lock(contact_mutex_);
    return std::exchange(contact_.trouble, why) != why;
}

// Told with commands alone, and for the owner: every START says how its job is reached.
void Agent::note_reach(const AgentOrders& orders) {
    if (!orders.reach) return;
    const std::lock_guard lock(contact_mutex_);
    contact_.reach = in_words(*orders.reach, orders.reach_why);
}

bool Agent::is_heard() {
    const std::lock_guard lock(contact_mutex_);
    return contact_.trouble.empty();
}

agent_protocol::Manifest Agent::look_at_host() {
    auto manifest = make_manifest(parts_.gpus, parts_.runtime, parts_.settings);
    const std::lock_guard lock(cards_mutex_);
    gpu_names_ = names_of(manifest);
    return manifest;
}

// Whether the server has the host as it is now. Until it does heartbeats name what it has: by the
// hash of one that never came it could only take the machine for another.
bool Agent::tell_manifest(bool was_told) {
    agent_protocol::NewManifest told;
    told.fence.value = counters_.fence();
    told.agent_version.value = project_version;
    told.manifest = look_at_host();
    told.manifest_hash.value = agent_protocol::manifest_hash(told.manifest);
    if (was_told && told.manifest_hash.value == manifest_hash_) return true;
    told.boot_id.value = parts_.clock.boot_id();
    const http::Response response =
        link_.send({.target = "/api/v1/host-agent/manifest", .body = wire::encode(told)});
    if (response.status != 200) {
        log(Level::warn, "manifest_refused",
            {{"status", response.status}, {"answer", response.body}});
        return false;
    }
    manifest_hash_ = told.manifest_hash.value;
    return true;
}

// An agent that starts does not know what the one before it said, so that it says of every card
// that answers that it is there.
std::vector<gpu::Health> Agent::find_health() {
    std::vector<gpu::Health> found = parts_.gpus.health();
    if (std::exchange(cards_told_, true)) return found;
    for (const auto& card : parts_.gpus.inventory().gpus) {
        const std::string& address = card.pci_address.value;
        const bool is_lost = std::ranges::any_of(found, [&](const gpu::Health& each) {
            return each.kind == agent_protocol::HealthKind::gpu_lost && each.pci_address == address;
        });
        if (!is_lost)
            found.push_back({.kind = agent_protocol::HealthKind::gpu_back,
                             .pci_address = address,
                             .code = std::nullopt,
                             .text = "the card answers, and the agent was started"});
    }
    return found;
}

// What could not be told is told with the next heartbeat: a card that is back is sold again only
// when the server has heard it.
void Agent::tell_health() {
    constexpr std::size_t untold_max = 256;
    for (const gpu::Health& trouble : find_health()) {
        agent_protocol::HealthEvent event;
        event.kind = trouble.kind;
        event.at = job_context_.now();
        agent_protocol::HealthEvidence evidence;
        evidence.pci_address.emplace(wire::Text<1, 64>{trouble.pci_address});
        auto& code = evidence.code.emplace();
        if (trouble.code) code = agent_protocol::XidCode{*trouble.code};
        evidence.text.emplace(agent_protocol::HostText{trouble.text});
        event.evidence.text = wire::encode(evidence);
        untold_health_.push_back(std::move(event));
        if (untold_health_.size() > untold_max) untold_health_.pop_front();
    }
    while (!untold_health_.empty()) {
        agent_protocol::HealthEvent& event = untold_health_.front();
        event.fence.value = counters_.fence();
        const http::Response answer =
            link_.send({.target = "/api/v1/host-agent/events", .body = wire::encode(event)});
        const bool is_tried_again =
            answer.status == 409 || answer.status == 429 || answer.status >= 500;
        if (is_tried_again) return;
        untold_health_.pop_front();
    }
}

agent_protocol::HostModeReport Agent::host_mode() {
    agent_protocol::HostModeReport report;
    report.mode = parse_enum<agent_protocol::HostMode>(parts_.settings.mode);
    report.offerable = true;
    if (!jobs_.all().empty()) return report;  // what uses the cards is the job
    if (const std::string obstacle = parts_.runtime.obstacle(); !obstacle.empty()) {
        report.offerable = false;
        report.reasons.value.push_back({presentable_sentence(obstacle, {}, reason_bytes_max)});
    }
    if (const auto why = owners_objection()) {
        report.offerable = false;
        report.reasons.value.push_back({presentable_sentence(*why, {}, reason_bytes_max)});
    }
    for (const gpu::User& user : parts_.gpus.users()) {
        report.offerable = false;
        if (report.reasons.value.size() < 16)
            report.reasons.value.push_back(
                {presentable_sentence(gpu::in_words(user), {}, reason_bytes_max)});
    }
    return report;
}

// Why no job would be taken on now, whatever it is.
std::optional<std::string> Agent::owners_objection() const {
    try {
        const Policy policy = parts_.policy.now();
        if (!hours_left(policy, local_minute(parts_.clock.wall())).is_open)
            return fmt::format("it is rented out from {} until {} only", policy.hours->from,
                               policy.hours->until);
        return std::nullopt;
    } catch (const std::invalid_argument& error) {
        log(Level::error, "policy_unreadable", {{"why", error.what()}});
        return "the owner's policy cannot be read";
    }
}

// Of cards that are not simulated.
std::optional<std::string> Agent::limit_power() {
    try {
        const Policy policy = parts_.policy.now();
        if (!policy.power_limit_w || !parts_.settings.simulate_gpu.empty()) return std::nullopt;
        return host_agent::limit_power(job_context_.gpu_names(), policy.power_limit_w->value);
    } catch (const std::invalid_argument& error) {
        log(Level::error, "policy_unreadable", {{"why", error.what()}});
        return "The rules of the host's owner cannot be read.";
    }
}

// ---- Commands

void Agent::wait_for_commands() {
    const Call wait{
        .method = "GET",
        .target = fmt::format("/api/v1/host-agent/commands?wait_s={}", commands_wait / 1s),
        .total_max = commands_wait + 15s};
    Duration backoff = 1s;
    for (;;) {
        bool is_done = false;
        const auto began = steady_clock::now();
        try {
            const http::Response response = link_.send(wait);
            const auto orders = response.status == 200 ? agent_protocol::read_orders(response.body)
                                                       : std::optional<AgentOrders>();
            if (orders) {
                time_.hear(orders->server_time);
                note_reach(*orders);
                is_done = commands_.carry_out(*orders);
                // Whoever does not let us wait is not asked all the time.
                if (orders->commands.empty() && steady_clock::now() - began < 1s)
                    std::this_thread::sleep_for(1s);
            }
        } catch (const http::TransportError&) {
            // Heartbeats tell of it.
        } catch (const StateLost& error) {
            // Not acknowledged: it comes again.
            log(Level::error, "state_not_written", {{"why", error.what()}});
        }
        if (is_done) {
            backoff = 1s;
            continue;
        }
        std::this_thread::sleep_for(backoff);
        backoff = std::min<Duration>(backoff * 2, backoff_max);
    }
}

// ---- Events

void Agent::send_events() {
    for (;;) {
        bool has_sent = false;
        for (const auto& job : jobs_.all()) {
            const auto outgoing = job->next_outgoing(steady_clock::now());
            if (!outgoing) continue;
            has_sent = true;
            try {
                const http::Response response = link_.send(
                    {.target = "/api/v1/host-agent/jobs/" + to_string(job->id()) + "/events",
                     .body = outgoing->body,
                     .total_max = 30s});  // the server asks the endpoint before it answers READY
                job->answered(*outgoing, response.status, response.body);
            } catch (const http::TransportError&) {
                job->unanswered();
            } catch (const Problem& problem) {
                log(Level::warn, "answer_unreadable", {{"why", problem.message}});
                job->unanswered();
            } catch (const StateLost& error) {
                log(Level::error, "state_not_written", {{"why", error.what()}});
                job->unanswered();
            }
        }
        forget_cleaned();
        if (has_sent) continue;
        auto next = steady_clock::now() + 60s;
        for (const auto& job : jobs_.all())
            if (const auto at = job->next_try()) next = std::min(next, *at);
        const auto left = std::chrono::duration_cast<Duration>(next - steady_clock::now());
        sender_wake_.wait(std::max<Duration>(left, 1ms));
    }
}

void Agent::forget_cleaned() {
    for (const auto& job : jobs_.all()) {
        if (!job->is_forgotten()) continue;
        const JobId id = job->id();
        jobs_.remove(id);
        try {
            job_context_.records.forget(id);
            counters_.forget(id);
        } catch (const std::exception& error) {
            log(Level::error, "state_not_written", {{"why", error.what()}});
        }
        log(Level::info, "job_forgotten", {{"job_id", to_string(id)}});
        heartbeat_wake_.raise();
    }
}

// ---- Deadlines

void Agent::enforce_deadlines() {
    for (;;) {
        Duration left = 1s;
        if (const auto now = time_.now()) {
            for (const auto& job : jobs_.all()) {
                job->enforce_deadlines(*now);
                if (const auto next = next_due(job->record()); next && *next > *now)
                    left = std::min(left, *next - *now);
            }
        }
        qualification_.tidy();
        deadlines_wake_.wait(std::max<Duration>(jobs_.all().empty() ? 5s : left, 1ms));
    }
}

// Time that passes at once wakes nobody by itself.
void Agent::follow_jumps() {
    const auto lead = [this] {
        return parts_.clock.since_boot() -
               std::chrono::duration_cast<Duration>(steady_clock::now().time_since_epoch());
    };
    for (Duration before = lead();; std::this_thread::sleep_for(10ms)) {
        const Duration now = lead();
        if (now - before < 1s) continue;
        before = now;
        heartbeat_wake_.raise();
        deadlines_wake_.raise();
    }
}

// ---- For the owner

std::string Agent::handle(const std::string& request) {
    if (request == "status") return status();
    if (request == "standing") return standing();
    if (request == "end") std::_Exit(0);  // its slot is left; all that matters is on disk
    if (request.starts_with("preempt ")) return preempt(request.substr(8));
    return "unknown request";
}

std::string Agent::status() {
    std::string text = fmt::format("machine {}\nserver {}\n",
                                   to_string(*parts_.identity.machine_id), parts_.identity.server);
    {
        const std::lock_guard lock(contact_mutex_);
        text += contact_.heard_at ? fmt::format("heard {}\n", to_rfc3339(*contact_.heard_at))
                                  : "not heard yet\n";
        if (!contact_.trouble.empty()) text += fmt::format("trouble {}\n", contact_.trouble);
        if (!contact_.reach.empty()) text += contact_.reach + "\n";
        for (const std::string& warning : contact_.warnings)
            text += fmt::format("warning {}\n", warning);
    }
    if (const auto refused = counters_.refused_fence())
        text += fmt::format(
            "trouble the server's fence is {}, which is more than a step above ours. If it is "
            "right, stop the agent and run `berth-agent mend-fence`.\n",
            *refused);
    text += doors_.in_words();
    for (const auto& job : jobs_.all()) {
        const JobRecord record = job->record();
        text += fmt::format(
            "job {} {}{}\n", to_string(job->id()), enum_name(record.phase),
            record.funded_through ? " until " + to_rfc3339(*record.funded_through) : "");
    }
    return text;
}

// The answer as it came, behind its status; 0 and why, where none came.
std::string Agent::standing() {
    try {
        const http::Response response =
            link_.send({.method = "GET", .target = standing_target, .total_max = 10s});
        return fmt::format("{} {}", response.status, response.body);
    } catch (const http::TransportError& error) {
        return fmt::format("0 the server was not reached: {}", error.what());
    }
}

std::string Agent::preempt(const std::string& reason) {
    const auto held = jobs_.all();
    if (held.empty()) return "no job runs on this machine";
    const auto& job = held.front();
    agent_protocol::PreemptNoticeEvidence notice;
    notice.reason.emplace(agent_protocol::HostText{reason});
    agent_protocol::JobEvent event;
    event.fence.value = counters_.fence();
    event.lease_seq.value = counters_.job(job->id()).lease_seq;
    event.kind = agent_protocol::JobEventKind::preempt_notice;
    event.at = job_context_.now();
    event.evidence.text = wire::encode(notice);
    try {
        const http::Response response =
            link_.send({.target = "/api/v1/host-agent/jobs/" + to_string(job->id()) + "/events",
                        .body = wire::encode(event)});
        if (response.status != 200)
            return fmt::format("refused by the server ({}): {}", response.status, response.body);
    } catch (const http::TransportError& error) {
        return fmt::format("the server was not reached: {}", error.what());
    }
    job->note_notice();
    heartbeat_wake_.raise();
    return fmt::format("notice given to job {}", to_string(job->id()));
}

}  // namespace berth::host_agent
