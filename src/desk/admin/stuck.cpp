#include "admin/stuck.hpp"

#include <fmt/format.h>

#include "base/enum_names.hpp"
#include "base/log.hpp"
#include "block_list/block_list.hpp"
#include "db/name_list.hpp"
#include "funding/funding.hpp"
#include "rentals/states.hpp"
#include "transfers/operators.hpp"
#include "transfers/payees.hpp"
#include "transfers/settlement.hpp"

namespace berth::admin {
namespace {

using After = std::optional<std::string>;
using FoundList = std::vector<FoundStuck>;

// What every statement below gives. `detail` is what the row itself tells.
struct StuckColumns {
    Uuid id;
    std::optional<AccountId> account_id;
    std::string state;
    Time since;
    std::optional<Time> until;
    std::optional<std::string> detail;
};
BOOST_DESCRIBE_STRUCT(StuckColumns, (), (id, account_id, state, since, until, detail))

// $1 is where to go on, $2 how many, $3 and what follows are times.
db::Query<StuckColumns> stuck_ones(const std::string& which) {
    return db::Query<StuckColumns>("SELECT {} FROM (" + which +
                                   ") AS stuck WHERE (id > $1 OR $1 IS NULL) ORDER BY id LIMIT $2");
}
const auto stuck_claims_sql = stuck_ones(
    "SELECT p.intent_id AS id, i.account_id, i.state, p.claimed_at AS since, p.until, "
    "p.tx_hash AS detail FROM pending_claims p "
    "JOIN funding_intents i ON i.intent_id = p.intent_id WHERE p.claimed_at <= $3");
// While they can be claimed with. The condition is spelled as that of the index of open ones.
const auto stuck_intents_sql = stuck_ones(
    "SELECT intent_id AS id, account_id, state, created_at AS since, expires_at AS until, "
    "exception AS detail FROM funding_intents "
    "WHERE state IN ('OPEN', 'EXCEPTION') AND state = 'EXCEPTION' AND expires_at > $3");
const std::string is_metered_sql = "state IN " + db::name_list(rentals::metered_states);
// One that runs is stuck when nobody hears its host; the others when they wait for too long.
const std::string stuck_rentals_part_sql =
    "SELECT job_id AS id, renter_id AS account_id, state, CASE WHEN " + is_metered_sql +
    " THEN COALESCE(seen_at, waiting_since) ELSE waiting_since END AS since, "
    "lease_until AS until, end_reason AS detail FROM jobs WHERE state IN " +
    db::name_list(rentals::live_states) + " AND CASE WHEN " + is_metered_sql +
    " THEN COALESCE(seen_at, waiting_since) <= $4 ELSE waiting_since <= $3 END";
const auto stuck_rentals_sql = stuck_ones(stuck_rentals_part_sql);
const db::Query<FoundCount> count_stuck_rentals_sql(
    "SELECT {} FROM (SELECT COUNT(*) AS count, MIN(since) AS oldest FROM (SELECT since FROM (" +
    stuck_rentals_part_sql +
    ") AS stuck WHERE (id > $1 OR $1 IS NULL) LIMIT $2) AS waiting) AS counted");
const auto stuck_machines_sql = stuck_ones(
    "SELECT machine_id AS id, owner AS account_id, state, changed_at AS since, "
    "clean_deadline AS until, "
    "CASE WHEN state = 'QUARANTINED' THEN quarantined_by ELSE qualify_reason END AS detail "
    "FROM machines WHERE retired_at IS NULL AND (state = 'QUARANTINED' "
    "OR (state = 'CLEANING' AND changed_at <= $3) OR qualify_state = 'needs_attention')");
const auto stuck_tasks_sql = stuck_ones(
    "SELECT task_id AS id, NULL AS account_id, kind AS state, created_at AS since, NULL AS until, "
    "last_error AS detail FROM tasks WHERE state = 'dead'");
const auto stuck_actions_sql = stuck_ones(
    "SELECT pending_action_id AS id, asked_by AS account_id, state, asked_at AS since, "
    "expires_at AS until, consequence AS detail FROM pending_actions "
    "WHERE state = 'waiting' AND expires_at > $3");
// The erasure of a closed account is due, and something is in it.
const auto stuck_erasures_sql = stuck_ones(
    "SELECT account_id AS id, account_id, 'postponed' AS state, postponed_at AS since, "
    "erase_at AS until, NULL AS detail FROM closed_accounts "
    "WHERE postponed_at IS NOT NULL AND erased_at IS NULL");

// How one row is told.
struct Words {
    StuckKind kind{};
    std::string (*why)(const StuckColumns& row) = nullptr;
    std::string_view help;
};

template <class... Times>
FoundList told(api::Call& call, const db::Query<StuckColumns>& query, const Words& words,
               const After& after, std::int64_t rows_max, const Times&... times) {
    const std::optional<Uuid> from = after ? parse_uuid(*after) : std::nullopt;
    FoundList list;
    for (const StuckColumns& row : call.tx().fetch(query, from, rows_max, times...)) {
        const std::string id = to_string(row.id);
        list.push_back({{words.kind, id, row.account_id, row.state, row.since,
                         redact(words.why(row)), row.until, std::string(words.help)},
                        id});
    }
    return list;
}

// Owners are told of a hold and no more; an operator has to know which.
std::string sentence_of_hold(db::Transaction& tx, const transfers::AdminTransfer& transfer) {
    if (transfer.held_why.value) return "An operator holds it back: " + *transfer.held_why.value;
    if (const auto why = transfers::find_hold(tx)) return "Nothing is signed: " + *why + ".";
    const auto owner = transfer.account_id.value
                           ? accounts::find_record(tx, *transfer.account_id.value)
                           : std::nullopt;
    if (owner && owner->frozen) return "An operator has frozen the account.";
    const auto address = crypto::parse_address(transfer.address.value);
    if (address && block_list::is_blocked(tx, *address)) return "Its address is on the block list.";
    if (address && transfers::is_barred(tx, {transfer.asset, *address}))
        return "Its token refuses the address, which is barred (berth admin payees list).";
    return "The treasury is short of tokens, or a payment to an address of the account is not "
           "decided about.";
}

std::string sentence_of(db::Transaction& tx, const transfers::AdminTransfer& transfer) {
    using transfers::WaitsFor;
    if (!transfer.waits_for.value) return "Nothing keeps it: it leaves with the next round.";
    switch (*transfer.waits_for.value) {
        case WaitsFor::day_cap: return "The cap of the day for all accounts is used up.";
        case WaitsFor::account_cap: return "The cap of the day for this account is used up.";
        case WaitsFor::cooling_off: return "Its address was saved a short while ago.";
        case WaitsFor::payouts_paused: return "Payouts are paused.";
        case WaitsFor::suspended: return "The account is suspended.";
        case WaitsFor::settlement_hold: return sentence_of_hold(tx, transfer);
        case WaitsFor::second_admin: return "It waits for a second admin.";
        case WaitsFor::gas: return "The treasury is short of gas.";
        case WaitsFor::chain:
            return transfer.state == transfers::TransferState::INTENT
                       ? "It was not signed: its token would not take the payment. The token is "
                         "paused, refuses the address (berth admin payees list), or the providers "
                         "do not agree about it."
                       : "It was sent, and the chain does not call it final yet.";
    }
    throw std::logic_error("a transfer waits for something that is known");
}

FoundList stuck_transfers(api::Call& call, const After& after, std::int64_t rows_max) {
    std::optional<transfers::TransferId> from;
    if (after) from = transfers::TransferId{parse_uuid(*after).value()};
    FoundList list;
    for (const transfers::AdminTransfer& one : transfers::list_stuck(call, from, rows_max)) {
        const std::string id = to_string(one.transfer_id);
        list.push_back({{StuckKind::transfer, id, one.account_id, std::string(enum_name(one.state)),
                         one.created_at, sentence_of(call.tx(), one), one.waits_until,
                         one.held_why.value ? "berth admin transfers release, or cancel"
                                            : "berth admin transfers cancel, while it is INTENT"},
                        id});
    }
    return list;
}

FoundList stuck_claims(api::Call& call, const After& after, std::int64_t rows_max) {
    return told(call, stuck_claims_sql,
                {StuckKind::claim,
                 [](const StuckColumns& row) {
                     return "The chain does not show transaction " + row.detail.value_or("") +
                            " as final.";
                 },
                 "Look the transaction up; its owner may claim another one."},
                after, rows_max, call.now - claim_late_after);
}

FoundList stuck_intents(api::Call& call, const After& after, std::int64_t rows_max) {
    return told(call, stuck_intents_sql,
                {StuckKind::intent,
                 [](const StuckColumns& row) {
                     return "Its last claim was refused: " + row.detail.value_or("") + ".";
                 },
                 "berth admin suspense list has the transfer, if the treasury got it."},
                after, rows_max, call.now - funding::claim_window);
}

// A deposit is named by its transaction, so a page goes on by that.
FoundList stuck_deposits(api::Call& call, const After& after, std::int64_t rows_max) {
    std::optional<funding::DepositMark> from;
    if (after) {
        const std::size_t colon = after->find(':');
        from = funding::DepositMark{after->substr(0, colon),
                                    parse_decimal(after->substr(colon + 1)).value_or(0)};
    }
    FoundList list;
    for (const funding::UnclaimedRow& row :
         funding::list_unclaimed(call.tx(), std::nullopt, from, rows_max)) {
        const funding::DepositMark mark{chain::to_string(row.deposit.transaction),
                                        row.deposit.ordinal};
        const bool returning = row.state == funding::UnclaimedState::RETURNING;
        list.push_back(
            {{StuckKind::deposit, to_string(funding::id_of(mark)), std::nullopt,
              std::string(enum_name(row.state)), row.deposit.seen_at,
              fmt::format("{} micro-units of {} from {}: {}", to_string(row.deposit.amount),
                          ledger::name(row.deposit.asset), crypto::checksummed(row.deposit.sender),
                          returning ? "they are on their way back." : "nobody has claimed them."),
              std::nullopt,
              returning ? "berth admin suspense keep, while it was not signed"
                        : "berth admin suspense match, or return"},
             fmt::format("{}:{}", mark.transaction, mark.ordinal)});
    }
    return list;
}

FoundList stuck_rentals(api::Call& call, const After& after, std::int64_t rows_max) {
    return told(call, stuck_rentals_sql,
                {StuckKind::rental,
                 [](const StuckColumns& row) -> std::string {
                     const auto state = parse_enum<rentals::JobState>(row.state).value();
                     if (rentals::is_metered(state))
                         return "Its host was not heard since; the meter stands.";
                     return rentals::is_before_ready(state)
                                ? "Its host has not started it."
                                : "Its host has not said that it stopped.";
                 },
                 "berth admin rentals stop"},
                after, rows_max, call.now - rental_late_after, call.now - host_silent_after);
}

FoundList stuck_machines(api::Call& call, const After& after, std::int64_t rows_max) {
    return told(call, stuck_machines_sql,
                {StuckKind::machine,
                 [](const StuckColumns& row) -> std::string {
                     if (row.state == "QUARANTINED")
                         return "It was put aside: " + row.detail.value_or("nobody said why") + ".";
                     return row.state == "CLEANING"
                                ? "It was not cleaned up after its last rental."
                                : "Its test needs attention: " + row.detail.value_or("") + ".";
                 },
                 "berth admin machines act"},
                after, rows_max, call.now - cleaning_late_after);
}

FoundList stuck_tasks(api::Call& call, const After& after, std::int64_t rows_max) {
    return told(call, stuck_tasks_sql,
                {StuckKind::task,
                 [](const StuckColumns& row) {
                     return "The worker gave it up: " + row.detail.value_or("no error was kept") +
                            ".";
                 },
                 "berth admin tasks retry, or drop"},
                after, rows_max);
}

FoundList stuck_actions(api::Call& call, const After& after, std::int64_t rows_max) {
    return told(call, stuck_actions_sql,
                {StuckKind::pending_action,
                 [](const StuckColumns& row) {
                     return "It waits for a second admin: " + row.detail.value_or("");
                 },
                 "berth admin pending confirm, or refuse"},
                after, rows_max, call.now);
}

FoundList stuck_erasures(api::Call& call, const After& after, std::int64_t rows_max) {
    return told(call, stuck_erasures_sql,
                {StuckKind::erasure,
                 [](const StuckColumns&) -> std::string {
                     return "Its owner wished to be forgotten, and something came to the closed "
                            "account meanwhile.";
                 },
                 "berth admin users closing says what; berth admin users reopen lets it out."},
                after, rows_max);
}

constexpr StuckSource all_sources[] = {
    {StuckKind::transfer, stuck_transfers}, {StuckKind::claim, stuck_claims},
    {StuckKind::intent, stuck_intents},     {StuckKind::deposit, stuck_deposits},
    {StuckKind::rental, stuck_rentals},     {StuckKind::machine, stuck_machines},
    {StuckKind::task, stuck_tasks},         {StuckKind::pending_action, stuck_actions},
    {StuckKind::erasure, stuck_erasures},
};

}  // namespace

std::span<const StuckSource> stuck_sources() { return all_sources; }

FoundCount count_stuck_rentals(api::Call& call, std::int64_t rows_max) {
    return call.tx()
        .fetch_one(count_stuck_rentals_sql, std::optional<Uuid>(), rows_max,
                   call.now - rental_late_after, call.now - host_silent_after)
        .value();
}

}  // namespace berth::admin
