#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "credits/credits.hpp"

namespace berth::credits {
namespace {

using ledger::Movement;

constexpr std::array witnessed{Movement::campaign_fund, Movement::campaign_end};

constexpr std::string_view knows_campaign_sql =
    "SELECT COUNT(*) FROM campaigns WHERE campaign_id = $1 AND asset = $2";
struct CampaignSums {
    Micro total;
    Micro returned;
};
BOOST_DESCRIBE_STRUCT(CampaignSums, (), (total, returned))
const db::Query<CampaignSums> campaign_sums_sql(
    "SELECT {} FROM (SELECT CAST(COALESCE(SUM(total), 0) AS BIGINT) AS total, "
    "CAST(COALESCE(SUM(returned), 0) AS BIGINT) AS returned FROM campaigns WHERE asset = $1) "
    "AS sums");
struct UseSums {
    Micro taken;
    Micro given_back;
};
BOOST_DESCRIBE_STRUCT(UseSums, (), (taken, given_back))
const db::Query<UseSums> use_sums_sql(
    "SELECT {} FROM (SELECT CAST(COALESCE(SUM(taken), 0) AS BIGINT) AS taken, "
    "CAST(COALESCE(SUM(given_back), 0) AS BIGINT) AS given_back FROM credit_uses "
    "WHERE asset = $1) AS sums");

}  // namespace

bool CreditWitness::posts(Movement movement) const {
    return std::find(witnessed.begin(), witnessed.end(), movement) != witnessed.end();
}

void CreditWitness::check_postings(db::Transaction& tx, std::span<const ledger::Posted> postings,
                                   ledger::Report& report) const {
    for (const ledger::Posted& posted : postings) {
        const std::string_view subject = posted.subject();
        const auto id = parse_uuid(subject.substr(0, subject.find(':')));
        const bool known =
            id && tx.fetch_value<std::int64_t>(knows_campaign_sql, *id, posted.asset).value() == 1;
        report.expect(known, posted.name() + ": there is no such campaign");
    }
}

void CreditWitness::check_rows(db::Transaction& tx, const Scope& scope,
                               ledger::Report& report) const {
    for (const Asset asset : ledger::assets) {
        const auto expect = [&](std::string_view what, Micro rows, Micro booked) {
            report.expect(rows == booked,
                          fmt::format("{} {}: the rows make {}, the ledger has {}",
                                      ledger::name(asset), what, rows.value, booked.value));
        };
        const auto of = [&](Movement movement) { return scope.totals.of(asset, movement); };
        const CampaignSums campaigns = tx.fetch_one(campaign_sums_sql, asset).value();
        const UseSums uses = tx.fetch_one(use_sums_sql, asset).value();
        expect("campaigns", campaigns.total, of(Movement::campaign_fund));
        expect("ended campaigns", campaigns.returned, of(Movement::campaign_end));
        expect("credits of jobs", uses.taken, of(Movement::credit_hold));
        expect("credits that came back", uses.given_back,
               of(Movement::credit_release) + of(Movement::credit_refund));
        expect("promotions", campaigns.total - campaigns.returned - uses.taken + uses.given_back,
               scope.totals.balance(asset, ledger::Pocket::promotions));
    }
}

}  // namespace berth::credits
