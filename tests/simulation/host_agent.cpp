#include "simulation/host_agent.hpp"

#include <fmt/format.h>

#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::simulation {
namespace {

using agent_protocol::CommandKind;
using std::chrono::seconds;
using test::member;

constexpr Duration beat_every = seconds(60);
constexpr Duration lease_grace = seconds(300);
constexpr int tries_max = 3;

const std::string manifest = "sha256:" + std::string(64, 'a');

}  // namespace

HostAgent::HostAgent(Players players, std::string machine, Character character)
    : players_(players), machine_(std::move(machine)), character_(character) {}

// What is sent, and what is told of it

int HostAgent::send(const std::string& target, const std::string& body, std::string* answer) {
    if (!present_ || !players_.world.is_up()) return 0;
    auto response = players_.ask(
        {.who = "machine " + machine_, .target = "/api/v1/host-agent/" + target, .body = body});
    if (response.status != 200)
        players_.tally.add("refused " + target.substr(0, target.find('/')) + " " +
                           member(response.body, "error.code"));
    if (answer) *answer = std::move(response.body);
    return response.status;
}

std::int64_t HostAgent::runtime_ms() const {
    if (!work_ || work_->phase == Phase::preparing) return 0;
    if (work_->phase == Phase::stopped) return work_->last_ms;
    return (players_.now() - work_->ready_at).count() / 1000 * character_.runs_percent / 100;
}

std::string HostAgent::workload() const { return boot_ + "/" + work_->container; }

std::string HostAgent::report() const {
    if (!work_) return "";
    constexpr std::string_view names[] = {"PREPARING", "RUNNING", "STOPPED"};
    const std::string container =
        work_->container.empty() ? "null" : fmt::format(R"("{}")", work_->container);
    return fmt::format(R"({{"job_id":"{}","lease_seq":"{}","budget_version":"{}","phase":"{}",)"
                       R"("container_id":{},"runtime_ms":"{}"}})",
                       work_->job, leases_.at(work_->job), work_->budget_version,
                       names[static_cast<int>(work_->phase)], container, runtime_ms());
}

void HostAgent::heartbeat() {
    mind_limits();
    const std::string body = fmt::format(
        R"({{"boot_id":"{}","fence":"{}","manifest_hash":"{}","sent_at":"{}","host_mode":)"
        R"({{"mode":"{}","offerable":true,"reasons":[]}},"jobs":[{}]}})",
        boot_, fence_, manifest, to_rfc3339(players_.now() + character_.clock_error),
        character_.interruptible ? "idle" : "dedicated", report());
    std::string answer;
    if (send("heartbeat", body, &answer) != 200) return;
    if (work_ && players_.model.knows(work_->job))
        players_.model.reports(work_->job, {.workload = workload(), .runtime_ms = runtime_ms()},
                               players_.moment());
    if (work_ && work_->tells_end) tell_end(work_->job, tries_max);
    obey(answer);
}

// A beat a minute while there is a job; an idle machine is heard when somebody looks for one.
void HostAgent::keep_beating() {
    if (beats_) return;
    beats_ = true;
    players_.later(beat_every, [this] {
        beats_ = false;
        heartbeat();
        if (work_ || behaves_) keep_beating();
    });
}

void HostAgent::nudge() {
    players_.later(players_.dice.seconds(1, 4), [this] { heartbeat(); });
}

void HostAgent::behave() {
    character_.trouble_percent = 0;
    present_ = true;
    behaves_ = true;
    nudge();
    keep_beating();
}

// What the service wants

void HostAgent::obey(const std::string& text) {
    const auto orders = wire::decode<agent_protocol::Orders>(text, "orders");
    fence_ = std::max(fence_, orders.fence.value);
    for (const auto& lease : orders.leases) take_lease(lease);
    for (const auto& command : orders.commands) {
        fence_ = std::max(fence_, command.fence.value);
        if (acknowledged_.insert(to_string(command.command_id)).second) carry_out(command);
    }
}

