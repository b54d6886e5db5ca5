#include "simulation/host_agent.hpp"

#include <fmt/format.h>

#include "simulation/gates.hpp"
#include "support/endpoints_double.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::simulation {
namespace {

using agent_protocol::AckResult;
using agent_protocol::CommandKind;
using agent_protocol::JobEventKind;
using std::chrono::seconds;
using test::member;

constexpr Duration beat_every = seconds(60);
constexpr Duration lease_grace = seconds(300);
constexpr int tries_max = 3;

// As the bookkeeper calls them; nobody is reached at the port where nobody is.
std::set<std::string> reached_at(const std::vector<agent_protocol::JobEndpoint>& endpoints) {
    std::set<std::string> reached;
    for (const auto& each : endpoints)
        if (each.port.value != test::dark_port)
            reached.insert(each.kind == agent_protocol::EndpointKind::ssh ? "ssh"
                                                                          : each.name.value);
    return reached;
}

}  // namespace

HostAgent::HostAgent(Players players, std::string machine, Character character)
    : players_(players), machine_(std::move(machine)), character_(character) {
    host_.other_manifest_hash = "sha256:" + std::string(64, 'a');
    if (character_.interruptible) host_.host_mode.mode = agent_protocol::HostMode::idle;
}

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
    const Duration ran = std::max(Duration{}, players_.now() - late_ - work_->ready_at);
    return ran.count() / 1000 * character_.runs_percent / 100;
}

std::string HostAgent::workload() const { return host_.boot_id + "/" + work_->container; }

agent_protocol::JobReport HostAgent::report() const {
    agent_protocol::JobReport report;
    report.job_id = {parse_uuid(work_->job).value()};
    report.lease_seq = {leases_.at(work_->job)};
    report.budget_version = {work_->budget_version};
    report.phase = work_->phase;
    if (!work_->container.empty()) report.container_id = wire::Text<1, 128>{work_->container};
    report.runtime_ms = {runtime_ms()};
    return report;
}

test::DoubleWorkload HostAgent::told_workload() const { return {work_->container, host_.boot_id}; }

void HostAgent::heartbeat() {
    mind_limits();
    host_.jobs.clear();
    late_ = players_.dice.seconds(0, character_.late_s_max);
    if (work_) host_.jobs.push_back(report());
    const std::int64_t said_ms = runtime_ms();
    late_ = {};
    const auto beat = host_.heartbeat(players_.now() + character_.clock_error);
    std::string answer;
    if (send("heartbeat", wire::encode(beat), &answer) != 200) return;
    if (work_ && players_.model.knows(work_->job))
        players_.model.reports(
            work_->job, {.workload = workload(), .runtime_ms = said_ms, .renews_lease = true},
            players_.moment());
    if (work_ && work_->tells_end) tell_end(work_->job, tries_max);
    mind_link();
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
    link_back_at_ = {};
    behaves_ = true;
    nudge();
    keep_beating();
}

// What the service wants

