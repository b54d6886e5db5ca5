#include "events/keeping.hpp"

#include <algorithm>
#include <set>

#include "events/reading.hpp"

namespace berth::events {
namespace {

constexpr std::string_view old_events_sql =
    "SELECT account_id FROM events WHERE at < $1 ORDER BY at LIMIT $2";
// Clocks of several servers differ, so that a later number may have an earlier time: a stream loses
// its beginning up to the first event that is young enough.
constexpr std::string_view first_kept_sql =
    "SELECT sequence FROM events WHERE account_id = $1 AND at >= $2 ORDER BY sequence LIMIT 1";
constexpr std::string_view move_oldest_sql =
    "UPDATE event_heads SET oldest = $2 WHERE account_id = $1 AND oldest < $2";
constexpr std::string_view delete_before_sql =
    "DELETE FROM events WHERE account_id = $1 AND sequence < $2";

}  // namespace

std::int64_t prune(db::Transaction& tx, Time told_before, std::int64_t rows_max) {
    std::int64_t deleted = 0;
    const auto old = tx.fetch_values<AccountId>(old_events_sql, told_before, rows_max);
    // In the order of their ids, as everybody locks them.
    for (const AccountId& account : std::set<AccountId>(old.begin(), old.end())) {
        if (deleted >= rows_max) break;
        const Head head = head_of(tx, account);
        const auto kept = tx.fetch_value<std::int64_t>(first_kept_sql, account, told_before);
        const std::int64_t oldest =
            std::min(kept.value_or(head.newest + 1), head.oldest + rows_max - deleted);
        tx.run(move_oldest_sql, account, oldest);
        deleted += tx.run(delete_before_sql, account, oldest).affected;
    }
    return deleted;
}

void forget(db::Transaction& tx, AccountId account) {
    const Head head = head_of(tx, account);
    tx.run(move_oldest_sql, account, head.newest + 1);
    tx.run(delete_before_sql, account, head.newest + 1);
}

}  // namespace berth::events
