#include "ledger/figures.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace berth::ledger {
namespace {

const db::Query<KindSum> kind_sums_sql(
    "SELECT {} FROM (SELECT asset, pocket, kind, "
    "CAST(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS BIGINT) AS debit, "
    "CAST(SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END) AS BIGINT) AS credit, "
    "COUNT(*) AS entries FROM ledger_entries "
    "WHERE transaction_id >= $1 AND transaction_id < $2 "
    "GROUP BY asset, pocket, kind) AS sums");
constexpr std::string_view oldest_sql =
    "SELECT at FROM ledger_transactions ORDER BY transaction_id LIMIT 1";
constexpr std::string_view newest_sql =
    "SELECT at FROM ledger_transactions ORDER BY transaction_id DESC LIMIT 1";

struct PocketBalance {
    Pocket pocket{};
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(PocketBalance, (), (pocket, amount))
// What has a place belongs to a customer, and is found by its owner.
const db::Query<PocketBalance> pockets_before_sql(
    "SELECT {} FROM (SELECT pocket, CAST(SUM(amount) AS BIGINT) AS amount FROM ledger_entries "
    "WHERE owner_id = $1 AND asset = $2 AND place > 0 AND transaction_id < $3 "
    "GROUP BY pocket) AS sums");

struct LineRow {
    TransactionId transaction_id;
    std::int64_t ordinal = 0;
    Pocket pocket{};
    Kind kind{};
    Micro amount;
    std::string reference;
    Time at;
    std::optional<JobId> job_id = {};
    std::optional<std::int64_t> place = {};
};
BOOST_DESCRIBE_STRUCT(LineRow, (),
                      (transaction_id, ordinal, pocket, kind, amount, reference, at, job_id, place))
const db::Query<LineRow> lines_sql(
    "SELECT {} FROM (SELECT e.transaction_id, e.ordinal, e.pocket, e.kind, e.amount, t.reference, "
    "t.at, e.job_id, e.place FROM ledger_entries e "
    "JOIN ledger_transactions t ON t.transaction_id = e.transaction_id "
    "WHERE e.owner_id = $1 AND e.asset = $2 AND e.place > 0 "
    "AND e.transaction_id >= $3 AND e.transaction_id < $4) AS entries "
    "ORDER BY at, place LIMIT $5");

// The totals of machines stand in the same table; only accounts have balances.
const db::Query<HostSum> host_sums_sql(
    "SELECT {} FROM (SELECT d.subject_id AS account_id, "
    "CAST(SUM(CASE WHEN d.kind IN ('host_earning', 'refund_host_reversal') THEN d.amount ELSE 0 "
    "END) AS BIGINT) AS earned, "
    "CAST(SUM(CASE WHEN d.kind IN ('platform_fee', 'refund_fee_reversal') THEN d.amount ELSE 0 "
    "END) AS BIGINT) AS fee, "
    "CAST(SUM(CASE WHEN d.kind = 'payout_settled' THEN -d.amount ELSE 0 END) AS BIGINT) AS paid "
    "FROM ledger_days d JOIN ledger_accounts a "
    "ON a.account_id = d.subject_id AND a.asset = d.asset "
    "WHERE d.asset = $1 AND d.day >= $2 AND d.day <= $3 AND (d.subject_id > $4 OR $4 IS NULL) "
    "AND d.kind IN ('host_earning', 'refund_host_reversal', 'platform_fee', "
    "'refund_fee_reversal', 'payout_settled') GROUP BY d.subject_id) AS sums "
    "ORDER BY account_id LIMIT $5");

// A statement may last only so long, however long the books are; so one adds up a day at most, and
// the next is asked for before it has answered.
constexpr Duration slice = std::chrono::hours(24);
constexpr std::size_t slices_at_once = 64;

// In the order of asset, pocket and kind by name.
using SumsByName = std::map<std::tuple<Asset, std::string_view, std::string_view>, KindSum>;

void gather(db::Transaction& tx, std::vector<db::Transaction::Ticket>& tickets, SumsByName& all) {
    for (const auto& ticket : tickets)
        for (const KindSum& sum : kind_sums_sql.rows(tx.finish(ticket))) {
            KindSum& into = all[{sum.asset, name(sum.pocket), name(sum.kind)}];
            into.asset = sum.asset;
            into.pocket = sum.pocket;
            into.kind = sum.kind;
            into.debit += sum.debit;
            into.credit += sum.credit;
            into.entries += sum.entries;
        }
    tickets.clear();
}

std::vector<KindSum> add_up(db::Transaction& tx, const Stretch& whole) {
    SumsByName all;
    std::vector<db::Transaction::Ticket> tickets;
    for (Time at = whole.from; at < whole.to;) {
        const Time next = std::min(whole.to, at + slice);
        tickets.push_back(tx.start(kind_sums_sql.sql(), first_id(at), first_id(next)));
        if (tickets.size() == slices_at_once) gather(tx, tickets, all);
        at = next;
    }
    gather(tx, tickets, all);
    std::vector<KindSum> sums;
    for (const auto& [key, sum] : all) sums.push_back(sum);
    return sums;
}

}  // namespace

TransactionId first_id(Time at) {
    struct Zeros final : Random {
        void fill(std::span<char> bytes) override { std::fill(bytes.begin(), bytes.end(), '\0'); }
    };
    Zeros zeros;
    return TransactionId::make(at, zeros);
}

std::vector<std::vector<KindSum>> sums_by_kind(db::Transaction& tx,
                                               const std::vector<Stretch>& stretches) {
    std::vector<std::vector<KindSum>> sums;
    for (const Stretch& stretch : stretches) sums.push_back(add_up(tx, stretch));
    return sums;
}

std::vector<PocketSum> sums_by_pocket(db::Transaction& tx, Time before) {
    const auto oldest = tx.fetch_value<Time>(oldest_sql);
    const auto newest = tx.fetch_value<Time>(newest_sql);
    if (!oldest || !newest) return {};
    std::vector<PocketSum> sums;
    for (const KindSum& sum : add_up(tx, {*oldest, std::min(before, *newest + slice)})) {
        if (sums.empty() || sums.back().asset != sum.asset || sums.back().pocket != sum.pocket)
            sums.push_back({sum.asset, sum.pocket, {}, {}});
        sums.back().debit += sum.debit;
        sums.back().credit += sum.credit;
    }
    return sums;
}

Pockets pockets_before(db::Transaction& tx, AccountId account, Asset asset, Time before) {
    Pockets pockets{};
    for (const PocketBalance& one : tx.fetch(pockets_before_sql, account, asset, first_id(before)))
        pockets.at(static_cast<std::size_t>(one.pocket)) = one.amount;
    return pockets;
}

std::vector<Entry> entries_between(db::Transaction& tx, const EntriesOf& wanted,
                                   std::int64_t rows_max) {
    std::vector<Entry> entries;
    for (LineRow& row :
         tx.fetch(lines_sql, wanted.account, wanted.asset, first_id(wanted.stretch.from),
                  first_id(wanted.stretch.to), rows_max))
        entries.push_back({.transaction = row.transaction_id,
                           .ordinal = row.ordinal,
                           .owner = wanted.account,
                           .asset = wanted.asset,
                           .pocket = row.pocket,
                           .kind = row.kind,
                           .amount = row.amount,
                           .reference = std::move(row.reference),
                           .at = row.at,
                           .job = row.job_id,
                           .place = row.place});
    return entries;
}

std::vector<HostSum> sums_by_host(db::Transaction& tx, const HostsWanted& wanted,
                                  std::int64_t rows_max) {
    return tx.fetch(host_sums_sql, wanted.asset, wanted.first_day, wanted.last_day, wanted.after,
                    rows_max);
}

}  // namespace berth::ledger
