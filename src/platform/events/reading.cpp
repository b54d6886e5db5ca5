#include "events/reading.hpp"

#include <algorithm>

#include "wire/wire.hpp"

namespace berth::events {
namespace {

// Rows that one look goes through for a filter that leaves out most of them; the reader goes on
// from there.
constexpr std::int64_t rows_at_once = 500;
constexpr std::int64_t rows_looked_at_max = 2000;
// Statements of one round trip.
constexpr std::size_t heads_under_way_max = 100;

const db::Query<AccountHead> head_sql("SELECT {} FROM event_heads WHERE account_id = $1");
constexpr std::int64_t told_since_max = 10'000;
const db::Query<Told> told_since_sql(
    "SELECT {} FROM (SELECT account_id, MAX(sequence) AS newest FROM events WHERE at >= $1 "
    "GROUP BY account_id LIMIT $2) AS told");

struct EventRow {
    EventId event_id;
    std::int64_t sequence = 0;
    std::string type;
    Time at;
    std::string subject_kind;
    std::string subject_id;
    Audience audience = Audience::both;
    std::string data;
};
BOOST_DESCRIBE_STRUCT(EventRow, (),
                      (event_id, sequence, type, at, subject_kind, subject_id, audience, data))
const db::Query<EventRow> after_sql(
    "SELECT {} FROM events WHERE account_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3");
const db::Query<EventRow> event_sql(
    "SELECT {} FROM events WHERE account_id = $1 AND sequence = $2");

Kept kept_of(EventRow row) {
    return {{row.event_id,
             {row.sequence},
             std::move(row.type),
             row.at,
             {std::move(row.subject_kind), std::move(row.subject_id)},
             {std::move(row.data)}},
            row.audience};
}

}  // namespace

Head head_of(db::Transaction& tx, AccountId account) {
    const auto row = tx.fetch_one(head_sql, account);
    return row ? Head{row->oldest, row->newest} : Head{};
}

std::vector<AccountHead> heads_of(db::Transaction& tx, std::span<const AccountId> accounts) {
    std::vector<AccountHead> heads;
    while (!accounts.empty()) {
        const auto some = accounts.first(std::min(accounts.size(), heads_under_way_max));
        accounts = accounts.subspan(some.size());
        std::vector<db::Transaction::Ticket> asked;
        for (const AccountId& account : some) asked.push_back(tx.start(head_sql.sql(), account));
        for (const auto& ticket : asked)
            if (auto row = head_sql.row(tx.finish(ticket))) heads.push_back(*row);
    }
    return heads;
}

std::vector<Told> told_since(db::Transaction& tx, Time since) {
    return tx.fetch(told_since_sql, since, told_since_max);
}

std::vector<Kept> read_after(db::Transaction& tx, AccountId account, std::int64_t after,
                             std::int64_t rows_max) {
    return finish_after(tx, start_after(tx, account, after, rows_max));
}

db::Transaction::Ticket start_after(db::Transaction& tx, AccountId account, std::int64_t after,
                                    std::int64_t rows_max) {
    return tx.start(after_sql.sql(), account, after, rows_max);
}

std::vector<Kept> finish_after(db::Transaction& tx, db::Transaction::Ticket ticket) {
    std::vector<Kept> all;
    for (EventRow& row : after_sql.rows(tx.finish(ticket))) all.push_back(kept_of(std::move(row)));
    return all;
}

std::optional<Kept> find_event(db::Transaction& tx, AccountId account, std::int64_t sequence) {
    auto row = tx.fetch_one(event_sql, account, sequence);
    return row ? std::optional(kept_of(std::move(*row))) : std::nullopt;
}

bool Hearing::hears(Audience audience) const {
    switch (audience) {
        case Audience::renter: return renter;
        case Audience::host: return host;
        case Audience::both:
        case Audience::operators: return true;
    }
    return false;
}

bool matches(std::string_view wanted, std::string_view type) {
    if (!wanted.ends_with(".*")) return wanted == type;
    wanted.remove_suffix(1);
    return type.starts_with(wanted);
}

bool Filter::wants(const Kept& kept) const {
    if (!hearing.hears(kept.audience)) return false;
    if (subject_id && *subject_id != kept.event.subject.id) return false;
    return types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& wanted) {
               return matches(wanted, kept.event.type);
           });
}

Stretch read_stretch(db::Transaction& tx, AccountId account, std::int64_t after,
                     const Filter& filter, std::int64_t items_max) {
    Stretch stretch{.items = {}, .through = after, .head = head_of(tx, account)};
    const bool takes_most =
        filter.types.empty() && !filter.subject_id && filter.hearing.renter && filter.hearing.host;
    const std::int64_t rows = takes_most ? std::min(items_max, rows_at_once) : rows_at_once;
    std::int64_t looked_at = 0;
    while (stretch.through < stretch.head.newest && looked_at < rows_looked_at_max) {
        std::vector<Kept> some = read_after(tx, account, stretch.through, rows);
        if (some.empty()) break;
        for (Kept& kept : some) {
            if (std::ssize(stretch.items) >= items_max) return stretch;
            ++looked_at;
            stretch.through = kept.event.sequence.value;
            if (filter.wants(kept)) stretch.items.push_back(std::move(kept.event));
        }
        if (std::ssize(stretch.items) >= items_max) break;
    }
    return stretch;
}

std::string text_of(const Event& event) { return wire::encode(event); }

}  // namespace berth::events
