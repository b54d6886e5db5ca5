// When a workload has to stop whether the server can be reached or not. Pure: a test holds it to
// every moment.
#pragma once

#include "host_agent/core/boot_clock.hpp"
#include "host_agent/job/job_record.hpp"

namespace berth::host_agent {

inline constexpr Duration lease_grace = std::chrono::seconds(300);
// What START lets a job go on for before the first lease was granted.
inline constexpr Duration first_lease = std::chrono::seconds(90);

// Why it must stop at `now`, which is the server's time; empty when it may go on.
std::optional<std::string> due(const JobRecord& record, Time now);
// Whether the owner's hours are over. After a reboot nobody knows how much of them was left.
bool is_owners_time_over(const JobRecord& record, const BootClock& clock);
// The earliest moment for which due() says something; empty when there is none.
std::optional<Time> next_due(const JobRecord& record);

// Milliseconds since READY, which never fall; 0 before. In another boot than the workload's nobody
// knows when it ended: then what was last reported.
std::int64_t runtime_ms(const JobRecord& record, const BootClock& clock);
// The same of one that does not run any more, or may not: until the moment, since boot, when it
// ended or was last seen running. Never less than what was reported, and that when no such moment
// is known.
std::int64_t runtime_ms_until(const JobRecord& record, const BootClock& clock,
                              std::optional<Duration> ran_until);

}  // namespace berth::host_agent
