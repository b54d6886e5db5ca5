#include <fmt/format.h>

#include "audit/events.hpp"

namespace berth::audit {
namespace {

constexpr std::int64_t page_rows = 500;

struct EndRow {
    std::int64_t sequence = 0;
    Bytes head;
};
BOOST_DESCRIBE_STRUCT(EndRow, (), (sequence, head))
const db::Query<EndRow> end_sql("SELECT {} FROM audit_chain WHERE chain = 1");

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
BOOST_DESCRIBE_STRUCT(EventRow, (), (sequence, audit_event_id, at, actor_kind, account_id, action,
                                     target_kind, target_id, reason, request_id, previous_hash,
                                     hash))
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
constexpr std::string_view stray_changes_sql =
    "SELECT DISTINCT c.sequence FROM audit_changes c WHERE NOT EXISTS (SELECT 1 "
    "FROM audit_events e WHERE e.sequence = c.sequence) ORDER BY c.sequence LIMIT $1";

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

std::vector<Recorded> read_page(db::Transaction& tx, std::int64_t after) {
    std::vector<Recorded> events;
    for (EventRow& row : tx.fetch(events_sql, after, page_rows))
        events.push_back(event_of(std::move(row)));
    if (events.empty()) return events;
    auto event = events.begin();
    for (ChangeRow& change :
         tx.fetch(changes_sql, events.front().sequence, events.back().sequence)) {
        while (event != events.end() && event->sequence < change.sequence) ++event;
        if (event == events.end() || event->sequence != change.sequence)
            continue;  // a stray, told below
        event->changes.push_back(
            {std::move(change.field), std::move(change.before), std::move(change.after)});
    }
    return events;
}

class Checker {
public:
    explicit Checker(db::Transaction& tx) : tx_(tx) {}

    Report run() {
        report_.head = Bytes(hash_bytes, '\0');
        while (!full()) {
            const auto page = read_page(tx_, last_);
            for (const Recorded& event : page)
                if (!full()) look_at(event);
            if (page.empty()) break;
        }
        if (!full()) look_at_end();
        for (const auto stray : tx_.fetch_values<std::int64_t>(stray_changes_sql, page_rows))
            if (!full()) fault(fmt::format("changes without their event {}", stray));
        return std::move(report_);
    }

private:
    bool full() const { return report_.faults.size() >= faults_max; }
    void fault(std::string text) { report_.faults.push_back(std::move(text)); }

    void look_at(const Recorded& event) {
        ++report_.events;
        if (event.sequence != last_ + 1)
            fault(fmt::format("event {}: the one before it is missing", event.sequence));
        if (event.previous_hash != report_.head)
            fault(fmt::format("event {}: does not follow the one before it", event.sequence));
        if (chain_hash(event) != event.hash)
            fault(fmt::format("event {}: is not what was recorded", event.sequence));
        last_ = event.sequence;
        report_.head = event.hash;
    }

    void look_at_end() {
        const auto end = tx_.fetch_one(end_sql);
        const std::int64_t sequence = end ? end->sequence : 0;
        if (sequence != last_)
            fault(fmt::format("the chain ends at event {}, but {} were recorded", last_, sequence));
        else if (end && end->head != report_.head)
            fault(fmt::format("event {}: is not the end of the chain", last_));
    }

    db::Transaction& tx_;
    Report report_;
    std::int64_t last_ = 0;
};

}  // namespace

Report check_events(db::Transaction& tx) { return Checker(tx).run(); }

std::string to_text(const Report& report) {
    std::string text = fmt::format("{} audit events, head {}\n", report.events,
                                   to_hex(report.head));
    for (const std::string& fault : report.faults) text += fault + "\n";
    return text + (report.sound() ? "sound\n" : "NOT SOUND\n");
}

}  // namespace berth::audit
