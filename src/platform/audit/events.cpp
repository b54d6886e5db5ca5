// Reading events back.
#include "audit/events.hpp"

namespace berth::audit {
namespace {

struct EventRow {
    std::int64_t sequence = 0;
    AuditEventId audit_event_id;
    Time at;
    std::string actor_kind;
    std::optional<AccountId> account_id = {};
    std::string action;
    std::string target_kind;
    std::string target_id;
    std::optional<std::string> reason = {};
    std::optional<RequestId> request_id = {};
    Bytes previous_hash;
    Bytes hash;
};
BOOST_DESCRIBE_STRUCT(EventRow, (),
                      (sequence, audit_event_id, at, actor_kind, account_id, action, target_kind,
                       target_id, reason, request_id, previous_hash, hash))
const db::Query<EventRow> events_sql(
    "SELECT {} FROM audit_events WHERE sequence > $1 ORDER BY sequence LIMIT $2");

struct ChangeRow {
    std::int64_t sequence = 0;
    std::string field;
    std::optional<std::string> before = {};
    std::optional<std::string> after = {};
};
BOOST_DESCRIBE_STRUCT(ChangeRow, (), (sequence, field, before, after))
const db::Query<ChangeRow> changes_sql(
    "SELECT {} FROM audit_changes WHERE sequence >= $1 AND sequence <= $2 "
    "ORDER BY sequence, ordinal");
const db::Query<EventRow> wanted_events_sql(
    "SELECT {} FROM audit_events WHERE (sequence < $1 OR $1 IS NULL) "
    "AND (account_id = $2 OR $2 IS NULL) AND (action = $3 OR $3 IS NULL) "
    "AND (target_kind = $4 OR $4 IS NULL) AND (target_id = $5 OR $5 IS NULL) "
    "AND (at >= $6 OR $6 IS NULL) AND (at < $7 OR $7 IS NULL) ORDER BY sequence DESC LIMIT $8");
constexpr std::string_view count_events_sql =
    "SELECT COUNT(*) FROM audit_events WHERE target_kind = $1 AND target_id = $2 "
    "AND action = $3 AND at > $4";
const db::Query<ChangeRow> changes_of_sql(
    "SELECT {} FROM audit_changes WHERE sequence = $1 ORDER BY ordinal");

Recorded event_of(EventRow row) {
    Recorded event;
    event.sequence = row.sequence;
    event.id = row.audit_event_id;
    event.at = row.at;
    event.actor_kind = std::move(row.actor_kind);
    event.account = row.account_id;
    event.action = std::move(row.action);
    event.target = {std::move(row.target_kind), std::move(row.target_id)};
    event.reason = std::move(row.reason);
    event.request = row.request_id;
    event.previous_hash = std::move(row.previous_hash);
    event.hash = std::move(row.hash);
    return event;
}

}  // namespace

std::vector<Recorded> read_events(db::Transaction& tx, std::int64_t after, std::int64_t rows_max) {
    std::vector<Recorded> events;
    for (EventRow& row : tx.fetch(events_sql, after, rows_max))
        events.push_back(event_of(std::move(row)));
    if (events.empty()) return events;
    auto event = events.begin();
    for (ChangeRow& change :
         tx.fetch(changes_sql, events.front().sequence, events.back().sequence)) {
        while (event != events.end() && event->sequence < change.sequence) ++event;
        if (event == events.end() || event->sequence != change.sequence) continue;  // a stray
        event->changes.push_back(
            {std::move(change.field), std::move(change.before), std::move(change.after)});
    }
    return events;
}

std::vector<Recorded> list_events(db::Transaction& tx, const Wanted& wanted,
                                  std::int64_t rows_max) {
    std::vector<Recorded> events;
    for (EventRow& row :
         tx.fetch(wanted_events_sql, wanted.before, wanted.account, wanted.action,
                  wanted.target_kind, wanted.target_id, wanted.since, wanted.until, rows_max)) {
        Recorded event = event_of(std::move(row));
        for (ChangeRow& change : tx.fetch(changes_of_sql, event.sequence))
            event.changes.push_back(
                {std::move(change.field), std::move(change.before), std::move(change.after)});
        events.push_back(std::move(event));
    }
    return events;
}

std::int64_t count_events(db::Transaction& tx, const Target& target, std::string_view action,
                          Time since) {
    return tx.fetch_value<std::int64_t>(count_events_sql, target.kind, target.id, action, since)
        .value();
}

}  // namespace berth::audit
