#include <fmt/format.h>

#include "audit/events.hpp"

namespace berth::audit {
namespace {

constexpr std::int64_t page_rows = 500;
constexpr std::string_view verified_title = "berth audit verified 1\n";

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
    Checker(db::Transaction& tx, const CheckOptions& options) : tx_(tx), options_(options) {}

    Report run() {
        report_.head = Bytes(hash_bytes, '\0');
        if (options_.verified) go_on(*options_.verified);
        while (!full()) {
            const auto page = read_events(tx_, last_, page_rows);
            for (const Recorded& event : page)
                if (!full()) look_at(event);
            if (page.empty()) break;
        }
        if (!full()) look_at_end();
        for (const Mark& mark : options_.marks)
            if (!full()) look_at(mark);
        report_.sequence = last_;
        for (const auto stray : tx_.fetch_values<std::int64_t>(stray_changes_sql, page_rows))
            if (!full()) fault(fmt::format("changes without their event {}", stray));
        return std::move(report_);
    }

private:
    bool full() const { return report_.faults.size() >= faults_max; }
    void fault(std::string text) { report_.faults.push_back(std::move(text)); }

    // What was proved before must be there as it was; what comes after it is looked at.
    void go_on(const Head& verified) {
        report_.head = verified.hash;
        last_ = verified.sequence;
        look_at(Mark{verified, "what was verified before"});
    }

    void look_at(const Mark& mark) {
        if (mark.head.sequence == 0) return;
        const auto found = read_events(tx_, mark.head.sequence - 1, 1);
        if (found.empty() || found[0].sequence != mark.head.sequence)
            fault(fmt::format("event {}: is missing, and {} names it", mark.head.sequence,
                              mark.where));
        else if (found[0].hash != mark.head.hash)
            fault(fmt::format("event {}: is not the one that {} names", mark.head.sequence,
                              mark.where));
    }

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
    const CheckOptions& options_;
    Report report_;
    std::int64_t last_ = 0;
};

}  // namespace

Head head(db::Transaction& tx) {
    const auto end = tx.fetch_one(end_sql);
    return end ? Head{end->sequence, end->head} : Head{0, Bytes(hash_bytes, '\0')};
}

Report check_events(db::Transaction& tx) { return check_events_with(tx, {}); }

Report check_events_with(db::Transaction& tx, const CheckOptions& options) {
    return Checker(tx, options).run();
}

std::string write_verified(const Head& head) {
    return fmt::format("{}{} {}\n", verified_title, head.sequence, to_hex(head.hash));
}

std::optional<Head> parse_verified(std::string_view text) {
    if (!text.starts_with(verified_title) || !text.ends_with('\n')) return std::nullopt;
    text.remove_prefix(verified_title.size());
    text.remove_suffix(1);
    const std::size_t space = text.find(' ');
    if (space == text.npos) return std::nullopt;
    const auto sequence = parse_decimal(text.substr(0, space));
    const auto hash = from_hex(text.substr(space + 1));
    if (!sequence || !hash || hash->size() != hash_bytes) return std::nullopt;
    return Head{*sequence, *hash};
}

std::string to_text(const Report& report) {
    std::string text =
        fmt::format("{} audit events, head {}\n", report.events, to_hex(report.head));
    for (const std::string& fault : report.faults) text += fault + "\n";
    return text + (report.sound() ? "sound\n" : "NOT SOUND\n");
}

}  // namespace berth::audit
