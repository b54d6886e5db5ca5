// Hosts offer machines, renters come by, rent, raise and stop.
#include "simulation/run.hpp"

#include "machines/commands.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"

namespace berth::simulation {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using test::member;

constexpr int hosts = 10;
constexpr std::int64_t deposit = 40'000'000;
constexpr std::string_view ssh_key = R"(,"ssh_public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5me")";

}  // namespace

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

// A genuine machine that another host has read the card's name of; empty where none has.
std::string Simulation::choose_copied() {
    if (cards_.empty() || !dice_.chance(10)) return "";
    const auto chosen = dice_.between(0, static_cast<std::int64_t>(cards_.size()) - 1);
    return std::next(cards_.begin(), chosen)->first;
}

void Simulation::open_machine(const std::string& host) {
    const bool interruptible = dice_.chance(30);
    const bool by_gate = gates_.dice().chance(40);
    const std::string original = choose_copied();
    const std::string card = original.empty() ? "GPU-" + world_.new_id() : cards_.at(original);
    const auto machine = test::enrolled(
        world_.harness(), {parse_uuid(host).value()},
        {.state = machines::MachineState::UNLISTED,
         .gpu_uuids = {card},
         .measured = test::measured_4090(),
         .mode = interruptible ? machines::HostMode::idle : machines::HostMode::dedicated,
         .adjust = [by_gate](machines::Machine& row) {
             if (by_gate) row.reach = agent_protocol::Reach::gate;
         }});
    const std::string id = to_string(machine.machine_id);
    if (original.empty())
        cards_[id] = card;
    else
        copied_from_[id] = original;
    if (dice_.chance(20))
        untested_copies_[id] =
            test::enrolled(world_.harness(), {parse_uuid(hosts_.front()).value()},
                           {.gpu_uuids = {card}})
                .machine_id;
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
    const bool admitted = list(host, id);
    require_that(admitted == original.empty(), "a card is offered where it was first seen");
    offers_[id] = to_string(machine.offer_id);
    HostAgent::Character character{.interruptible = interruptible,
                                   .trouble_percent = options_.trouble_percent};
    if (dice_.chance(20)) character.runs_percent = dice_.between(50, 400);
    if (dice_.chance(20)) character.clock_error = seconds(dice_.between(-7200, 7200));
    character.ignores_lease = dice_.chance(20);
    character.hides_endpoints = dice_.chance(20);
    character.ends_unasked = dice_.chance(20);
    if (dice_.chance(30)) character.late_s_max = dice_.between(1, 45);
    agents_.push_back(std::make_unique<HostAgent>(players_, id, character));
    by_machine_[id] = agents_.back().get();
}

bool Simulation::list(const std::string& host, const std::string& machine) {
    const auto listed = players_.ask({.who = "host " + host,
                                      .target = "/api/v1/hosts/machines/" + machine + "/list",
                                      .body = "",
                                      .key = world_.new_id()});
    return member(listed.body, "decision") == "admitted";
}

void Simulation::open() {
    opened_on_ = ledger::day_of(world_.now());
    find_templates();
    gates_.open();
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
    if (const auto copied = copied_from_.find(agent.machine()); copied != copied_from_.end()) {
        hear(*by_machine_.at(copied->second));
        tally_.add("a copied card was asked for");
        list(to_string(test::seen(world_.harness(), {parse_uuid(agent.machine()).value()}).owner),
             agent.machine());
    }
    rent(renters_[number], agent);
}

// An idle machine is heard when somebody looks for one; one with a job speaks for itself.
void Simulation::hear(const HostAgent& agent) {
    if (agent.is_clean()) test::hear(world_.harness(), {parse_uuid(agent.machine()).value()});
    if (const auto copy = untested_copies_.find(agent.machine()); copy != untested_copies_.end())
        test::hear(world_.harness(), copy->second);
}

// A card is where it was first seen to work for as long as that machine is there to be rented.
void Simulation::check_card(const std::string& machine, const http::Response& quoted) {
    const auto copied = copied_from_.find(machine);
    if (copied == copied_from_.end()) {
        require_that(quoted.body.find("GPU_DUPLICATE") == std::string::npos,
                     "a machine is not rented out because others name its card: " + quoted.body);
        return;
    }
    const HostAgent& original = *by_machine_.at(copied->second);
    const auto seen = test::seen(world_.harness(), {parse_uuid(copied->second).value()});
    const bool is_there = original.is_clean() &&
                          seen.state != machines::MachineState::QUARANTINED &&
                          seen.qualify_state == machines::QualifyState::passed;
    require_that(!is_there || quoted.status != 201, "a card is rented out where it is not");
    tally_.add(quoted.status == 201 ? "copied card rented out" : "copied card refused");
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
    check_card(agent.machine(), quoted);
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
            const Time end{model_.paid_until(job, players_.moment())};
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

}  // namespace berth::simulation
