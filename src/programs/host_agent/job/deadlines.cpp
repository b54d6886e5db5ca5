#include "host_agent/job/deadlines.hpp"

#include <algorithm>

namespace berth::host_agent {

std::optional<std::string> due(const JobRecord& record, Time now) {
    if (record.funded_through && now >= *record.funded_through) return "funded_through";
    if (record.lease_expires_at && now >= *record.lease_expires_at + lease_grace)
        return "lease_ran_out";
    return std::nullopt;
}

bool is_owners_time_over(const JobRecord& record, const BootClock& clock) {
    if (!record.owners_end) return false;
    return record.owners_end->boot_id != clock.boot_id() ||
           clock.since_boot().count() >= record.owners_end->since_boot_us.value;
}

std::optional<Time> next_due(const JobRecord& record) {
    std::optional<Time> next = record.funded_through;
    if (record.lease_expires_at) {
        const Time lost = *record.lease_expires_at + lease_grace;
        next = next ? std::min(*next, lost) : lost;
    }
    return next;
}

std::int64_t runtime_ms(const JobRecord& record, const BootClock& clock) {
    if (record.runtime_ms) return record.runtime_ms->value;
    if (!record.ready_us) return 0;
    if (record.boot_id != clock.boot_id()) return record.reported_ms.value;
    return std::max<std::int64_t>(0, (clock.since_boot().count() - record.ready_us->value) / 1000);
}

std::int64_t runtime_ms_until(const JobRecord& record, const BootClock& clock,
                              std::optional<Duration> ran_until) {
    const std::int64_t now_ms = runtime_ms(record, clock);
    if (record.runtime_ms || !record.ready_us || record.boot_id != clock.boot_id()) return now_ms;
    const std::int64_t least_ms = std::min(record.reported_ms.value, now_ms);
    if (!ran_until) return least_ms;
    return std::clamp((ran_until->count() - record.ready_us->value) / 1000, least_ms, now_ms);
}

}  // namespace berth::host_agent
