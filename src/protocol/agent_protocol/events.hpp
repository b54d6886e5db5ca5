// What an agent says happened: to a job, and to the machine. What goes with each kind is in
// evidence.hpp.
#pragma once

#include <boost/describe.hpp>

#include "agent_protocol/orders.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::agent_protocol {

enum class JobEventKind {
    started,
    progress,
    ready,
    usage,
    preempt_notice,
    exited,
    stopped,
    cleaned,
};
BOOST_DESCRIBE_ENUM(JobEventKind, started, progress, ready, usage, preempt_notice, exited, stopped,
                    cleaned)
constexpr std::string_view wire_name(JobEventKind kind) {
    switch (kind) {
        case JobEventKind::started: return "STARTED";
        case JobEventKind::progress: return "PROGRESS";
        case JobEventKind::ready: return "READY";
        case JobEventKind::usage: return "USAGE";
        case JobEventKind::preempt_notice: return "PREEMPT_NOTICE";
        case JobEventKind::exited: return "EXITED";
        case JobEventKind::stopped: return "STOPPED";
        case JobEventKind::cleaned: return "CLEANED";
    }
    return {};
}

// What goes with an event of a job or a machine has at most so many bytes, log_tail aside.
inline constexpr std::size_t evidence_bytes_max = 8 * 1024;

struct JobEvent {
    wire::Decimal fence;
    wire::Decimal lease_seq;
    JobEventKind kind = JobEventKind::started;
    Time at;
    OpenObject evidence;
};
BOOST_DESCRIBE_STRUCT(JobEvent, (), (fence, lease_seq, kind, at, evidence))
constexpr auto wire_docs(const JobEvent*) {
    return std::to_array<wire::Doc>({
        {"fence", "Of the command that began the job.", "3"},
        {"lease_seq", "The lease under which it happened.", "7"},
        {"at", "By the agent's clock."},
        {"evidence", "What the kind asks for; other members are kept."},
    });
}

struct JobEventTaken {
    JobId job_id;
    std::string state;
    wire::Decimal fence;
    wire::Nullable<Lease> lease;
};
BOOST_DESCRIBE_STRUCT(JobEventTaken, (), (job_id, state, fence, lease))
constexpr auto wire_docs(const JobEventTaken*) {
    return std::to_array<wire::Doc>({
        {"state", "Of the job, after the event.", "RUNNING"},
        {"fence", "The server's.", "3"},
        {"lease", "Granted by READY; null otherwise."},
    });
}

// A card that is lost is not billed and not sold until the host says that it is back; the others
// are told to whom it concerns, since what a renter runs can cause them.
enum class HealthKind { gpu_xid, gpu_ecc, gpu_lost, gpu_back };
BOOST_DESCRIBE_ENUM(HealthKind, gpu_xid, gpu_ecc, gpu_lost, gpu_back)
constexpr std::string_view wire_name(HealthKind kind) {
    switch (kind) {
        case HealthKind::gpu_xid: return "GPU_XID";
        case HealthKind::gpu_ecc: return "GPU_ECC";
        case HealthKind::gpu_lost: return "GPU_LOST";
        case HealthKind::gpu_back: return "GPU_BACK";
    }
    return {};
}

struct HealthEvent {
    wire::Decimal fence;
    HealthKind kind = HealthKind::gpu_xid;
    Time at;
    OpenObject evidence;
};
BOOST_DESCRIBE_STRUCT(HealthEvent, (), (fence, kind, at, evidence))
constexpr auto wire_docs(const HealthEvent*) {
    return std::to_array<wire::Doc>({
        {"fence", "The highest one the agent knows.", "3"},
        {"at", "By the agent's clock."},
        {"evidence", "What the driver said."},
    });
}

// The answer to a HealthEvent.
struct HealthEventTaken {
    Uuid event_id;
    wire::Decimal fence;
};
BOOST_DESCRIBE_STRUCT(HealthEventTaken, (), (event_id, fence))
constexpr auto wire_docs(const HealthEventTaken*) {
    return std::to_array<wire::Doc>({
        {"event_id", "The same for the same event sent again."},
        {"fence", "The server's.", "3"},
    });
}

}  // namespace berth::agent_protocol
