#include <fmt/format.h>

#include "base/problem.hpp"
#include "treasury/treasury.hpp"

namespace berth::treasury {
namespace {

using ledger::Movement;
using ledger::Posted;
using ledger::Report;

constexpr std::array movements{Movement::gas, Movement::fee_take_out, Movement::to_cold,
                               Movement::suspense_return};

constexpr std::string_view payment_sql =
    "SELECT movement, asset, amount FROM treasury_payments WHERE reference = $1";
constexpr std::string_view unbooked_sql =
    "SELECT p.tx_hash FROM treasury_payments p "
    "LEFT JOIN ledger_transactions t ON t.reference = p.reference "
    "WHERE t.transaction_id IS NULL OR t.movement <> p.movement OR t.asset <> p.asset LIMIT 100";
constexpr std::string_view sums_sql =
    "SELECT movement, CAST(SUM(amount) AS BIGINT) FROM treasury_payments WHERE asset = $1 "
    "GROUP BY movement";

}  // namespace

bool PaymentWitness::posts(Movement movement) const {
    return std::find(movements.begin(), movements.end(), movement) != movements.end();
}

void PaymentWitness::check_postings(db::Transaction& tx, std::span<const Posted> postings,
                                    Report& report) const {
    for (const Posted& posted : postings) {
        const auto rows = tx.run(payment_sql, posted.reference);
        report.expect(!rows.empty() &&
                          rows[0].get<std::string>(0) == ledger::name(posted.movement) &&
                          rows[0].get<std::string>(1) == ledger::name(posted.asset) &&
                          rows[0].get<Micro>(2) == posted.amount,
                      posted.name() + ": there is no such payment of the operator");
    }
}

void PaymentWitness::check_rows(db::Transaction& tx, const Scope& scope, Report& report) const {
    const auto unbooked = tx.run(unbooked_sql);
    for (std::size_t i = 0; i < unbooked.size(); ++i)
        report.add(fmt::format("payment {}: is not in the ledger like that",
                               unbooked[i].get<std::string>(0)));
    for (const ledger::Asset asset : ledger::assets) {
        std::map<std::string, Micro> paid;
        const auto sums = tx.run(sums_sql, ledger::name(asset));
        for (std::size_t i = 0; i < sums.size(); ++i)
            paid[sums[i].get<std::string>(0)] = sums[i].get<Micro>(1);
        for (const Movement movement : movements) {
            const Micro rows = paid[std::string(ledger::name(movement))];
            const Micro booked = scope.totals.of(asset, movement);
            report.expect(rows == booked, fmt::format("{} {}: payments make {}, the ledger has {}",
                                                      ledger::name(asset), ledger::name(movement),
                                                      rows.value, booked.value));
        }
    }
}

}  // namespace berth::treasury