void HostAgent::obey(const std::string& text) {
    const auto orders = wire::decode<agent_protocol::Orders>(text, "orders");
    host_.fence = std::max(host_.fence, orders.fence.value);
    for (const auto& lease : orders.leases) take_lease(lease);
    for (const auto& command : orders.commands) {
        host_.fence = std::max(host_.fence, command.fence.value);
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

bool HostAgent::acknowledge(const agent_protocol::Command& command,
                            const agent_protocol::Ack& ack) {
    const bool taken =
        send("commands/" + to_string(command.command_id) + "/ack", wire::encode(ack)) == 200;
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
            acknowledge(command, host_.ack(AckResult::accepted));
            if (!holds(job)) {
                tell(job, JobEventKind::stopped, agent_protocol::EndEvidence{});
                return;
            }
            const bool is_slow = players_.dice.chance(character_.trouble_percent / 3);
            players_.later(players_.dice.seconds(is_slow ? 200 : 0, is_slow ? 900 : 10),
                           [this, job] {
                               if (holds(job)) stop_work();
                           });
            return;
        }
        case CommandKind::clean:
            acknowledge(command, host_.ack(AckResult::accepted));
            return take_clean(job);
        case CommandKind::budget: {
            const auto budget = agent_protocol::payload_of<agent_protocol::BudgetPayload>(command);
            acknowledge(command, host_.ack(AckResult::accepted, budget));
            if (!holds(job)) return;
            if (budget.funded_through.value) work_->funded_through = *budget.funded_through.value;
            return;
        }
        default: acknowledge(command, host_.ack(AckResult::accepted));
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
        if (acknowledge(command, host_.rejection("HOST_REJECTED")) && players_.model.knows(job))
            players_.model.rejects(job);
        return;
    }
    if (!acknowledge(command, host_.ack(AckResult::accepted))) return;
    const auto payload = agent_protocol::payload_of<agent_protocol::StartPayload>(command);
    const PlainModel::Start start{
        .deadline_s = payload.start_deadline_s.value,
        .engine_counts = payload.readiness_path.value && !payload.ssh_public_key.value,
        .is_hosts_to_run = payload.template_.value &&
                           payload.template_.value->kind == agent_protocol::TemplateKind::model &&
                           !payload.ssh_public_key.value,
        .promised = reached_at(test::endpoints_of(payload))};
    if (players_.model.knows(job)) players_.model.accepts(job, start, players_.moment());
    leases_[job] = 1;
    work_ = Work{.job = job,
                 .start = start,
                 .endpoints = test::endpoints_of(payload),
                 .lease_until = players_.now() + seconds(90),
                 .by_gate = payload.reach == agent_protocol::Reach::gate};
    unlinked_since_.reset();
    if (work_->by_gate) ask_for_doors(job);
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
        agent_protocol::ProgressEvidence progress;
        // As much in a minute as a pull must bring in fifteen.
        constexpr std::int64_t step_bytes = 100 * 1024 * 1024;
        constexpr std::int64_t steps_max = 7;
        progress.done_bytes.emplace(wire::Decimal{(steps_max - steps) * step_bytes});
        progress.total_bytes.emplace(wire::Decimal{steps_max * step_bytes});
        tell(job, JobEventKind::progress, progress);
        prepare(job, steps - 1);
    });
}

bool HostAgent::is_linked_to(const std::string& gate) const {
    return present_ && work_ && work_->gate == gate && link_back_at_ <= players_.now();
}

void HostAgent::lose_link(Duration span) {
    if (!work_ || work_->gate.empty()) return;
    players_.tally.add("link lost");
    link_back_at_ = players_.now() + span;
}

// Whoever has had no link for long is given doors elsewhere, if there are any.
void HostAgent::mind_link() {
    if (!work_ || work_->gate.empty()) return;
    const bool is_linked = is_linked_to(work_->gate) && players_.gates.is_up(work_->gate);
    if (is_linked)
        unlinked_since_.reset();
    else if (!unlinked_since_)
        unlinked_since_ = players_.now();
    if (unlinked_since_ || restored_at_) ask_for_doors(work_->job);
}

// The whole list, as the page of the protocol says it. Where the doors are named in READY.
bool HostAgent::ask_for_doors(const std::string& job) {
    std::vector<std::string> wanted;
    for (const auto& each : work_->endpoints)
        wanted.push_back(
            fmt::format(R"({{"job_id":"{}","name":"{}","kind":"{}"}})", job, each.name.value,
                        each.kind == agent_protocol::EndpointKind::ssh ? "ssh" : "http"));
    const Duration lost = players_.now() - unlinked_since_.value_or(players_.now());
    const std::string before = players_.world.is_up() ? players_.gates.gate_of(job) : "";
    std::string answer;
    const int status =
        send("doors",
             fmt::format(R"({{"fence":"{}","lost_s":{},"wanted":[{}]}})", host_.fence,
                         std::chrono::duration_cast<seconds>(lost).count(), fmt::join(wanted, ",")),
             &answer);
    if (status != 200) return false;
    work_->gate = member(answer, "gate.gate_id");
    for (std::size_t i = 0; i < work_->endpoints.size(); ++i) {
        auto& endpoint = work_->endpoints[i];
        endpoint.host = {member(answer, "gate.host")};
        endpoint.port = {std::stoll(member(answer, fmt::format("doors.{}.port", i)))};
        if (endpoint.kind == agent_protocol::EndpointKind::http)
            endpoint.tls_key_sha256.emplace(wire::Text<64, 71>{std::string(64, 'b')});
    }
    if (!players_.model.knows(job)) return true;
    if (before.empty()) {
        players_.model.gets_doors(job, players_.moment());
    } else if (before != work_->gate) {
        players_.tally.add("doors moved");
        players_.model.doors_move(job, players_.moment());
    }
    return true;
}