void HostAgent::take_lease(const agent_protocol::Lease& lease) {
    if (!holds(to_string(lease.job_id))) return;
    std::int64_t& highest = leases_[work_->job];
    highest = std::max(highest, lease.lease_seq.value);
    work_->budget_version = std::max(work_->budget_version, lease.budget_version.value);
    work_->lease_until = lease.expires_at;
    if (lease.funded_through.value) {
        work_->funded_through = *lease.funded_through.value;
        if (*work_->funded_through - players_.now() <= beat_every)
            players_.timeline.put(std::max(*work_->funded_through, players_.now()),
                                  [this] { mind_limits(); });
    }
}

bool HostAgent::acknowledge(const agent_protocol::Command& command, const std::string& result,
                            const std::string& more) {
    const bool taken =
        send("commands/" + to_string(command.command_id) + "/ack",
             fmt::format(R"({{"fence":"{}","result":"{}"{}}})", fence_, result, more)) == 200;
    const std::string job = command.job_id ? to_string(*command.job_id) : "";
    if (taken && players_.model.knows(job)) players_.model.is_heard(job, players_.moment());
    return taken;
}

void HostAgent::carry_out(const agent_protocol::Command& command) {
    const std::string job = command.job_id ? to_string(*command.job_id) : "";
    players_.tally.add("command " + std::string(wire_name(command.kind)));
    switch (command.kind) {
        case CommandKind::start: return take_start(command);
        case CommandKind::stop: {
            acknowledge(command, "accepted");
            if (!holds(job)) {
                tell(job, "STOPPED", "{}");
                return;
            }
            const bool is_slow = players_.dice.chance(character_.trouble_percent / 3);
            players_.later(players_.dice.seconds(is_slow ? 200 : 0, is_slow ? 900 : 10),
                           [this, job] {
                               if (holds(job)) stop_work();
                           });
            return;
        }
        case CommandKind::clean: acknowledge(command, "accepted"); return take_clean(job);
        case CommandKind::budget: {
            acknowledge(command, "accepted", fmt::format(R"(,"detail":{})", command.payload.text));
            if (!holds(job)) return;
            if (const auto until = parse_rfc3339(member(command.payload.text, "funded_through")))
                work_->funded_through = *until;
            return;
        }
        default: acknowledge(command, "accepted");
    }
}

void HostAgent::take_start(const agent_protocol::Command& command) {
    const std::string job = to_string(*command.job_id);
    Dice& dice = players_.dice;
    // A copy may have it that the machine was rented before, and the START with it.
    const bool is_of_copy = restored_at_ && command.issued_at <= *restored_at_;
    if (work_ && !is_of_copy)
        throw Difference(
            fmt::format("the machine {} of job {} was rented to job {} before it was "
                        "cleaned",
                        machine_, work_->job, job));
    if (work_ || dice.chance(character_.trouble_percent / 3)) {
        players_.tally.add(work_ ? "start while busy" : "start rejected");
        if (acknowledge(command, "rejected", R"(,"code":"HOST_REJECTED")") &&
            players_.model.knows(job))
            players_.model.rejects(job);
        return;
    }
    if (!acknowledge(command, "accepted")) return;
    const std::string& payload = command.payload.text;
    const PlainModel::Start start{.deadline_s = std::stoll(member(payload, "start_deadline_s")),
                                  .engine_counts = member(payload, "readiness_path") != "null" &&
                                                   member(payload, "ssh_public_key") == "null"};
    if (players_.model.knows(job)) players_.model.accepts(job, start, players_.moment());
    leases_[job] = 1;
    work_ = Work{.job = job, .start = start, .lease_until = players_.now() + seconds(90)};
    keep_beating();
    const bool stalls = dice.chance(character_.trouble_percent / 3);
    if (stalls) return players_.tally.add("start stalls");
    prepare(job, static_cast<int>(dice.between(0, 6)));
}

// Pulling and loading, a step a minute, until it is ready or has failed.
void HostAgent::prepare(const std::string& job, int steps) {
    players_.later(players_.dice.seconds(5, 60), [this, job, steps] {
        if (!holds(job) || work_->phase != Phase::preparing) return;
        if (steps == 0) return get_ready(job);
        if (players_.dice.chance(character_.trouble_percent / 5)) return exit(job);
        tell(job, "PROGRESS", R"({"step":"pull","done_bytes":"1","total_bytes":"2"})");
        prepare(job, steps - 1);
    });
}

