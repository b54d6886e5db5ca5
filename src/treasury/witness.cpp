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
    "FROM treasury_payments WHERE asset = $1 GROUP BY movement) AS sums");

}  // namespace

bool PaymentWitness::posts(Movement movement) const {
    return std::find(movements.begin(), movements.end(), movement) != movements.end();
}

void PaymentWitness::check_postings(db::Transaction& tx, std::span<const Posted> postings,
                                    Report& report) const {
    for (const Posted& posted : postings) {
        const auto payment = tx.fetch_one(payment_sql, posted.reference);
        report.expect(payment && payment->movement == ledger::name(posted.movement) &&
                          payment->asset == ledger::name(posted.asset) &&
                          payment->amount == posted.amount,
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
