#include "simulation/simulation.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "ledger/check.hpp"
#include "ledger/days.hpp"
#include "ledger/ledger.hpp"
#include "machines/commands.hpp"
#include "rentals/store.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"

namespace berth::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::member;

// Just often enough not to look like an outage.
constexpr Duration look_every = seconds(14);
constexpr int looks_per_round = 8;  // then the worker does everything else too
constexpr Duration settling = hours(2);
constexpr int hosts = 10;
constexpr std::int64_t deposit = 40'000'000;
constexpr std::string_view ssh_key = R"(,"ssh_public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5me")";

struct Template {
    std::string id;
    bool is_model = false;
};

class Simulation {
public:
    explicit Simulation(const Options& options)
        : options_(options),
          dice_(options.seed),
          players_{world_, model_, timeline_, dice_, tally_} {}

    Outcome run();

private:
    // The market
    void open();
    void open_machine(const std::string& host);
    void find_templates();
    void come_by(std::size_t renter);
    void hear(const HostAgent& agent);
    void rent(const std::string& renter, HostAgent& agent);
    void reserve(const std::string& renter, HostAgent& agent, const std::string& quote,
                 const Deal& deal);
    void plan(const std::string& renter, HostAgent& agent, const std::string& job);
    void stop(const std::string& renter, HostAgent& agent, const std::string& job);
    void raise(const std::string& renter, const std::string& job);
    void repair(HostAgent& agent);
    void drain_one();
    bool is_delivered(const std::string& job);

    // The service
    void look();
    void restart();
    void go_back_soon();
    void put_back();
    void come_up();
    void rush();
    void settle_down();

    // What must be so
    void check_ended();
    void check_stuck();
    void check_books();
    void check_days(db::Transaction& tx);
    void check_over();

