// What START asks for, as a runtime understands it.
#pragma once

#include "agent_protocol/payloads.hpp"
#include "host_agent/job/job_context.hpp"

namespace berth::host_agent {

// Throws Problem when the order cannot be read.
Workload workload_of(const JobRecord& record, const agent_protocol::StartPayload& order,
                     const JobContext& context);

// A variable whose value has {BERTH_API_KEY} in it gets the key of the job's endpoints there, for
// programs that have a name of their own for it, and is a secret from then on.
void fill_in_key(Workload& workload, const std::string& key);

}  // namespace berth::host_agent
