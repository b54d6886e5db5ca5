#include "gates/carriage.hpp"

#include <algorithm>
#include <limits>

namespace berth::gates {
namespace {

constexpr Time no_end{std::numeric_limits<std::int64_t>::max()};

struct Span {
    DoorId door;
    Time from;
    Time to;
};

// Whether a door was carried at that instant and no longer: a report had its link, and what follows
// is a gap of its own.
bool is_moment_of_carriage(const std::vector<Span>& spans, Time at) {
    return std::any_of(spans.begin(), spans.end(), [&](const Span& before) {
        return before.to == at && std::any_of(spans.begin(), spans.end(), [&](const Span& after) {
                   return after.from == at && after.to > at && after.door == before.door;
               });
    });
}

// In order, with what overlaps or goes on from one door to another made one.
std::vector<Span> merged(std::vector<Span> spans) {
    std::erase_if(spans, [](const Span& span) { return span.from >= span.to; });
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.from < b.from; });
    std::vector<Span> out;
    for (const Span& span : spans) {
        const bool goes_on =
            !out.empty() &&
            (span.from < out.back().to ||
             (span.from == out.back().to && !is_moment_of_carriage(spans, span.from)));
        if (goes_on)
            out.back().to = std::max(out.back().to, span.to);
        else
            out.push_back(span);
    }
    return out;
}

// What is left of a span when the outages, in order, are taken out.
std::vector<Gap> without(const Span& span, const std::vector<OutageRow>& outages) {
    std::vector<Gap> out;
    const auto add = [&](Time from, Time to) {
        out.push_back({from, to == no_end ? std::nullopt : std::optional(to), !out.empty()});
    };
    Time from = span.from;
    for (const OutageRow& outage : outages) {
        if (outage.to_at <= from || outage.from_at >= span.to) continue;
        if (from < outage.from_at) add(from, outage.from_at);
        from = std::max(from, outage.to_at);
    }
    if (from < span.to) add(from, span.to);
    return out;
}

// A door that was wanted once and taken back before anything went through it is none of the job's.
bool was_never_used(const DoorRow& door) {
    return door.freed_at && door.uncarried_since == door.given_at;
}

}  // namespace

const BootRow* find_boot(const std::vector<BootRow>& boots, GateId gate,
                         const std::optional<std::string>& boot) {
    for (const BootRow& each : boots)
        if (each.gate_id == gate && each.boot_id == boot) return &each;
    return nullptr;
}

std::optional<Time> uncarried_since(const DoorRow& door, const BootRow* linked,
                                    const Hearing& hearing) {
    if (door.uncarried_since) return door.uncarried_since;
    if (linked == nullptr || !linked->heard_at) return door.given_at;
    // After an outage of ours it has as long as always to be heard again.
    const Time quiet_since = std::max(*linked->heard_at, hearing.since);
    if (quiet_since + gate_fresh >= hearing.now) return std::nullopt;
    return linked->heard_at;
}

std::vector<Gap> gaps_of_job(db::Transaction& tx, JobId job, Time since, Time now) {
    const std::vector<DoorRow> doors = all_doors_of_job(tx, job);
    if (doors.empty()) return {};
    const std::vector<BootRow> boots = boots_of_job(tx, job);
    const Hearing hearing{now, hearing_since(tx)};
    std::vector<Span> spans;
    for (const GapRow& gap : stored_gaps_of_job(tx, job))
        spans.push_back({gap.door_id, gap.from_at, gap.to_at});
    for (const DoorRow& door : doors) {
        if (door.kind == DoorKind::test || was_never_used(door)) continue;
        const BootRow* const linked = find_boot(boots, door.gate_id, door.linked_boot);
        if (const auto from = uncarried_since(door, linked, hearing))
            spans.push_back({door.door_id, *from, no_end});
    }
    spans = merged(std::move(spans));
    std::vector<Gap> gaps;
    if (spans.empty()) return gaps;
    const std::vector<OutageRow> outages = outages_since(tx, spans.front().from);
    for (const Span& span : spans) {
        const std::vector<Gap> parts = without(span, outages);
        if (!parts.empty() && (!parts.back().to || *parts.back().to > since))
            gaps.insert(gaps.end(), parts.begin(), parts.end());
    }
    return gaps;
}

Carriage carriage_of(db::Transaction& tx, JobId job, Time now) {
    Carriage carriage;
    const std::vector<DoorRow> doors = all_doors_of_job(tx, job);
    carriage.by_gate = !std::all_of(doors.begin(), doors.end(), was_never_used);
    if (!carriage.by_gate) return carriage;
    const std::vector<Gap> gaps = gaps_of_job(tx, job, now, now);
    if (!gaps.empty() && !gaps.back().to) carriage.uncarried_since = gaps.back().from;
    return carriage;
}

}  // namespace berth::gates
