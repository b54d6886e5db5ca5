// What START asks for, as a runtime understands it.
#pragma once

#include "agent_protocol/payloads.hpp"
#include "host_agent/job/job_context.hpp"

namespace berth::host_agent {

// Throws Problem when the order cannot be read.
Workload workload_of(const JobRecord& record, const agent_protocol::StartPayload& order,
                     const JobContext& context);

}  // namespace berth::host_agent
