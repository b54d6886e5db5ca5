#include "ledger/days.hpp"

#include <fmt/format.h>

namespace berth::ledger {
namespace {

constexpr std::string_view count_sql =
    "INSERT INTO ledger_days (subject_id, asset, day, kind, amount, jobs) "
    "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (subject_id, asset, day, kind) DO UPDATE "
    "SET amount = ledger_days.amount + $5, jobs = ledger_days.jobs + $6";

// What happened of one kind on one day.
struct DayRow {
    std::int64_t day = 0;
    Kind kind{};
    Micro amount;
    std::int64_t jobs = 0;
};
BOOST_DESCRIBE_STRUCT(DayRow, (), (day, kind, amount, jobs))

const db::Query<DayRow> days_sql(
    "SELECT {} FROM ledger_days WHERE subject_id = $1 AND asset = $2 AND day >= $3 AND day <= $4");

// As it stands there: what is wrong need be no word of ours.
struct WrongDay {
    Uuid subject_id;
    std::string asset;
    std::optional<std::int64_t> day = {};
    std::string kind;
};
BOOST_DESCRIBE_STRUCT(WrongDay, (), (subject_id, asset, day, kind))

// Sums that no row of ledger_days says, and rows that no entries add up to.
const db::Query<WrongDay> wrong_days_sql(
    "SELECT {} FROM ("
    "SELECT subject_id, asset, day, kind, CAST(SUM(amount) AS BIGINT) AS amount FROM ("
    "SELECT party_id AS subject_id, asset, day, kind, amount FROM ledger_entries "
    "WHERE party_id IS NOT NULL UNION ALL "
    "SELECT machine_id AS subject_id, asset, day, kind, amount FROM ledger_entries "
    "WHERE machine_id IS NOT NULL AND kind IN ('host_earning', 'refund_host_reversal', "
    "'platform_fee', 'refund_fee_reversal') UNION ALL "
    "SELECT subject_id, asset, day, kind, -amount AS amount FROM ledger_days) AS both_sides "
    "GROUP BY subject_id, asset, day, kind HAVING SUM(amount) <> 0) AS wrong "
    "ORDER BY subject_id, asset, day, kind LIMIT $1");

// Whether the machine of the job has a part in it; what the renter pays is not its earning.
bool is_of_machine(Kind kind) {
    return kind == Kind::host_earning || kind == Kind::refund_host_reversal ||
           kind == Kind::platform_fee || kind == Kind::refund_fee_reversal;
}

std::vector<DayEarnings> series_of(const std::vector<DayRow>& rows, const Days& days) {
    std::vector<DayEarnings> series;
    for (std::int64_t day = days.first; day <= days.last; ++day) series.push_back({.day = day});
    for (const DayRow& row : rows) {
        DayEarnings& day = series[static_cast<std::size_t>(row.day - days.first)];
        switch (row.kind) {
            case Kind::host_earning:
                day.earned += row.amount;
                day.rentals = row.jobs;
                break;
            case Kind::refund_host_reversal: day.earned += row.amount; break;
            case Kind::platform_fee:
            case Kind::refund_fee_reversal: day.fee += row.amount; break;
            case Kind::payout_settled:
                day.paid -= row.amount;  // a debit of the host's reserved money
                break;
            default: break;
        }
    }
    return series;
}

}  // namespace

void count_days(db::Transaction& tx, const Posting& posting, const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
        if (!entry.party) continue;
        const bool new_job = posting.first_of_day && entry.kind == Kind::host_earning;
        const auto count = [&](const auto& subject) {
            tx.start(count_sql, subject, posting.asset, day_of(entry.at), entry.kind, entry.amount,
                     new_job ? 1 : 0);
        };
        count(*entry.party);
        if (entry.machine && is_of_machine(entry.kind)) count(*entry.machine);
    }
}

std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, AccountId host, Asset asset,
                                         const Days& days) {
    return series_of(tx.fetch(days_sql, host, asset, days.first, days.last), days);
}

std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, MachineId machine, Asset asset,
                                         const Days& days) {
    return series_of(tx.fetch(days_sql, machine, asset, days.first, days.last), days);
}

Micro spent(db::Transaction& tx, AccountId renter, Asset asset, const Days& days) {
    Micro sum;
    for (const DayRow& row : tx.fetch(days_sql, renter, asset, days.first, days.last))
        if (row.kind == Kind::job_charge || row.kind == Kind::refund ||
            row.kind == Kind::credit_refund)
            sum -= row.amount;
    return sum;
}

std::vector<std::string> find_wrong_days(db::Transaction& tx, std::int64_t rows_max) {
    std::vector<std::string> wrong;
    for (const WrongDay& row : tx.fetch(wrong_days_sql, rows_max))
        wrong.push_back(fmt::format("day {} of {} {}: its {} is not what the entries add up to",
                                    row.day.value_or(0), to_string(row.subject_id), row.asset,
                                    row.kind));
    return wrong;
}

}  // namespace berth::ledger
