// What START asks for, as a runtime understands it.
#pragma once

#include "host_agent/job/job_context.hpp"
#include "host_agent/job/orders.hpp"

namespace berth::host_agent {

// Throws Problem when the order cannot be read.
Workload workload_of(const JobRecord& record, const StartOrder& order, const JobContext& context);

}  // namespace berth::host_agent
