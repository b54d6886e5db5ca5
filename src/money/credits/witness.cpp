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
// What is left of a campaign's credits is what was redeemed, less what expired and what jobs took.
constexpr std::string_view wrong_campaigns_sql =
    "SELECT p.campaign_id FROM campaigns p LEFT JOIN (SELECT c.campaign_id, "
    "SUM(c.amount) AS amount, SUM(c.remaining) AS remaining, SUM(COALESCE(u.used, 0)) AS used "
    "FROM credits c LEFT JOIN (SELECT credit_id, SUM(taken - given_back) AS used "
    "FROM credit_uses GROUP BY credit_id) AS u ON u.credit_id = c.credit_id "
    "GROUP BY c.campaign_id) AS s ON s.campaign_id = p.campaign_id "
    "WHERE COALESCE(s.amount, 0) <> p.redeemed OR COALESCE(s.remaining, 0) <> p.redeemed "
    "- (p.returned - CASE WHEN p.state = 'closed' THEN p.total - p.redeemed ELSE 0 END) "
    "- COALESCE(s.used, 0) LIMIT $1";
constexpr std::string_view wrong_credits_sql =
    "SELECT c.credit_id FROM credits c LEFT JOIN campaigns p ON p.campaign_id = c.campaign_id "
    "LEFT JOIN (SELECT credit_id, SUM(taken - given_back) AS used FROM credit_uses "
    "GROUP BY credit_id) AS u ON u.credit_id = c.credit_id WHERE p.campaign_id IS NULL "
    "OR c.asset <> p.asset OR c.remaining > c.amount - COALESCE(u.used, 0) LIMIT $1";
// What was taken for a job is what the ledger holds for it; what came back is what a job that is
// over did not spend, and what was refunded beyond what its renter had paid.
constexpr std::string_view wrong_jobs_sql =
    "SELECT job_id FROM (SELECT job_id, credit AS taken, "
    "CASE WHEN closed = 1 THEN credit - spent ELSE 0 END "
    "+ CASE WHEN refunded > charged - spent THEN refunded - charged + spent ELSE 0 END "
    "AS given_back FROM (SELECT job_id, credit, charged, refunded, closed, "
    "CASE WHEN credit < charged THEN credit ELSE charged END AS spent "
    "FROM ledger_jobs WHERE credit > 0) AS jobs "
    "UNION ALL SELECT job_id, -taken, -given_back FROM credit_uses) AS both_sides "
    "GROUP BY job_id HAVING SUM(taken) <> 0 OR SUM(given_back) <> 0 LIMIT $1";

constexpr auto told_max = static_cast<std::int64_t>(ledger::faults_max);

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
    if (!scope.adds_up) return;
    for (const CampaignId id : tx.fetch_values<CampaignId>(wrong_campaigns_sql, told_max))
        report.expect(false, "campaign", id, ": its credits are not what was redeemed of it");
    for (const CreditId id : tx.fetch_values<CreditId>(wrong_credits_sql, told_max))
        report.expect(false, "credit", id, ": more is left than its uses leave");
    for (const JobId id : tx.fetch_values<JobId>(wrong_jobs_sql, told_max))
        report.expect(false, "job", id, ": its credits are not what the ledger holds for it");
}

}  // namespace berth::credits
