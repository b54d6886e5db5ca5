#include "ledger/statement.hpp"

#include "ledger/rows.hpp"

namespace berth::ledger {
namespace {

constexpr std::string_view statement_sql =
    "SELECT e.transaction_id, e.ordinal, e.owner_id, e.asset, e.pocket, e.kind, e.amount, "
    "t.reference, t.at, e.job_id FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "WHERE e.owner_id = $1 AND (e.transaction_id, e.ordinal) < ($2, $3) "
    "ORDER BY e.transaction_id DESC, e.ordinal DESC LIMIT $4";
constexpr std::string_view job_entries_sql =
    "SELECT e.transaction_id, e.ordinal, e.owner_id, e.asset, e.pocket, e.kind, e.amount, "
    "t.reference, t.at, e.job_id FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "WHERE e.job_id = $1 ORDER BY e.transaction_id, e.ordinal LIMIT $2";
constexpr std::string_view party_days_sql =
    "SELECT day, kind, CAST(SUM(amount) AS BIGINT), COUNT(DISTINCT job_id) FROM ledger_entries "
    "WHERE party_id = $1 AND asset = $2 AND day >= $3 AND day <= $4 GROUP BY day, kind";
constexpr std::string_view machine_days_sql =
    "SELECT day, kind, CAST(SUM(amount) AS BIGINT), COUNT(DISTINCT job_id) FROM ledger_entries "
    "WHERE machine_id = $1 AND asset = $2 AND day >= $3 AND day <= $4 GROUP BY day, kind";

constexpr std::string_view machine_owner_sql =
    "SELECT party_id FROM ledger_entries WHERE machine_id = $1 AND kind = 'host_earning' "
    "ORDER BY day DESC LIMIT 1";

std::vector<Entry> read_entries(const db::Result& rows) {
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = rows[i];
        Entry entry;
        entry.transaction = row.get<TransactionId>(0);
        entry.ordinal = row.get<std::int64_t>(1);
        entry.owner = row.get<AccountId>(2);
        entry.asset = get_asset(row, 3);
        entry.pocket = get_pocket(row, 4);
        entry.kind = get_kind(row, 5);
        entry.amount = row.get<Micro>(6);
        entry.reference = row.get<std::string>(7);
        entry.at = row.get<Time>(8);
        entry.job = row.get<std::optional<JobId>>(9);
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::vector<DayEarnings> read_days(const db::Result& rows, const Days& days) {
    std::vector<DayEarnings> series;
    for (std::int64_t day = days.first; day <= days.last; ++day) series.push_back({day, {}, {}, {}, 0});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = rows[i];
        DayEarnings& day = series[static_cast<std::size_t>(row.get<std::int64_t>(0) - days.first)];
        const auto sum = row.get<Micro>(2);
        switch (get_kind(row, 1)) {
            case Kind::host_earning:
                day.earned += sum;
                day.rentals = row.get<std::int64_t>(3);
                break;
            case Kind::refund_host_reversal:
                day.earned += sum;
                break;
            case Kind::platform_fee:
            case Kind::refund_fee_reversal:
                day.fee += sum;
                break;
            case Kind::payout_settled:
                day.paid -= sum;  // a debit of the host's reserved money
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
    return read_entries(tx.run(statement_sql, account, mark.transaction, mark.ordinal, rows_max));
}

std::vector<Entry> entries_of(db::Transaction& tx, JobId job, std::int64_t rows_max) {
    return read_entries(tx.run(job_entries_sql, job, rows_max));
}

std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, AccountId host, Asset asset,
                                         const Days& days) {
    return read_days(tx.run(party_days_sql, host, name(asset), days.first, days.last), days);
}

std::vector<DayEarnings> earnings_by_day(db::Transaction& tx, MachineId machine, Asset asset,
                                         const Days& days) {
    return read_days(tx.run(machine_days_sql, machine, name(asset), days.first, days.last), days);
}

std::optional<AccountId> find_machine_owner(db::Transaction& tx, MachineId machine) {
    const auto rows = tx.run(machine_owner_sql, machine);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<AccountId>(0));
}

Micro spent(db::Transaction& tx, AccountId renter, Asset asset, const Days& days) {
    const auto rows = tx.run(party_days_sql, renter, name(asset), days.first, days.last);
    Micro sum;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Kind kind = get_kind(rows[i], 1);
        if (kind == Kind::job_charge || kind == Kind::refund) sum -= rows[i].get<Micro>(2);
    }
    return sum;
}

}  // namespace berth::ledger
