#include "events/keeping.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "events/reading.hpp"

namespace berth::events {
namespace {

// Streams that one pass shortens: whoever tells one of them waits until the pass is over.
constexpr std::size_t shortened_at_once = 64;
constexpr std::size_t statements_under_way_max = 100;
// Above what was told since any backup, and more than any stream keeps: no number is taken twice on
// the way.
constexpr std::int64_t renumbered_by = 1'000'000'000;

constexpr std::string_view old_events_sql =
    "SELECT account_id FROM events WHERE at < $1 ORDER BY at LIMIT $2";
// Clocks of several servers differ, so that a later number may have an earlier time: a stream loses
// its beginning up to the first event that is young enough.
constexpr std::string_view first_kept_sql =
    "SELECT sequence FROM events WHERE account_id = $1 AND at >= $2 AND sequence < $3 "
    "ORDER BY sequence LIMIT 1";
constexpr std::string_view move_oldest_sql =
    "UPDATE event_heads SET oldest = $2 WHERE account_id = $1 AND oldest < $2";
constexpr std::string_view delete_before_sql =
    "DELETE FROM events WHERE account_id = $1 AND sequence < $2";

constexpr std::string_view streams_sql = "SELECT account_id FROM event_heads ORDER BY account_id";
constexpr std::string_view move_head_sql =
    "UPDATE event_heads SET oldest = oldest + $2, newest = newest + $2 WHERE account_id = $1";
constexpr std::string_view move_events_sql =
    "UPDATE events SET sequence = sequence + $2 WHERE account_id = $1";

struct Cut {
    AccountId account;
    std::int64_t oldest = 0;  // from now on
    std::int64_t rows = 0;    // that go
};

// Where streams can be cut, reading alone: what others tell meanwhile comes behind the cuts.
std::vector<Cut> find_cuts(db::Transaction& tx, std::span<const AccountHead> heads,
                           Time told_before, std::int64_t rows_max) {
    std::vector<Cut> cuts;
    while (!heads.empty()) {
        const auto some = heads.first(std::min(heads.size(), statements_under_way_max));
        heads = heads.subspan(some.size());
        std::vector<db::Transaction::Ticket> asked;
        for (const AccountHead& head : some)
            asked.push_back(
                tx.start(first_kept_sql, head.account_id, told_before, head.oldest + rows_max));
        for (std::size_t i = 0; i < some.size(); ++i) {
            const auto kept = db::read_value<std::int64_t>(tx.finish(asked[i]));
            const std::int64_t end = kept.value_or(some[i].newest + 1);
            const std::int64_t rows = std::min(end - some[i].oldest, rows_max);
            if (rows > 0) cuts.push_back({some[i].account_id, some[i].oldest + rows, rows});
        }
    }
    return cuts;
}

}  // namespace

std::int64_t prune(db::Transaction& tx, Time told_before, std::int64_t rows_max) {
    const auto old = tx.fetch_values<AccountId>(old_events_sql, told_before, rows_max);
    // In the order of their ids, as everybody locks them.
    const std::set<AccountId> accounts(old.begin(), old.end());
    const std::vector<AccountId> list(accounts.begin(), accounts.end());
    const std::vector<Cut> cuts = find_cuts(tx, heads_of(tx, list), told_before, rows_max);
    std::vector<db::Transaction::Ticket> deletions;
    std::int64_t left = rows_max;
    for (const Cut& cut : cuts) {
        if (left <= 0 || deletions.size() == shortened_at_once) break;
        const std::int64_t oldest = cut.oldest - std::max(cut.rows - left, std::int64_t{0});
        tx.start(move_oldest_sql, cut.account, oldest);
        deletions.push_back(tx.start(delete_before_sql, cut.account, oldest));
        left -= cut.rows;
    }
    std::int64_t deleted = 0;
    for (const auto& ticket : deletions) deleted += tx.finish(ticket).affected;
    const bool is_all = deletions.size() == cuts.size();
    return is_all ? deleted : rows_max;
}

std::int64_t renumber(db::Transaction& tx) {
    const auto all = tx.fetch_values<AccountId>(streams_sql);
    for (std::span<const AccountId> left = all; !left.empty();) {
        const auto some = left.first(std::min(left.size(), statements_under_way_max));
        left = left.subspan(some.size());
        std::vector<db::Transaction::Ticket> asked;
        for (const AccountId& account : some) {
            tx.start(move_head_sql, account, renumbered_by);
            asked.push_back(tx.start(move_events_sql, account, renumbered_by));
        }
        for (const auto& ticket : asked) tx.finish(ticket);
    }
    return renumbered_by;
}

}  // namespace berth::events
