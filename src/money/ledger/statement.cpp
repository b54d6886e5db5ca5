#include "ledger/statement.hpp"

#include <limits>

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
    std::optional<std::int64_t> place = {};
};
BOOST_DESCRIBE_STRUCT(EntryRow, (),
                      (transaction_id, ordinal, owner_id, asset, pocket, kind, amount, reference,
                       at, job_id, place))

const db::Query<EntryRow> statement_sql(
    "SELECT {} FROM (SELECT e.transaction_id, e.ordinal, e.owner_id, e.asset, e.pocket, e.kind, "
    "e.amount, t.reference, t.at, e.job_id, e.place FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "WHERE e.owner_id = $1 AND e.asset = $2 AND e.place < $3 "
    "ORDER BY e.place DESC LIMIT $4) AS entries ORDER BY place DESC");
const db::Query<EntryRow> job_entries_sql(
    "SELECT {} FROM (SELECT e.transaction_id, e.ordinal, e.owner_id, e.asset, e.pocket, e.kind, "
    "e.amount, t.reference, t.at, e.job_id, e.place FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "WHERE e.job_id = $1 ORDER BY e.transaction_id, e.ordinal LIMIT $2) AS entries "
    "ORDER BY transaction_id, ordinal");

Entry entry_of(EntryRow row) {
    return {.transaction = row.transaction_id,
            .ordinal = row.ordinal,
            .owner = row.owner_id,
            .asset = row.asset,
            .pocket = row.pocket,
            .kind = row.kind,
            .amount = row.amount,
            .reference = std::move(row.reference),
            .at = row.at,
            .job = row.job_id};
}

}  // namespace

// Each asset has an order of its own; the two are laid into each other by time.
std::vector<StatementLine> statement(db::Transaction& tx, AccountId account,
                                     const std::optional<Mark>& before, std::int64_t rows_max) {
    Mark mark = before.value_or(Mark{});
    if (!before) mark.places.fill(std::numeric_limits<std::int64_t>::max());
    std::array<db::Transaction::Ticket, assets.size()> tickets{};
    for (std::size_t i = 0; i < assets.size(); ++i)
        tickets[i] = tx.start(statement_sql.sql(), account, assets[i], mark.places[i], rows_max);
    std::array<std::vector<EntryRow>, assets.size()> rows;
    for (std::size_t i = 0; i < assets.size(); ++i)
        rows[i] = statement_sql.rows(tx.finish(tickets[i]));
    // What comes after the first page was read is on no later one, in either asset.
    if (!before)
        for (std::size_t i = 0; i < assets.size(); ++i)
            mark.places[i] = rows[i].empty() ? 1 : rows[i].front().place.value() + 1;
    std::array<std::size_t, assets.size()> next{};
    std::vector<StatementLine> lines;
    while (lines.size() < static_cast<std::size_t>(rows_max)) {
        std::optional<std::size_t> newest;
        for (std::size_t i = 0; i < assets.size(); ++i)
            if (next[i] < rows[i].size() &&
                (!newest || rows[i][next[i]].at > rows[*newest][next[*newest]].at))
                newest = i;
        if (!newest) break;
        EntryRow& row = rows[*newest][next[*newest]++];
        mark.places[*newest] = row.place.value();
        lines.push_back({entry_of(std::move(row)), mark});
    }
    return lines;
}

std::vector<Entry> entries_of(db::Transaction& tx, JobId job, std::int64_t rows_max) {
    std::vector<Entry> entries;
    for (EntryRow& row : tx.fetch(job_entries_sql, job, rows_max))
        entries.push_back(entry_of(std::move(row)));
    return entries;
}

}  // namespace berth::ledger
