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

struct Payment {
    std::string movement;
    std::string asset;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(Payment, (), (movement, asset, amount))
const db::Query<Payment> payment_sql("SELECT {} FROM treasury_payments WHERE reference = $1");
// What the settler sent back.
const db::Query<Payment> return_sql(
    "SELECT {} FROM (SELECT 'suspense_return' AS movement, asset, amount FROM transfers "
    "WHERE deposit_tx = $1 AND deposit_ordinal = $2 AND kind = 'return' "
    "AND state IN ('INTENT', 'SUBMITTED', 'SETTLED') AND state = 'SETTLED') AS returns");
constexpr std::string_view unbooked_sql =
    "SELECT p.tx_hash FROM treasury_payments p "
    "LEFT JOIN ledger_transactions t ON t.reference = p.reference "
    "WHERE t.transaction_id IS NULL OR t.movement <> p.movement OR t.asset <> p.asset LIMIT 100";
struct PaidSum {
    std::string movement;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(PaidSum, (), (movement, amount))
const db::Query<PaidSum> sums_sql(
    "SELECT {} FROM (SELECT movement, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM (SELECT movement, amount FROM treasury_payments WHERE asset = $1 "
    "UNION ALL SELECT 'suspense_return', amount FROM transfers WHERE asset = $1 "
    "AND kind = 'return' AND state IN ('INTENT', 'SUBMITTED', 'SETTLED') AND state = 'SETTLED') "
    "AS paid GROUP BY movement) AS sums");

}  // namespace

bool PaymentWitness::posts(Movement movement) const {
    return std::find(movements.begin(), movements.end(), movement) != movements.end();
}

void PaymentWitness::check_postings(db::Transaction& tx, std::span<const Posted> postings,
                                    Report& report) const {
    for (const Posted& posted : postings) {
        auto paid = tx.fetch(payment_sql, posted.reference);
        const auto deposit = funding::parse_reference(posted.subject());
        if (posted.movement == Movement::suspense_return && deposit)
            for (auto& sent : tx.fetch(return_sql, deposit->transaction, deposit->ordinal))
                paid.push_back(std::move(sent));
        report.expect(paid.size() == 1 && paid[0].movement == ledger::name(posted.movement) &&
                          paid[0].asset == ledger::name(posted.asset) &&
                          paid[0].amount == posted.amount,
                      posted.name() + ": there is no such payment of the operator");
    }
}

void PaymentWitness::check_rows(db::Transaction& tx, const Scope& scope, Report& report) const {
    for (const std::string& hash : tx.fetch_values<std::string>(unbooked_sql))
        report.add(fmt::format("payment {}: is not in the ledger like that", hash));
    for (const ledger::Asset asset : ledger::assets) {
        std::map<std::string, Micro> paid;
        for (const PaidSum& sum : tx.fetch(sums_sql, asset)) paid[sum.movement] = sum.amount;
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
