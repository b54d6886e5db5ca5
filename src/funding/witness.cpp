#include "funding/witness.hpp"

#include <fmt/format.h>

#include "funding/rows.hpp"

namespace berth::funding {
namespace {

using ledger::Movement;
using ledger::Posted;
using ledger::Report;

constexpr std::string_view deposit_sql =
    "SELECT asset, amount, state, account_id FROM deposits WHERE tx_hash = $1 AND ordinal = $2";
// A claimed deposit was credited to its account in its amount, and confirmed its intent if it has
// one; a match by hand has none.
constexpr std::string_view wrong_claims_sql =
    "SELECT d.tx_hash, d.ordinal FROM deposits d "
    "LEFT JOIN funding_intents i ON i.intent_id = d.intent_id "
    "LEFT JOIN ledger_transactions t "
    "  ON t.reference = 'deposit:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "LEFT JOIN ledger_entries e ON e.transaction_id = t.transaction_id AND e.pocket = 'available' "
    "WHERE d.state = 'CLAIMED' AND d.updated_at >= $1 AND (e.transaction_id IS NULL "
    "  OR e.owner_id <> d.account_id OR e.amount <> d.amount OR e.asset <> d.asset "
    "  OR (d.intent_id IS NOT NULL AND (i.intent_id IS NULL OR i.state <> 'CONFIRMED' "
    "    OR i.amount <> d.amount OR i.asset <> d.asset OR i.claim_tx <> d.tx_hash "
    "    OR i.account_id <> d.account_id))) LIMIT 100";
// One that is in suspense, the operator's own or returned was parked and never credited.
constexpr std::string_view wrong_suspense_sql =
    "SELECT d.tx_hash, d.ordinal FROM deposits d "
    "LEFT JOIN ledger_transactions p "
    "  ON p.reference = 'park:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "LEFT JOIN ledger_entries e ON e.transaction_id = p.transaction_id AND e.pocket = 'suspense' "
    "LEFT JOIN ledger_transactions t "
    "  ON t.reference = 'deposit:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "WHERE d.state <> 'CLAIMED' AND (d.state = 'SUSPENSE' OR d.updated_at >= $1) "
    "AND (e.transaction_id IS NULL OR e.amount <> d.amount OR e.asset <> d.asset "
    "  OR t.transaction_id IS NOT NULL) LIMIT 100";
constexpr std::string_view wrong_confirmations_sql =
    "SELECT i.intent_id FROM funding_intents i LEFT JOIN deposits d ON d.intent_id = i.intent_id "
    "WHERE i.state = 'CONFIRMED' AND i.confirmed_at >= $1 AND d.tx_hash IS NULL LIMIT 100";
constexpr std::string_view sums_sql =
    "SELECT asset, state, CAST(SUM(amount) AS BIGINT) FROM deposits GROUP BY asset, state";

struct DepositName {
    std::string transaction;
    std::int64_t ordinal = 0;
};

// "8453:0x…:0"
std::optional<DepositName> parse_name(std::string_view text) {
    const std::string prefix = std::to_string(wallets::base_chain_id) + ":";
    const std::size_t colon = text.rfind(':');
    if (!text.starts_with(prefix) || colon < prefix.size()) return std::nullopt;
    const auto ordinal = parse_decimal(text.substr(colon + 1));
    if (!ordinal) return std::nullopt;
    return DepositName{std::string(text.substr(prefix.size(), colon - prefix.size())), *ordinal};
}

void check_posting(const Posted& posted, const db::Result& rows, Report& report) {
    if (rows.empty()) return report.add(posted.name() + ": there is no such deposit");
    const auto row = rows[0];
    const auto state = row.get<std::string>(2);
    report.expect(row.get<std::string>(0) == ledger::name(posted.asset) &&
                      row.get<Micro>(1) == posted.amount,
                  posted.name() + ": its deposit has another amount");
    if (posted.movement == Movement::park) return;  // whatever became of it
    if (posted.movement == Movement::suspense_return)
        return report.expect(state == "RETURNED", posted.name() + ": its deposit was not returned");
    if (posted.movement == Movement::top_up || posted.movement == Movement::from_cold)
        return report.expect(state == "OWN", posted.name() + ": its deposit is not the operator's");
    report.expect(state == "CLAIMED" &&
                      row.get<std::optional<AccountId>>(3) == posted.account,
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
        const auto name = parse_name(posted.subject());
        if (!name)
            report.add(posted.name() + ": names no transfer");
        else
            asked.emplace_back(&posted, tx.start(deposit_sql, name->transaction, name->ordinal));
    }
    for (const auto& [posted, ticket] : asked) check_posting(*posted, tx.finish(ticket), report);
}

void DepositWitness::check_rows(db::Transaction& tx, const Scope& scope, Report& report) const {
    const Time since = scope.since.value_or(Time{});
    const auto add = [&](std::string_view sql, std::string_view fault) {
        const auto rows = tx.run(sql, since);
        for (std::size_t i = 0; i < rows.size(); ++i)
            report.add(fmt::format("deposit {} {}: {}", rows[i].get<std::string>(0),
                                   rows[i].get<std::int64_t>(1), fault));
    };
    add(wrong_claims_sql, "is claimed, but not as its intent and the ledger say");
    add(wrong_suspense_sql, "was not claimed, and is not in the ledger like that");
    const auto confirmed = tx.run(wrong_confirmations_sql, since);
    for (std::size_t i = 0; i < confirmed.size(); ++i)
        report.add(fmt::format("intent {}: is confirmed without a deposit",
                               to_string(confirmed[i].get<IntentId>(0))));

    std::array<Micro, ledger::assets.size()> all{};
    std::array<Micro, ledger::assets.size()> parked{};
    const auto sums = tx.run(sums_sql);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto asset = static_cast<std::size_t>(get_asset(sums[i], 0));
        all[asset] += sums[i].get<Micro>(2);
        if (sums[i].get<std::string>(1) == "SUSPENSE") parked[asset] += sums[i].get<Micro>(2);
    }
    for (const ledger::Asset asset : ledger::assets) {
        const auto expect = [&](std::string_view what, Micro rows, Micro booked) {
            report.expect(rows == booked,
                          fmt::format("{} {}: deposits make {}, the ledger has {}",
                                      ledger::name(asset), what, rows.value, booked.value));
        };
        const auto place = static_cast<std::size_t>(asset);
        expect("in suspense", parked[place],
               scope.totals.balance(asset, ledger::Pocket::suspense));
        expect("that came in", all[place],
               scope.totals.of(asset, Movement::deposit) + scope.totals.of(asset, Movement::park));
    }
}

}  // namespace berth::funding
