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

constexpr std::string_view stray_changes_sql =
    "SELECT DISTINCT c.sequence FROM audit_changes c WHERE NOT EXISTS (SELECT 1 "
    "FROM audit_events e WHERE e.sequence = c.sequence) ORDER BY c.sequence LIMIT $1";

class Checker {
public:
    explicit Checker(db::Transaction& tx) : tx_(tx) {}

    Report run() {
        report_.head = Bytes(hash_bytes, '\0');
        while (!full()) {
            const auto page = read_events(tx_, last_, page_rows);
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
    std::string text =
        fmt::format("{} audit events, head {}\n", report.events, to_hex(report.head));
    for (const std::string& fault : report.faults) text += fault + "\n";
    return text + (report.sound() ? "sound\n" : "NOT SOUND\n");
}

}  // namespace berth::audit
