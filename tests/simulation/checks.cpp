// What must be so, whatever happened: bills, deadlines, books, and everything over in the end.
#include "simulation/run.hpp"

#include "ledger/check.hpp"
#include "ledger/days.hpp"
#include "ledger/ledger.hpp"
#include "machines/machine.hpp"
#include "rentals/store.hpp"
#include "support/town.hpp"

namespace berth::simulation {
namespace {

using std::chrono::seconds;
using test::member;

}  // namespace

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
        require_that(late.empty(),
                     late.empty() ? "" : "stuck: job " + to_string(late.front().terms.job_id));
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

// Whoever read nothing but events knows the state of every rental and machine: numbers without
// gaps, and the last word about each is what its row says.
void Simulation::check_events() {
    struct Said {
        AccountId account_id;
        std::int64_t sequence = 0;
        std::string type;
        std::string subject_id;
        std::string data;
    };
    world_.database().read([&](db::Transaction& tx) {
        const db::Result rows = tx.run(
            "SELECT account_id, sequence, type, subject_id, data FROM events "
            "ORDER BY account_id, sequence");
        std::map<std::string, std::string> states;  // by subject
        AccountId account{};
        std::int64_t last = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const Said said{rows[i].get<AccountId>(0), rows[i].get<std::int64_t>(1),
                            rows[i].get<std::string>(2), rows[i].get<std::string>(3),
                            rows[i].get<std::string>(4)};
            if (said.account_id != account) last = 0;
            account = said.account_id;
            require_that(said.sequence == ++last, fmt::format("event {} of {} is out of line",
                                                              said.sequence, to_string(account)));
            const bool is_of_state =
                said.type.starts_with("rental.") || said.type.starts_with("machine.");
            const std::string state = member(said.data, "state");
            if (is_of_state && !said.type.starts_with("machine.test_") && !state.empty())
                states[said.subject_id] = state;
        }
        for (const auto& [job, bill] : model_.bills()) {
            const auto row = rentals::find_job(tx, {parse_uuid(job).value()});
            const std::string is = row ? std::string(enum_name(row->live.state)) : "gone";
            require_that(states[job] == is, fmt::format("job {} is {}, and was last told to be {}",
                                                        job, is, states[job]));
        }
        for (const auto& agent : agents_) {
            const auto machine = machines::find(tx, {parse_uuid(agent->machine()).value()});
            if (!machine || !states.contains(agent->machine())) continue;
            require_that(
                states[agent->machine()] == enum_name(machine->state),
                fmt::format("machine {} is {}, and was last told to be {}", agent->machine(),
                            enum_name(machine->state), states[agent->machine()]));
        }
    });
    tally_.add("events replayed");
}

}  // namespace berth::simulation