void HostAgent::get_ready(const std::string& job) {
    work_->container = "c-" + job;
    const int status =
        tell(job, "READY",
             fmt::format(R"({{"container_id":"{}","boot_id":"{}","endpoints":[{{"kind":"ssh",)"
                         R"("name":"ssh","host":"203.0.113.7","port":40022}}],)"
                         R"("time_to_ready":{{"pull_ms":"1","load_ms":"2","probe_ms":"3"}}}})",
                         work_->container, boot_));
    if (!holds(job)) return;
    if (status != 200) {
        // It is tried again while the service may still want it.
        work_->container.clear();
        players_.later(seconds(20), [this, job] {
            if (holds(job) && work_->phase == Phase::preparing) get_ready(job);
        });
        return;
    }
    work_->phase = Phase::running;
    work_->ready_at = players_.now();
    plan_trouble(job);
}

// Everything that may go wrong, each at its time.
void HostAgent::plan_trouble(const std::string& job) {
    Dice& dice = players_.dice;
    const auto perhaps = [&](int percent, Duration within, auto what) {
        if (dice.chance(percent * character_.trouble_percent / 10))
            players_.later(dice.seconds(1, std::chrono::duration_cast<seconds>(within).count()),
                           [this, job, what] {
                               if (holds(job) && work_->phase == Phase::running) what(*this, job);
                           });
    };
    using std::chrono::hours;
    perhaps(8, hours(4), [](HostAgent& self, const std::string& id) { self.exit(id); });
    perhaps(8, hours(3), [](HostAgent& self, const std::string& id) { self.crash(id); });
    perhaps(12, hours(2),
            [](HostAgent& self, const std::string& id) { self.switch_engine(id, false); });
    perhaps(20, hours(3), [](HostAgent& self, const std::string&) {
        self.vanish(self.players_.dice.seconds(20, 1500));
    });
    if (character_.interruptible)
        perhaps(30, hours(3), [](HostAgent& self, const std::string& id) { self.give_notice(id); });
}

// What it tells of a job

int HostAgent::tell(const std::string& job, const std::string& kind, const std::string& evidence) {
    const auto known = leases_.find(job);
    const std::int64_t lease = known == leases_.end() ? 1 : known->second;
    const int status =
        send("jobs/" + job + "/events",
             fmt::format(R"({{"fence":"{}","lease_seq":"{}","kind":"{}",)"
                         R"("at":"{}","evidence":{}}})",
                         fence_, lease, kind, to_rfc3339(players_.now() + character_.clock_error),
                         evidence));
    PlainModel& model = players_.model;
    if (status != 200 || !model.knows(job)) return status;
    const Moment now = players_.moment();
    if (model.at(job).stage != Stage::over) model.is_heard(job, now);
    // A copy may have it that the START was not taken yet, which this agent does not get again.
    if ((kind == "PROGRESS" || kind == "READY") && holds(job))
        model.accepts(job, work_->start, now);
    if (kind == "PROGRESS") model.progresses(job, now);
    if (kind == "READY" && model.at(job).stage != Stage::running)
        model.is_ready(job, workload(), now);
    if (kind == "PREEMPT_NOTICE") model.notices(job, now);
    if (kind == "EXITED" || kind == "STOPPED") {
        std::optional<PlainModel::Report> report;
        if (holds(job) && !work_->container.empty())
            report = {.workload = workload(), .runtime_ms = runtime_ms()};
        model.ends(job, report, kind == "STOPPED", now);
    }
    return status;
}

