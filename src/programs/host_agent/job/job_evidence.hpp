// What a job's events say, made from its record and from what was seen of it.
#pragma once

#include "host_agent/core/gate_doors.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/job/evidence.hpp"
#include "host_agent/job/job_record.hpp"

namespace berth::host_agent {

struct ReadyTimes {
    std::int64_t pull_ms = 0;
    std::int64_t load_ms = 0;
    std::int64_t all_ms = 0;  // from the start on, without the pull
};
// `places` are of the record's doors and then of its SSH.
std::string ready_evidence(const JobRecord& record, const std::vector<DoorPlace>& places,
                           const ReadyTimes& times);
// The places that an event READY names; none of what is no such event.
std::vector<DoorPlace> places_told(const std::string& event);

// Of EXITED and STOPPED; what is empty is left out.
struct EndDetails {
    std::string boot_id;
    std::string code;
    std::string sentence;                   // presentable
    std::optional<std::string> log_tail{};  // presentable
};
std::string end_evidence(const JobRecord& record, const Look& look, const EndDetails& details);

// Everything was removed, and every card shows it.
bool is_wiped(const CleanedEvidence& said);

}  // namespace berth::host_agent
