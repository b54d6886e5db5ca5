// What goes with events about a job, beside the structs of the protocol.
#pragma once

#include <boost/describe.hpp>

#include "agent_protocol/evidence.hpp"
#include "gpu/gpu.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {

using agent_protocol::CleanedEvidence;

// What a wipe of the cards says in CLEANED.
std::vector<agent_protocol::GpuWipe> told_wipes(const std::vector<gpu::Wipe>& wipes);

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