void HostAgent::switch_engine(const std::string& job, bool up) {
    const int status = tell(job, "USAGE",
                            fmt::format(R"({{"runtime_ms":"{}","container_id":"{}","boot_id":"{}",)"
                                        R"("engine":"{}"}})",
                                        runtime_ms(), work_->container, boot_, up ? "up" : "down"));
    if (status == 200 && players_.model.knows(job))
        players_.model.reports(job,
                               {.workload = workload(),
                                .runtime_ms = runtime_ms(),
                                .engine = up ? PlainModel::Engine::up : PlainModel::Engine::down},
                               players_.moment());
    if (up || players_.dice.chance(30)) return;
    players_.later(players_.dice.seconds(20, 400), [this, job] {
        if (holds(job) && work_->phase == Phase::running) switch_engine(job, true);
    });
}

void HostAgent::exit(const std::string& job) {
    players_.tally.add("workload exits");
    const std::string container =
        work_->container.empty() ? "null" : fmt::format(R"("{}")", work_->container);
    work_->last_ms = runtime_ms();
    work_->phase = Phase::stopped;
    const std::string evidence =
        fmt::format(R"({{"container_id":{},"boot_id":"{}","runtime_ms":"{}","exit_code":1}})",
                    container, boot_, work_->last_ms);
    tell(job, "EXITED", evidence);
    if (holds(job)) work_->tells_end = true;
}

void HostAgent::give_notice(const std::string& job) {
    players_.tally.add("preempted");
    tell(job, "PREEMPT_NOTICE", R"({"reason":"the owner wants it"})");
}

// The host boots anew: what ran is gone, its files are not.
void HostAgent::crash(const std::string& job) {
    players_.tally.add("crash");
    boot_ = fmt::format("boot-{}", ++boots_);
    work_->last_ms = runtime_ms();
    work_->phase = Phase::stopped;
    work_->container.clear();
    static_cast<void>(job);
    vanish(players_.dice.seconds(10, 900));
}

void HostAgent::vanish(Duration span) {
    players_.tally.add("vanish");
    present_ = false;
    players_.later(span, [this] {
        present_ = true;
        heartbeat();
    });
}

// An agent stops by itself where the funding ends, and when it was not heard for long.
void HostAgent::mind_limits() {
    if (!work_ || work_->phase != Phase::running) return;
    const bool is_unfunded = work_->funded_through && *work_->funded_through <= players_.now();
    if (is_unfunded || work_->lease_until + lease_grace <= players_.now()) {
        players_.tally.add(is_unfunded ? "stops by itself, unfunded" : "stops by itself, unheard");
        stop_work();
    }
}

void HostAgent::stop_work() {
    if (work_->has_told_end) return;
    if (work_->phase == Phase::running) work_->last_ms = runtime_ms();
    work_->phase = Phase::stopped;
    work_->tells_end = true;
    tell_end(work_->job, tries_max);
}

// Until the service has taken it, or does not want it any more; heartbeats try again.
void HostAgent::tell_end(const std::string& job, int tries) {
    if (!holds(job) || !work_->tells_end) return;
    const std::string container =
        work_->container.empty()
            ? ""
            : fmt::format(R"("container_id":"{}","boot_id":"{}","runtime_ms":"{}")",
                          work_->container, boot_, work_->last_ms);
    const int status = tell(job, "STOPPED", "{" + container + "}");
    if (!holds(job)) return;
    if (status == 200 || status == 404) {
        work_->tells_end = false;
        work_->has_told_end = true;
    } else if (status != 0 && tries > 1) {
        players_.later(seconds(61), [this, job, tries] { tell_end(job, tries - 1); });
    }
}

void HostAgent::take_clean(const std::string& job) {
    const bool is_late = players_.dice.chance(character_.trouble_percent / 3);
    players_.later(players_.dice.seconds(5, is_late ? 1500 : 60), [this, job] { clean(job); });
}

void HostAgent::clean(const std::string& job) {
    const bool fails = players_.dice.chance(character_.trouble_percent / 5);
    const int status =
        tell(job, "CLEANED",
             fmt::format(R"({{"volume_recreated":true,"gpus":[{{"uuid":null,"total_bytes":"100",)"
                         R"("wiped_bytes":"{0}","verified_bytes":"{0}"}}]}})",
                         fails ? 50 : 95));
    const bool is_over = status == 200 || status == 404;
    if (holds(job) && is_over && !fails) work_.reset();
    if (!is_over || fails) nudge();
}

}  // namespace berth::simulation