void HostAgent::get_ready(const std::string& job) {
    if (work_->by_gate && work_->gate.empty() && !ask_for_doors(job)) {
        players_.later(seconds(20), [this, job] {
            if (holds(job) && work_->phase == Phase::preparing) get_ready(job);
        });
        return;
    }
    work_->container = "c-" + job;
    auto endpoints = work_->endpoints;
    if (character_.hides_endpoints && players_.dice.chance(60)) {
        players_.tally.add("ready without endpoints");
        if (players_.dice.chance(50))
            endpoints.clear();
        else
            endpoints.front().port = {test::dark_port};
    }
    const bool may = !players_.model.knows(job) ||
                     players_.model.at(job).stage != Stage::starting ||
                     players_.model.may_be_ready(job, reached_at(endpoints));
    const int status =
        tell(job, JobEventKind::ready, test::ready_evidence(told_workload(), endpoints));
    if (status == 200 && !may)
        throw Difference("a READY was taken that does not reach what was promised: job " + job);
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
    if (character_.ends_unasked)
        perhaps(60, hours(2), [](HostAgent& self, const std::string&) {
            self.players_.tally.add("stops unasked");
            self.stop_work();
        });
    if (character_.interruptible)
        perhaps(30, hours(3), [](HostAgent& self, const std::string& id) { self.give_notice(id); });
}

// What it tells of a job

template <class Evidence>
int HostAgent::tell(const std::string& job, JobEventKind kind, const Evidence& evidence) {
    const auto known = leases_.find(job);
    const std::int64_t lease = known == leases_.end() ? 1 : known->second;
    const int status = send(
        "jobs/" + job + "/events",
        wire::encode(host_.event(kind, lease, players_.now() + character_.clock_error, evidence)));
    PlainModel& model = players_.model;
    if (status != 200 || !model.knows(job)) return status;
    const Moment now = players_.moment();
    if (model.at(job).stage != Stage::over) model.is_heard(job, now);
    // A copy may have it that the START was not taken yet, which this agent does not get again.
    if ((kind == JobEventKind::progress || kind == JobEventKind::ready) && holds(job))
        model.accepts(job, work_->start, now);
    if (kind == JobEventKind::progress) model.progresses(job, now);
    if (kind == JobEventKind::ready && model.at(job).stage != Stage::running)
        model.is_ready(job, workload(), now);
    if (kind == JobEventKind::preempt_notice) model.notices(job, now);
    if (kind == JobEventKind::exited || kind == JobEventKind::stopped) {
        std::optional<PlainModel::Report> report;
        if (holds(job) && !work_->container.empty())
            report = {.workload = workload(), .runtime_ms = runtime_ms()};
        model.ends(job, report, kind == JobEventKind::stopped, now);
    }
    return status;
}

void HostAgent::switch_engine(const std::string& job, bool up) {
    auto usage = test::usage_evidence(told_workload(), runtime_ms());
    usage.engine.emplace(up ? agent_protocol::Engine::up : agent_protocol::Engine::down);
    const int status = tell(job, JobEventKind::usage, usage);
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
    work_->last_ms = runtime_ms();
    work_->phase = Phase::stopped;
    auto end = test::end_evidence(told_workload(), work_->last_ms);
    if (work_->container.empty()) end.container_id.emplace(std::nullopt);
    end.exit_code.emplace(agent_protocol::ExitCode{1});
    tell(job, JobEventKind::exited, end);
    if (holds(job)) work_->tells_end = true;
}

void HostAgent::give_notice(const std::string& job) {
    players_.tally.add("preempted");
    agent_protocol::PreemptNoticeEvidence notice;
    notice.reason.emplace(agent_protocol::HostText{"the owner wants it"});
    tell(job, JobEventKind::preempt_notice, notice);
}

// The host boots anew: what ran is gone, its files are not.
void HostAgent::crash(const std::string& job) {
    players_.tally.add("crash");
    host_.boot_id = fmt::format("boot-{}", ++boots_);
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
    const bool is_unheard =
        !character_.ignores_lease && work_->lease_until + lease_grace <= players_.now();
    if (is_unfunded || is_unheard) {
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
    const auto end = work_->container.empty() ? agent_protocol::EndEvidence{}
                                              : test::end_evidence(told_workload(), work_->last_ms);
    const int status = tell(job, JobEventKind::stopped, end);
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
    const int status = tell(job, JobEventKind::cleaned, test::cleaned_evidence(fails ? 50 : 95));
    const bool is_over = status == 200 || status == 404;
    if (holds(job) && is_over && !fails) work_.reset();
    if (!is_over || fails) nudge();
}

}  // namespace berth::simulation