    template <class Function>
    void timed(const Function& function) {
        const auto began = std::chrono::steady_clock::now();
        function();
        model_seconds_ +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
    void require_that(bool holds, const std::string& sentence) const {
        if (!holds) throw Difference(fmt::format("{}: {}", to_rfc3339(world_.now()), sentence));
    }

    const Options options_;
    World world_;
    PlainModel model_;
    PlainModel copied_model_;
    bool has_copy_ = false;
    Timeline timeline_;
    Dice dice_;
    Tally tally_;
    Players players_;
    std::vector<std::unique_ptr<HostAgent>> agents_;
    std::map<std::string, HostAgent*> by_machine_;
    std::map<std::string, std::string> offers_;  // by machine
    std::vector<std::string> hosts_;
    std::vector<std::string> renters_;
    std::vector<Template> templates_;
    std::int64_t looks_ = 0;
    std::int64_t opened_on_ = 0;
    bool is_open_ = true;
    double model_seconds_ = 0;
};

// The market

void Simulation::find_templates() {
    for (const std::string kind : {"classical", "model"}) {
        const auto page = players_.ask(
            {.who = "", .method = "GET", .target = "/api/v1/templates?limit=100&kind=" + kind});
        for (int i = 0; i < 100; ++i) {
            const std::string at = fmt::format("items.{}.", i);
            if (member(page.body, at + "id").empty()) break;
            if (member(page.body, at + "required_runtime") != "cuda" ||
                member(page.body, at + "min_gpu_count") != "1" ||
                std::stoll(member(page.body, at + "vram_fit.min_vram_bytes")) > 24'000'000'000)
                continue;
            templates_.push_back({member(page.body, at + "id"), kind == "model"});
            break;
        }
    }
    require_that(templates_.size() == 2, "there is no template of each kind");
}

void Simulation::open_machine(const std::string& host) {
    const bool interruptible = dice_.chance(30);
    const auto machine = test::enrolled(
        world_.harness(), {parse_uuid(host).value()},
        {.state = machines::MachineState::UNLISTED,
         .measured = test::measured_4090(),
         .mode = interruptible ? machines::HostMode::idle : machines::HostMode::dedicated});
    const std::string id = to_string(machine.machine_id);
    const std::string place = "/api/v1/hosts/machines/" + id;
    const Duration available = dice_.chance(10) ? hours(dice_.between(2, 24)) : hours(2000);
    const auto edited = players_.ask(
        {.who = "host " + host,
         .method = "PATCH",
         .target = place + "/offer",
         .body = fmt::format(
             R"({{"expected_version":"0","rate_micro_per_hour":"{}","included_disk_gib":100,)"
             R"("included_egress_gib":1000,"available_from":"{}","available_until":"{}",)"
             R"("availability_class":"{}"{}}})",
             dice_.between(100'000, 6'000'000), to_rfc3339(world_.now() - hours(1)),
             to_rfc3339(world_.now() + available), interruptible ? "interruptible" : "dedicated",
             interruptible ? fmt::format(R"(,"preemption_notice_s":{})", dice_.between(30, 300))
                           : ""),
         .key = world_.new_id()});
    require_that(edited.status == 202, edited.body);
    const auto listed = players_.ask(
        {.who = "host " + host, .target = place + "/list", .body = "", .key = world_.new_id()});
    require_that(member(listed.body, "decision") == "admitted", listed.body);
    offers_[id] = to_string(machine.offer_id);
    HostAgent::Character character{.interruptible = interruptible,
                                   .trouble_percent = options_.trouble_percent};
    if (dice_.chance(20)) character.runs_percent = dice_.between(50, 400);
    if (dice_.chance(20)) character.clock_error = seconds(dice_.between(-7200, 7200));
    agents_.push_back(std::make_unique<HostAgent>(players_, id, character));
    by_machine_[id] = agents_.back().get();
}

void Simulation::open() {
    opened_on_ = ledger::day_of(world_.now());
    find_templates();
    for (int i = 0; i < hosts; ++i) {
        const AccountId host{make_uuid(world_.now(), world_.harness().random)};
        world_.database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO accounts (account_id, kind, email, role, host_capability, "
                "host_barred, suspended, version, totp_step, created_at) "
                "VALUES ($1, 'agent', NULL, 'host', 1, 0, 0, 1, 0, $2)",
                host, world_.now());
        });
        hosts_.push_back(to_string(host));
        for (int k = i; k < options_.machines; k += hosts) open_machine(to_string(host));
    }
    for (int i = 0; i < options_.renters; ++i) {
        const AccountId renter{make_uuid(world_.now(), world_.harness().random)};
        world_.database().write([&](db::Transaction& tx) {
            ledger::deposit(
                {tx, world_.harness().random, world_.now()},
                {renter, ledger::Asset::usdc, Micro{deposit}, "test:" + to_string(renter)});
        });
        renters_.push_back(to_string(renter));
        model_.deposits(renters_.back(), deposit);
        const auto number = static_cast<std::size_t>(i);
        players_.later(dice_.seconds(1, 8 * 3600), [this, number] { come_by(number); });
    }
}

void Simulation::come_by(std::size_t number) {
    if (!is_open_) return;
    players_.later(dice_.seconds(3600, 12 * 3600), [this, number] { come_by(number); });
    if (!world_.is_up()) return;
    HostAgent& agent = *agents_[static_cast<std::size_t>(
        dice_.between(0, static_cast<std::int64_t>(agents_.size()) - 1))];
    if (!agent.is_present()) return;
    hear(agent);
    rent(renters_[number], agent);
}

// An idle machine is heard when somebody looks for one; one with a job speaks for itself.
void Simulation::hear(const HostAgent& agent) {
    if (agent.is_clean()) test::hear(world_.harness(), {parse_uuid(agent.machine()).value()});
}

void Simulation::rent(const std::string& renter, HostAgent& agent) {
    const Template& what = templates_[dice_.chance(50) ? 0 : 1];
    Deal deal{.renter = renter,
              .machine = agent.machine(),
              .budget = dice_.between(1'000, 12'000'000),
              .duration_s = dice_.between(60, 24 * 3600)};
    const auto quoted = players_.ask(
        {.who = "renter " + renter,
         .target = "/api/v1/quotes",
         .body = fmt::format(
             R"({{"offer_id":"{}","template_id":"{}","duration_limit_s":{},"budget_micro":"{}"}})",
             offers_.at(agent.machine()), what.id, deal.duration_s, deal.budget),
         .key = world_.new_id()});
    if (quoted.status != 201) {
        tally_.add("no quote");
        return repair(agent);
    }
    deal.rate = std::stoll(member(quoted.body, "machine_rate_micro_per_hour"));
    deal.fee_bps = std::stoll(member(quoted.body, "platform_fee_bps"));
    if (const auto notice = member(quoted.body, "preemption_notice_s"); notice != "null")
        deal.notice_s = std::stoll(notice);
    reserve(renter, agent,
            fmt::format(R"({{"quote_id":"{}"{}}})", member(quoted.body, "quote_id"),
                        what.is_model ? "" : ssh_key),
            deal);
}

void Simulation::reserve(const std::string& renter, HostAgent& agent, const std::string& body,
                         const Deal& deal) {
    const Ask ask{
        .who = "renter " + renter, .target = "/api/v1/jobs", .body = body, .key = world_.new_id()};
    const auto reserved = players_.ask(ask);
    std::int64_t available = 0;
    std::string there;
    timed([&] {
        available = model_.available(renter);
        there = model_.job_on(deal.machine);
    });
    if (reserved.status != 202) {
        require_that(
            member(reserved.body, "error.code") == "INSUFFICIENT_FUNDS" && available < deal.budget,
            "a reservation is refused: " + reserved.body);
        tally_.add("too poor");
        return;
    }
    require_that(available >= deal.budget, "a renter reserved more than there was");
    const std::string job = member(reserved.body, "job_id");
    require_that(there.empty(), fmt::format("the machine of job {} was rented to {}", there, job));
    if (dice_.chance(5))
        require_that(players_.ask(ask).body == reserved.body, "a retry is answered otherwise");
    const auto machine = test::seen(world_.harness(), {parse_uuid(deal.machine).value()});
    Deal made = deal;
    made.host = to_string(machine.owner);
    made.available_until = machine.available_until.value().micros;
    model_.reserves(job, made, players_.moment());
    tally_.add("reserved");
    if (!dice_.chance(3)) agent.nudge();
    plan(renter, agent, job);
}

// What the renter will do with it.
void Simulation::plan(const std::string& renter, HostAgent& agent, const std::string& job) {
    if (dice_.chance(75))
        players_.later(dice_.seconds(1, dice_.chance(30) ? 600 : 6 * 3600),
                       [this, renter, &agent, job] { stop(renter, agent, job); });
    if (dice_.chance(25))
        players_.later(dice_.seconds(1, 2 * 3600), [this, renter, job] { raise(renter, job); });
    // At the last second: when the money is over and nobody has looked yet.
    if (dice_.chance(10))
        players_.later(seconds(900), [this, renter, job] {
            if (!model_.knows(job) || model_.at(job).stage != Stage::running) return;
            const Time end{model_.at(job).paid_until()};
            const Duration early = seconds(dice_.between(-4, 4));
            timeline_.put(std::max(end - early, world_.now()),
                          [this, renter, job] { raise(renter, job); });
        });
}

// Whether its agent was answered with START.
bool Simulation::is_delivered(const std::string& job) {
    return world_.database().read([&](db::Transaction& tx) {
        const auto row = rentals::find_job(tx, {parse_uuid(job).value()});
        return machines::is_delivered(tx, row->terms.machine_id, agent_protocol::CommandKind::start,
                                      row->terms.job_id);
    });
}

void Simulation::stop(const std::string& renter, HostAgent& agent, const std::string& job) {
    if (!world_.is_up() || !model_.knows(job)) return;
    const bool delivered = is_delivered(job);
    const bool skips = dice_.chance(30);
    const auto stopped = players_.ask(
        {.who = "renter " + renter,
         .target = "/api/v1/jobs/" + job + "/stop",
         .body = skips ? R"({"reason":"x","skip_retrieval":true})" : R"({"reason":"x"})",
         .key = world_.new_id()});
    require_that(stopped.status == 202, "a stop is refused: " + stopped.body);
    model_.stops(job, delivered, players_.moment());
    agent.nudge();
}

void Simulation::raise(const std::string& renter, const std::string& job) {
    if (!world_.is_up() || !model_.knows(job)) return;
    const auto shown =
        players_.ask({.who = "renter " + renter, .method = "GET", .target = "/api/v1/jobs/" + job});
    const std::int64_t more = dice_.between(1, 2'000'000);
    const auto raised =
        players_.ask({.who = "renter " + renter,
                      .target = "/api/v1/jobs/" + job + "/budget",
                      .body = fmt::format(R"({{"add_micro":"{}","expected_budget_version":"{}"}})",
                                          more, member(shown.body, "budget_version")),
                      .key = world_.new_id()});
    tally_.add(raised.status == 202 ? "budget raised"
                                    : "budget not raised, " + member(raised.body, "error.code"));
    const Stage stage = model_.at(job).stage;
    const bool runs = stage != Stage::stopping && stage != Stage::over;
    require_that(runs || raised.status != 202, "what is over was funded: " + raised.body);
    if (raised.status == 202) model_.raises(job, more);
}

// A machine that cannot be rented: its host sees to it, or an operator does. Its test was passed
// elsewhere.
void Simulation::repair(HostAgent& agent) {
    const MachineId id{parse_uuid(agent.machine()).value()};
    const auto machine = test::seen(world_.harness(), id);
    using machines::MachineState;
    if (machine.state == MachineState::QUARANTINED && machine.quarantine_held) {
        tally_.add("released by an operator");
        test::happen(world_.harness(), id, machines::MachineEvent::release);
    } else if (machine.state == MachineState::UNQUALIFIED) {
        tally_.add("tested anew");
        world_.database().write([&](db::Transaction& tx) {
            auto row = machines::hold(tx, id).value();
            row.qualify_state = machines::QualifyState::passed;
            row.qualify_next_at.reset();
            row.qualify_run_id.reset();
            row.tested_manifest_hash = row.manifest_hash;
            machines::apply({tx, world_.harness().random, world_.now()}, row,
                            machines::MachineEvent::test_passed, {.admitted = true});
        });
    }
    agent.nudge();
}

void Simulation::drain_one() {
    if (!is_open_) return;
    players_.later(dice_.seconds(600, 7200), [this] { drain_one(); });
    if (!world_.is_up()) return;
    HostAgent& agent = *agents_[static_cast<std::size_t>(
        dice_.between(0, static_cast<std::int64_t>(agents_.size()) - 1))];
    const MachineId id{parse_uuid(agent.machine()).value()};
    const std::string host = "host " + to_string(test::seen(world_.harness(), id).owner);
    const std::string place = "/api/v1/hosts/machines/" + agent.machine();
    const auto drained =
        players_.ask({.who = host, .target = place + "/drain", .body = "", .key = world_.new_id()});
    tally_.add(drained.status == 202 ? "drained" : "not drained");
    players_.later(hours(1), [this, host, place] {
        if (!world_.is_up()) return;
        players_.ask({.who = host, .target = place + "/list", .body = "", .key = world_.new_id()});
    });
}

// The service

void Simulation::look() {
    if (world_.is_up()) {
        if (looks_++ % looks_per_round == 0)
            world_.work();
        else
            world_.look();
        timed([&] { model_.looks(players_.moment()); });
        check_ended();
        if (looks_ % looks_per_round == 0) check_stuck();
    }
    players_.later(look_every, [this] { look(); });
}

// It goes away for a while, and comes back as it was or as it was at the last copy.
void Simulation::restart() {
    if (!is_open_) return;
    players_.later(dice_.seconds(3 * 3600, 9 * 3600), [this] { restart(); });
    tally_.add("restarts");
    check_books();
    const bool goes_back = options_.restores && has_copy_ && dice_.chance(35);
    const bool soon = options_.restores && !goes_back && dice_.chance(50);
    if (soon)
        for (const auto& agent : agents_)
            if (agent->is_present()) hear(*agent);
    world_.go_down();
    if (goes_back) {
        put_back();
    } else {
        world_.keep_copy();
        copied_model_ = model_;
        has_copy_ = true;
    }
    if (soon) return go_back_soon();
    const bool is_long = dice_.chance(30);
    players_.later(dice_.seconds(1, is_long ? 1200 : 40), [this] { come_up(); });
}

// Put back to a copy so young that its heartbeats still look fresh: machines that were rented since
// seem idle, and renters come at once.
void Simulation::go_back_soon() {
    players_.later(dice_.seconds(1, 10), [this] {
        come_up();
        rush();
        players_.later(dice_.seconds(10, 30), [this] {
            world_.go_down();
            put_back();
            players_.later(dice_.seconds(1, 5), [this] {
                come_up();
                rush();
            });
        });
    });
}

void Simulation::put_back() {
    tally_.add("restores");
    world_.put_back_copy();
    model_ = copied_model_;
    for (auto& agent : agents_) agent->note_restored();
}

void Simulation::come_up() {
    world_.come_up();
    world_.work();
    world_.look();
    model_.starts(players_.moment());
    model_.looks(players_.moment());
    for (auto& agent : agents_) agent->nudge();
}

// Every machine that is there is asked for.
void Simulation::rush() {
    for (const auto& agent : agents_) {
        if (!is_open_ || !agent->is_present()) continue;
        tally_.add("rushed for");
        hear(*agent);
        rent(renters_[static_cast<std::size_t>(
                 dice_.between(0, static_cast<std::int64_t>(renters_.size()) - 1))],
             *agent);
    }
}

// Nothing new begins, hosts do their work, and everything comes to its end.
void Simulation::settle_down() {
    is_open_ = false;
    if (!world_.is_up()) return players_.later(minutes(1), [this] { settle_down(); });
    for (auto& agent : agents_) agent->behave();
    for (const auto& [job, bill] : model_.bills())
        if (bill.stage != Stage::over)
            players_.later(dice_.seconds(1, 60), [this, id = job, renter = bill.deal.renter,
                                                  &agent = *by_machine_.at(bill.deal.machine)] {
                stop(renter, agent, id);
            });
}

// What must be so

void Simulation::check_ended() {
    for (const std::string& job : model_.take_ended()) {
        const Bill& bill = model_.at(job);
        const auto receipt = players_.ask({.who = "renter " + bill.deal.renter,
                                           .method = "GET",
                                           .target = "/api/v1/billing/receipts/" + job});
        const auto shown = players_.ask({.who = "renter " + bill.deal.renter,
                                         .method = "GET",
                                         .target = "/api/v1/jobs/" + job});
        const auto number = [&](const std::string& name) {
            return std::stoll(member(receipt.body, name));
        };
        const std::string state = member(receipt.body, "state");
        const bool is_right = (state == "STOPPED" || state == "CLOSED" || state == "FAILED") &&
                              number("accepted_runtime_ms") == bill.billed_ms &&
                              number("charge_micro") == bill.charge() &&
                              number("fee_micro") == bill.fee() &&
                              number("host_micro") == bill.charge() - bill.fee() &&
                              number("funded_budget_micro") == bill.deal.budget;
        require_that(
            is_right,
            fmt::format("job {} should have run {} ms and cost {} of {}, for {}; it is {}", job,
                        bill.billed_ms, bill.charge(), bill.deal.budget, bill.reason, shown.body));
        const std::string reason = member(shown.body, "end_reason");
        const bool was_paid = reason == "funded_expiry" || reason == "duration_limit" ||
                              reason == "availability_ended" || reason == "preempted";
        require_that(bill.reason == "paid" ? was_paid : bill.reason == reason,
                     fmt::format("job {} ended for {}, not for {}", job, reason, bill.reason));
        tally_.add("ended " + reason);
        tally_.billed_ms += bill.billed_ms;
    }
}

// No state goes beyond its deadline, and each that is not an end has one.
void Simulation::check_stuck() {
    world_.database().read([&](db::Transaction& tx) {
        const auto late = rentals::find_due(tx, world_.now() - seconds(30), 1);
        require_that(late.empty(), late.empty() ? "" : "stuck: job " + to_string(late.front()));
        const auto endless = tx.fetch_values<JobId>(
            "SELECT job_id FROM jobs WHERE deadline_at IS NULL AND state NOT IN ('CLOSED', "
            "'FAILED') LIMIT 1");
        require_that(endless.empty(),
                     endless.empty() ? "" : "no deadline: job " + to_string(endless.front()));
    });
}

void Simulation::check_books() {
    std::map<std::string, PlainModel::Account> accounts;
    timed([&] { accounts = model_.accounts(); });
    world_.database().read([&](db::Transaction& tx) {
        for (const auto& [id, expected] : accounts) {
            const auto has = ledger::balances(tx, {parse_uuid(id).value()}, ledger::Asset::usdc);
            require_that(has.available.value == expected.available &&
                             has.held.value == expected.held &&
                             has.payable.value == expected.payable,
                         fmt::format("account {} has {}, {} held, {} payable; it should have {}, "
                                     "{}, {}",
                                     id, has.available.value, has.held.value, has.payable.value,
                                     expected.available, expected.held, expected.payable));
        }
        check_days(tx);
        const auto report = ledger::check_ledger(tx);
        require_that(report.sound(), "the ledger: " + ledger::to_text(report));
    });
    tally_.add("books checked");
}

void Simulation::check_days(db::Transaction& tx) {
    std::map<PlainModel::HostDay, std::int64_t> earnings;
    timed([&] { earnings = model_.earnings(); });
    const ledger::Days days{opened_on_, ledger::day_of(world_.now())};
    for (const std::string& host : hosts_)
        for (const auto& day : ledger::earnings_by_day(tx, AccountId{parse_uuid(host).value()},
                                                       ledger::Asset::usdc, days)) {
            const std::int64_t expected = earnings[{host, day.day}];
            require_that(day.earned.value == expected,
                         fmt::format("host {} earned {} on day {}; it should be {}", host,
                                     day.earned.value, day.day, expected));
            if (expected > 0) tally_.add("days of hosts checked");
        }
}

void Simulation::check_over() {
    for (const auto& [job, bill] : model_.bills())
        require_that(bill.stage == Stage::over, "never ended: job " + job);
    world_.database().read([&](db::Transaction& tx) {
        const auto open = tx.fetch_values<JobId>(
            "SELECT job_id FROM jobs WHERE state NOT IN ('CLOSED', 'FAILED') LIMIT 1");
        require_that(open.empty(), open.empty() ? "" : "not closed: job " + to_string(open[0]));
        const auto busy = tx.fetch_values<MachineId>(
            "SELECT machine_id FROM machines WHERE state IN ('ALLOCATED', 'DRAINING', 'CLEANING') "
            "OR (state = 'QUARANTINED' AND job_id IS NOT NULL) LIMIT 1");
        for (const MachineId& id : busy) {
            const auto machine = machines::find(tx, id).value();
            require_that(false, fmt::format("not freed: machine {} is {}, with job {}",
                                            to_string(id), enum_name(machine.state),
                                            to_string(machine.job_id.value_or(JobId{}))));
        }
    });
    for (const auto& agent : agents_)
        require_that(agent->is_clean(), "not cleaned: machine " + agent->machine());
}

Outcome Simulation::run() {
    const auto began = std::chrono::steady_clock::now();
    open();
    world_.work();
    world_.look();
    model_.starts(players_.moment());
    players_.later(look_every, [this] { look(); });
    players_.later(dice_.seconds(600, 7200), [this] { drain_one(); });
    players_.later(dice_.seconds(1800, 4 * 3600), [this] { restart(); });
    const Time close = world_.now() + options_.span;
    timeline_.put(close, [this] { settle_down(); });
    const Time end = close + settling;
    while (!timeline_.empty() && timeline_.next() <= end) {
        world_.go_to(std::max(timeline_.next(), world_.now()));
        timeline_.take()();
    }
    check_books();
    check_over();
    Outcome outcome{tally_, model_seconds_, 0};
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return outcome;
}

}  // namespace

std::string Outcome::text(const Options& options) const {
    const double job_hours = static_cast<double>(tally.billed_ms) / 3'600'000;
    std::string line = fmt::format(
        "seed {}: {:.1f} billed hours in {:.1f} s ({:.0f} a second, model {:.1f} %), "
        "digest {:016x}",
        options.seed, job_hours, seconds, job_hours / seconds, 100 * model_seconds / seconds,
        tally.digest);
    for (const auto& [what, count] : tally.counts) line += fmt::format("; {} {}", what, count);
    return line;
}

Outcome simulate(const Options& options) {
    set_log(Level::error);  // a line for each request would be most of the work
    try {
        return Simulation(options).run();
    } catch (const std::exception& error) {
        throw Difference(fmt::format("seed {}: {}", options.seed, error.what()));
    }
}

}  // namespace berth::simulation
