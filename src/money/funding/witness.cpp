#include "funding/witness.hpp"

#include <fmt/format.h>

#include "funding/suspense.hpp"

namespace berth::funding {
namespace {

using ledger::Movement;
using ledger::Posted;
using ledger::Report;

// Words of the tables are compared as they stand: one that is none of ours is a fault to tell of.
struct Known {
    std::string asset;
    Micro amount;
    std::string state;
    std::optional<AccountId> account_id;
};
BOOST_DESCRIBE_STRUCT(Known, (), (asset, amount, state, account_id))
const db::Query<Known> deposit_sql("SELECT {} FROM deposits WHERE tx_hash = $1 AND ordinal = $2");

struct DepositName {
    std::string tx_hash;
    std::int64_t ordinal = 0;
};
BOOST_DESCRIBE_STRUCT(DepositName, (), (tx_hash, ordinal))
// A claimed deposit was credited to its account in its amount, and confirmed its intent if it has
// one; a match by hand has none.
const db::Query<DepositName> wrong_claims_sql(
    "SELECT {d.} FROM deposits d "
    "LEFT JOIN funding_intents i ON i.intent_id = d.intent_id "
    "LEFT JOIN ledger_transactions t "
    "  ON t.reference = 'deposit:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "LEFT JOIN ledger_entries e ON e.transaction_id = t.transaction_id AND e.pocket = 'available' "
    "WHERE d.state = 'CLAIMED' AND d.updated_at >= $1 AND (e.transaction_id IS NULL "
    "  OR e.owner_id <> d.account_id OR e.amount <> d.amount OR e.asset <> d.asset "
    "  OR (d.intent_id IS NOT NULL AND (i.intent_id IS NULL OR i.state <> 'CONFIRMED' "
    "    OR i.amount <> d.amount OR i.asset <> d.asset OR i.claim_tx <> d.tx_hash "
    "    OR i.account_id <> d.account_id))) LIMIT 100");
// One that is in suspense, the operator's own or returned was parked and never credited.
const db::Query<DepositName> wrong_suspense_sql(
    "SELECT {d.} FROM deposits d "
    "LEFT JOIN ledger_transactions p "
    "  ON p.reference = 'park:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "LEFT JOIN ledger_entries e ON e.transaction_id = p.transaction_id AND e.pocket = 'suspense' "
    "LEFT JOIN ledger_transactions t "
    "  ON t.reference = 'deposit:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "WHERE d.state <> 'CLAIMED' AND (d.state IN ('SUSPENSE', 'RETURNING') OR d.updated_at >= $1) "
    "AND (e.transaction_id IS NULL OR e.amount <> d.amount OR e.asset <> d.asset "
    "  OR t.transaction_id IS NOT NULL) LIMIT 100");
constexpr std::string_view wrong_confirmations_sql =
    "SELECT i.intent_id FROM funding_intents i LEFT JOIN deposits d ON d.intent_id = i.intent_id "
    "WHERE i.state = 'CONFIRMED' AND i.confirmed_at >= $1 AND d.tx_hash IS NULL LIMIT 100";
struct DepositSum {
    Asset asset{};
    std::string state;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(DepositSum, (), (asset, state, amount))
const db::Query<DepositSum> sums_sql(
    "SELECT {} FROM (SELECT asset, state, CAST(SUM(amount) AS BIGINT) AS amount FROM deposits "
    "GROUP BY asset, state) AS sums");
const db::Query<DepositSum> parked_sums_sql(
    "SELECT {} FROM (SELECT asset, state, CAST(SUM(amount) AS BIGINT) AS amount FROM deposits "
    "WHERE state <> 'CLAIMED' AND state IN ('SUSPENSE', 'RETURNING') "
    "GROUP BY asset, state) AS sums");

void check_posting(const Posted& posted, const std::optional<Known>& deposit, Report& report) {
    if (!deposit) return report.add(posted.name() + ": there is no such deposit");
    const std::string& state = deposit->state;
    report.expect(deposit->asset == ledger::name(posted.asset) && deposit->amount == posted.amount,
                  posted.name() + ": its deposit has another amount");
    if (posted.movement == Movement::park) return;  // whatever became of it
    if (posted.movement == Movement::suspense_return)
        return report.expect(state == "RETURNED", posted.name() + ": its deposit was not returned");
    if (posted.movement == Movement::top_up || posted.movement == Movement::from_cold)
        return report.expect(state == "OWN", posted.name() + ": its deposit is not the operator's");
    report.expect(state == "CLAIMED" && deposit->account_id == posted.account,
                  posted.name() + ": its deposit is another account's, or nobody's");
}

}  // namespace

bool DepositWitness::posts(Movement movement) const {
    return movement == Movement::deposit || movement == Movement::park ||
           movement == Movement::match || movement == Movement::top_up ||
           movement == Movement::from_cold || movement == Movement::suspense_return;
}

void DepositWitness::check_postings(db::Transaction& tx, std::span<const Posted> postings,
                                    Report& report) const {
    std::vector<std::pair<const Posted*, db::Transaction::Ticket>> asked;
    for (const Posted& posted : postings) {
        const auto name = parse_reference(posted.subject());
        if (!name)
            report.add(posted.name() + ": names no transfer");
        else
            asked.emplace_back(&posted,
                               tx.start(deposit_sql.sql(), name->transaction, name->ordinal));
    }
    for (const auto& [posted, ticket] : asked)
        check_posting(*posted, deposit_sql.row(tx.finish(ticket)), report);
}

void DepositWitness::check_rows(db::Transaction& tx, const Scope& scope, Report& report) const {
    const Time since = scope.since.value_or(Time{});
    const auto add = [&](const db::Query<DepositName>& query, std::string_view fault) {
        for (const DepositName& deposit : tx.fetch(query, since))
            report.add(fmt::format("deposit {} {}: {}", deposit.tx_hash, deposit.ordinal, fault));
    };
    add(wrong_claims_sql, "is claimed, but not as its intent and the ledger say");
    add(wrong_suspense_sql, "was not claimed, and is not in the ledger like that");
    for (const IntentId id : tx.fetch_values<IntentId>(wrong_confirmations_sql, since))
        report.add(fmt::format("intent {}: is confirmed without a deposit", to_string(id)));

    std::array<Micro, ledger::assets.size()> all{};
    std::array<Micro, ledger::assets.size()> parked{};
    for (const DepositSum& sum : tx.fetch(scope.adds_up ? sums_sql : parked_sums_sql)) {
        const auto asset = static_cast<std::size_t>(sum.asset);
        all[asset] += sum.amount;
        if (sum.state == "SUSPENSE" || sum.state == "RETURNING") parked[asset] += sum.amount;
        if (sum.state == "RETURNING") report.leaving_suspense[asset] += sum.amount;
    }
    for (const ledger::Asset asset : ledger::assets) {
        const auto expect = [&](std::string_view what, Micro rows, Micro booked) {
            report.expect(rows == booked,
                          fmt::format("{} {}: deposits make {}, the ledger has {}",
                                      ledger::name(asset), what, rows.value, booked.value));
        };
        const auto place = static_cast<std::size_t>(asset);
        expect("in suspense", parked[place], scope.totals.balance(asset, ledger::Pocket::suspense));
        if (!scope.adds_up) continue;
        expect("that came in", all[place],
               scope.totals.of(asset, Movement::deposit) + scope.totals.of(asset, Movement::park));
    }
}

}  // namespace berth::funding
