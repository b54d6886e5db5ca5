#include <fmt/format.h>

#include "audit/events.hpp"

namespace berth::audit {
namespace {

constexpr std::int64_t page_rows = 500;

constexpr std::string_view end_sql = "SELECT sequence, head FROM audit_chain WHERE chain = 1";
constexpr std::string_view events_sql =
    "SELECT sequence, audit_event_id, at, actor_kind, account_id, action, target_kind, target_id, "
    "reason, request_id, previous_hash, hash FROM audit_events WHERE sequence > $1 "
    "ORDER BY sequence LIMIT $2";
constexpr std::string_view changes_sql =
    "SELECT sequence, field, before, after FROM audit_changes "
    "WHERE sequence >= $1 AND sequence <= $2 ORDER BY sequence, ordinal";
constexpr std::string_view stray_changes_sql =
    "SELECT DISTINCT c.sequence FROM audit_changes c WHERE NOT EXISTS (SELECT 1 "
    "FROM audit_events e WHERE e.sequence = c.sequence) ORDER BY c.sequence LIMIT $1";

Recorded event_of(const db::Result::Row& row) {
    Recorded event;
    event.sequence = row.get<std::int64_t>(0);
    event.id = row.get<AuditEventId>(1);
    event.at = row.get<Time>(2);
    event.actor_kind = row.get<std::string>(3);
    event.account = row.get<std::optional<AccountId>>(4);
    event.action = row.get<std::string>(5);
    event.target = {row.get<std::string>(6), row.get<std::string>(7)};
    event.reason = row.get<std::optional<std::string>>(8);
    event.request = row.get<std::optional<RequestId>>(9);
    event.previous_hash = row.get<Bytes>(10);
    event.hash = row.get<Bytes>(11);
    return event;
}

std::vector<Recorded> read_page(db::Transaction& tx, std::int64_t after) {
    std::vector<Recorded> events;
    const db::Result rows = tx.run(events_sql, after, page_rows);
    for (std::size_t i = 0; i < rows.size(); ++i) events.push_back(event_of(rows[i]));
    if (events.empty()) return events;
    const db::Result changes =
        tx.run(changes_sql, events.front().sequence, events.back().sequence);
    auto event = events.begin();
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const auto sequence = changes[i].get<std::int64_t>(0);
        while (event != events.end() && event->sequence < sequence) ++event;
        if (event == events.end() || event->sequence != sequence) continue;  // a stray, told below
        event->changes.push_back({changes[i].get<std::string>(1),
                                  changes[i].get<std::optional<std::string>>(2),
                                  changes[i].get<std::optional<std::string>>(3)});
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
        const db::Result strays = tx_.run(stray_changes_sql, page_rows);
        for (std::size_t i = 0; i < strays.size() && !full(); ++i)
            fault(fmt::format("changes without their event {}", strays[i].get<std::int64_t>(0)));
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
        const db::Result end = tx_.run(end_sql);
        const std::int64_t sequence = end.empty() ? 0 : end[0].get<std::int64_t>(0);
        if (sequence != last_)
            fault(fmt::format("the chain ends at event {}, but {} were recorded", last_, sequence));
        else if (!end.empty() && end[0].get<Bytes>(1) != report_.head)
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
