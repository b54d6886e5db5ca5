#include "ledger/statement.hpp"

namespace berth::ledger {
namespace {

struct EntryRow {
    TransactionId transaction_id;
    std::int64_t ordinal = 0;
    AccountId owner_id;
    Asset asset{};
    Pocket pocket{};
    Kind kind{};
    Micro amount;
    std::string reference;
    Time at;
    std::optional<JobId> job_id = {};
};
BOOST_DESCRIBE_STRUCT(EntryRow, (), (transaction_id, ordinal, owner_id, asset, pocket, kind, amount,
                                     reference, at, job_id))

const db::Query<EntryRow> statement_sql(
    "SELECT {} FROM (SELECT e.transaction_id, e.ordinal, e.owner_id, e.asset, e.pocket, e.kind, "
    "e.amount, t.reference, t.at, e.job_id FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "WHERE e.owner_id = $1 AND (e.transaction_id, e.ordinal) < ($2, $3) "
    "ORDER BY e.transaction_id DESC, e.ordinal DESC LIMIT $4) AS entries "
    "ORDER BY transaction_id DESC, ordinal DESC");
const db::Query<EntryRow> job_entries_sql(
    "SELECT {} FROM (SELECT e.transaction_id, e.ordinal, e.owner_id, e.asset, e.pocket, e.kind, "
    "e.amount, t.reference, t.at, e.job_id FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "WHERE e.job_id = $1 ORDER BY e.transaction_id, e.ordinal LIMIT $2) AS entries "
    "ORDER BY transaction_id, ordinal");

// What happened of one kind on one day.
struct DayRow {
    std::int64_t day = 0;
    Kind kind{};
    Micro sum;
    std::int64_t jobs = 0;
};
BOOST_DESCRIBE_STRUCT(DayRow, (), (day, kind, sum, jobs))

const db::Query<DayRow> party_days_sql(
    "SELECT {} FROM (SELECT day, kind, CAST(SUM(amount) AS BIGINT) AS sum, "
    "COUNT(DISTINCT job_id) AS jobs FROM ledger_entries "
    "WHERE party_id = $1 AND asset = $2 AND day >= $3 AND day <= $4 GROUP BY day, kind) AS days");
const db::Query<DayRow> machine_days_sql(
    "SELECT {} FROM (SELECT day, kind, CAST(SUM(amount) AS BIGINT) AS sum, "
    "COUNT(DISTINCT job_id) AS jobs FROM ledger_entries "
    "WHERE machine_id = $1 AND asset = $2 AND day >= $3 AND day <= $4 GROUP BY day, kind) AS days");

constexpr std::string_view machine_owner_sql =
    "SELECT party_id FROM ledger_entries WHERE machine_id = $1 AND kind = 'host_earning' "
    "ORDER BY day DESC LIMIT 1";

std::vector<Entry> entries_of(std::vector<EntryRow> rows) {
    std::vector<Entry> entries;
    for (EntryRow& row : rows)
        entries.push_back({.transaction = row.transaction_id,
                           .ordinal = row.ordinal,
                           .owner = row.owner_id,
                           .asset = row.asset,
                           .pocket = row.pocket,
                           .kind = row.kind,
                           .amount = row.amount,
                           .reference = std::move(row.reference),
                           .at = row.at,
                           .job = row.job_id});
    return entries;
}

std::vector<DayEarnings> series_of(const std::vector<DayRow>& rows, const Days& days) {
    std::vector<DayEarnings> series;
    for (std::int64_t day = days.first; day <= days.last; ++day) series.push_back({.day = day});
    for (const DayRow& row : rows) {
        DayEarnings& day = series[static_cast<std::size_t>(row.day - days.first)];
        switch (row.kind) {
            case Kind::host_earning:
                day.earned += row.sum;
                day.rentals = row.jobs;
                break;
            case Kind::refund_host_reversal:
                day.earned += row.sum;
                break;
            case Kind::platform_fee:
            case Kind::refund_fee_reversal:
                day.fee += row.sum;
                break;
            case Kind::payout_settled:
                day.paid -= row.sum;  // a debit of the host's reserved money
                break;
            default:
                break;
        }
    }
    return series;
}

}  // namespace

std::vector<Entry> statement(db::Transaction& tx, AccountId account,
                             const std::optional<Mark>& before, std::int64_t rows_max) {
    TransactionId last;
    last.uuid.bytes.fill('\xff');
    const Mark mark = before.value_or(Mark{last, 0});
    return entries_of(
        tx.fetch(statement_sql, account, mark.transaction, mark.ordinal, rows_max));
}

std::vector<Entry> entries_of(db::Transaction& tx, JobId job, std::int64_t rows_max) {
    return entries_of(tx.fetch(job_entries_sql, job, rows_max));
}

std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, AccountId host, Asset asset,
                                         const Days& days) {
    return series_of(tx.fetch(party_days_sql, host, asset, days.first, days.last), days);
}

std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, MachineId machine, Asset asset,
                                         const Days& days) {
    return series_of(tx.fetch(machine_days_sql, machine, asset, days.first, days.last), days);
}

std::optional<AccountId> find_machine_owner(db::Transaction& tx, MachineId machine) {
    return tx.fetch_value<AccountId>(machine_owner_sql, machine);
}

Micro spent(db::Transaction& tx, AccountId renter, Asset asset, const Days& days) {
    Micro sum;
    for (const DayRow& row : tx.fetch(party_days_sql, renter, asset, days.first, days.last))
        if (row.kind == Kind::job_charge || row.kind == Kind::refund) sum -= row.sum;
    return sum;
}

}  // namespace berth::ledger
