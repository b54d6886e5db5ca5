// What a job uses of its agent.
#pragma once

#include <functional>
#include <vector>

#include "gpu/gpu.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/core/gate_doors.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/shared_counters.hpp"
#include "host_agent/core/state_folder.hpp"
#include "host_agent/job/job_record.hpp"
#include "http/client.hpp"

namespace berth::host_agent {

struct JobContext {
    JobRecords records;
    Settings settings;
    Runtime& runtime;
    Front* front;       // null: endpoints are served without TLS, on loopback alone
    Front& gate_front;  // by a gate nothing goes without TLS
    GateDoors& gate;
    gpu::Gpus& gpus;
    std::function<std::vector<GpuName>()> gpu_names;  // as they are now
    // Puts the owner's power limit on the cards; why it could not, empty when it could or there is
    // none. It asks the driver, so that only a job's own thread waits for it.
    std::function<std::optional<std::string>()> limit_power;
    const BootClock& clock;
    ServerTime& time;
    SharedCounters& counters;
    http::Client& client;
    std::function<void()> wake_sender;     // there is something to send
    std::function<void()> wake_heartbeat;  // something changed that the server should know
    std::function<void()> wake_deadlines;  // a deadline may have moved

    // What stands before the http endpoints of such a job; null where nothing does.
    Front* front_of(const JobRecord& record) const {
        return record.is_by_gate() ? &gate_front : front;
    }

    // The server's, as far as it is known.
    Time now() const { return time.now().value_or(clock.wall()); }
};

}  // namespace berth::host_agent
