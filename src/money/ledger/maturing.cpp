#include "ledger/maturing.hpp"

#include <algorithm>

namespace berth::ledger {
namespace {

constexpr std::string_view add_maturing_sql =
    "INSERT INTO ledger_maturing (transaction_id, host_id, asset, job_id, amount, matures_at) "
    "VALUES ($1, $2, $3, $4, $5, $6)";

struct MaturingJob {
    JobId job_id;
    Micro amount;
    Time next;
    Time last;
    Micro charged;
    Micro refunded;
    Micro disputed;
    std::int64_t fee_bps = 0;
};
BOOST_DESCRIBE_STRUCT(MaturingJob, (),
                      (job_id, amount, next, last, charged, refunded, disputed, fee_bps))
const db::Query<MaturingJob> maturing_sql(
    "SELECT {} FROM (SELECT m.job_id, CAST(SUM(m.amount) AS BIGINT) AS amount, "
    "MIN(m.matures_at) AS next, MAX(m.matures_at) AS last, j.charged, j.refunded, j.disputed, "
    "j.fee_bps FROM ledger_maturing m JOIN ledger_jobs j ON j.job_id = m.job_id "
    "WHERE m.host_id = $1 AND m.asset = $2 AND m.matures_at > $3 "
    "GROUP BY m.job_id, j.charged, j.refunded, j.disputed, j.fee_bps) AS jobs");

// Earnings that mature by no row or by a wrong one, and rows that no earning stands behind.
constexpr std::string_view wrong_maturing_sql =
    "SELECT transaction_id FROM (SELECT t.transaction_id FROM ledger_jobs j "
    "JOIN ledger_entries e ON e.job_id = j.job_id AND e.kind = 'host_earning' "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "LEFT JOIN ledger_maturing m ON m.transaction_id = e.transaction_id "
    "WHERE j.payout_delay_hours > 0 AND (m.transaction_id IS NULL OR m.amount <> e.amount "
    "OR m.host_id <> e.owner_id OR m.asset <> e.asset OR m.job_id <> j.job_id "
    "OR m.matures_at < t.at + j.payout_delay_hours * 3600000000) "
    "UNION ALL SELECT m.transaction_id FROM ledger_maturing m "
    "LEFT JOIN ledger_entries e ON e.transaction_id = m.transaction_id "
    "AND e.kind = 'host_earning' LEFT JOIN ledger_jobs j ON j.job_id = m.job_id "
    "WHERE e.transaction_id IS NULL OR j.job_id IS NULL OR (j.payout_delay_hours = 0 "
    "AND (j.credit = 0 OR m.amount <> e.amount OR m.host_id <> e.owner_id "
    "OR m.asset <> e.asset OR m.job_id <> e.job_id))) AS wrong "
    "LIMIT $1";
// Jobs of whose credit the host's share, as ledger.cpp splits a charge, does not mature for 30
// days. The share is computed in two steps because the product may be above 64 bits.
static_assert(credit_delay_hours == 720);
constexpr std::string_view soon_matured_sql =
    "SELECT job_id FROM (SELECT j.job_id, j.fee_bps, "
    "CASE WHEN j.credit < j.charged THEN j.credit ELSE j.charged END AS paid, "
    "(SELECT COALESCE(SUM(m.amount), 0) FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "JOIN ledger_maturing m ON m.transaction_id = e.transaction_id "
    "WHERE e.job_id = j.job_id AND e.kind = 'host_earning' "
    "AND m.matures_at >= t.at + 720 * 3600000000) AS matures "
    "FROM ledger_jobs j WHERE j.credit > 0 AND j.charged > 0) AS jobs "
    "WHERE matures < paid - paid / 10000 * fee_bps - paid % 10000 * fee_bps / 10000 LIMIT $1";

Micro left_of(const MaturingJob& job) {
    const auto hosts_share = [&](Micro charge) {
        return charge - scale_floor(charge, {job.fee_bps, 10'000});
    };
    const Micro kept = hosts_share(job.charged) - hosts_share(job.refunded) - job.disputed;
    return std::clamp(kept, Micro{}, job.amount);
}

}  // namespace

void let_mature(Context context, const Earning& earning) {
    if (earning.delay_hours == 0 || earning.amount == Micro{}) return;
    context.tx.start(add_maturing_sql, earning.transaction, earning.host, earning.asset,
                     earning.job, earning.amount,
                     earning.since + std::chrono::hours(earning.delay_hours));
}

Maturing maturing(db::Transaction& tx, AccountId host, Asset asset, Time now) {
    Maturing all;
    for (const MaturingJob& job : tx.fetch(maturing_sql, host, asset, now)) {
        const Micro left = left_of(job);
        if (left == Micro{}) continue;
        all.amount += left;
        all.next = std::min(all.next.value_or(job.next), job.next);
        all.last = std::max(all.last.value_or(job.last), job.last);
    }
    return all;
}

std::vector<std::string> find_wrong_maturing(db::Transaction& tx, std::int64_t rows_max) {
    std::vector<std::string> wrong;
    for (const TransactionId id : tx.fetch_values<TransactionId>(wrong_maturing_sql, rows_max))
        wrong.push_back("transaction " + to_string(id) +
                        ": its earning does not mature as its job says");
    for (const JobId id : tx.fetch_values<JobId>(soon_matured_sql, rows_max))
        wrong.push_back("job " + to_string(id) +
                        ": what the host earned by a credit does not mature for 30 days");
    return wrong;
}

}  // namespace berth::ledger
