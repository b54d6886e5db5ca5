// What `berth-agent` can be told to do. Each returns the exit status; what goes wrong is thrown
// with one sentence for whoever typed it.
#pragma once

#include "host_agent/program/options.hpp"

namespace berth::host_agent {

int enroll(const Options& options);
int run(const Options& options);     // where it has slots, an agent for each
int status(const Options& options);  // of each slot, unless one is named
int drain(const Options& options);
int logs(const Options& options);
int preempt(const Options& options);
int doctor(const Options& options);
int test_machine(const Options& options);
int setup(const Options& options);
int leave(const Options& options);  // each slot, unless one is named
int mend_fence(const Options& options);

}  // namespace berth::host_agent
