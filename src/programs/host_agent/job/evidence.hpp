// What goes with events about a job, as it is sent.
#pragma once

#include <boost/describe.hpp>

#include "gpu/gpu.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {

struct EndpointSaid {
    std::string kind;
    std::string name;
    std::string host;
    wire::Count port;
    std::optional<std::string> tls_key_sha256;
};
BOOST_DESCRIBE_STRUCT(EndpointSaid, (), (kind, name, host, port, tls_key_sha256))

struct TimeToReady {
    wire::Decimal pull_ms;
    wire::Decimal load_ms;
    wire::Decimal probe_ms;
};
BOOST_DESCRIBE_STRUCT(TimeToReady, (), (pull_ms, load_ms, probe_ms))

struct ReadySaid {
    std::string container_id;
    std::string boot_id;
    std::vector<EndpointSaid> endpoints;
    wire::Nullable<std::string> ssh_host_key_fingerprint;
    TimeToReady time_to_ready;
};
BOOST_DESCRIBE_STRUCT(ReadySaid, (),
                      (container_id, boot_id, endpoints, ssh_host_key_fingerprint, time_to_ready))

struct ProgressSaid {
    std::string step;
    wire::Nullable<wire::Decimal> done_bytes;
    wire::Nullable<wire::Decimal> total_bytes;
};
BOOST_DESCRIBE_STRUCT(ProgressSaid, (), (step, done_bytes, total_bytes))

struct UsageSaid {
    wire::Decimal runtime_ms;
    std::string container_id;
    std::string boot_id;
    std::optional<std::string> engine;
    std::optional<std::string> log_tail;
    std::optional<wire::Decimal> egress_bytes;
};
BOOST_DESCRIBE_STRUCT(UsageSaid, (),
                      (runtime_ms, container_id, boot_id, engine, log_tail, egress_bytes))

// EXITED and STOPPED.
struct EndSaid {
    std::optional<std::string> container_id;
    std::optional<std::string> boot_id;
    std::optional<wire::Decimal> runtime_ms;
    std::optional<wire::Count> exit_code;
    std::optional<bool> oom;
    std::optional<std::string> code;
    std::optional<std::string> message;
    std::optional<std::string> reason;
    std::optional<std::string> log_tail;
    std::optional<wire::Decimal> egress_bytes;
};
BOOST_DESCRIBE_STRUCT(EndSaid, (),
                      (container_id, boot_id, runtime_ms, exit_code, oom, code, message, reason,
                       log_tail, egress_bytes))

struct CleanedSaid {
    bool volume_recreated = false;
    std::vector<gpu::Wipe> gpus;
    Time started_at;
    Time ended_at;
    std::optional<std::string> error;
};
BOOST_DESCRIBE_STRUCT(CleanedSaid, (), (volume_recreated, gpus, started_at, ended_at, error))

// What stands in .berth/notice.json of the work folder.
struct Notice {
    std::string kind;  // "stop", "preempt"
    wire::Nullable<Time> deadline;
    wire::Nullable<Time> billing_stopped_at;
};
BOOST_DESCRIBE_STRUCT(Notice, (), (kind, deadline, billing_stopped_at))

// The beginning of a sentence that tools of the host may have written: it has to fit into an event.
std::string brief(std::string text);
// The last of a log as it may leave the host: text, at most 8 KiB, without these secrets.
std::string presentable(std::string log, const std::vector<std::string>& secrets);

}  // namespace berth::host_agent
