// Days of a market in a minute: machines and renters that behave as they do, a service that is
// restarted and put back to a copy, and a bookkeeper who knows what everything should have cost.
// The same seed gives the same run, answer by answer.
#pragma once

#include <memory>

#include "simulation/host_agent.hpp"

namespace berth::simulation {

struct Options {
    std::uint64_t seed = 1;
    int machines = 200;
    int renters = 500;
    Duration span = std::chrono::hours(24);
    int trouble_percent = 10;  // of hosts
    bool restores = true;      // the service is put back to a copy of its database
};

struct Outcome {
    Tally tally;
    double model_seconds = 0;  // of this, by the bookkeeper
    double seconds = 0;

    std::string text(const Options& options) const;
};

// Throws Difference when the service and the bookkeeper do not agree, when something is stuck, or
// when the ledger does not prove itself.
Outcome simulate(const Options& options);

}  // namespace berth::simulation
