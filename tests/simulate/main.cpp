// simulate --seeds N --days D [--first S] [--machines M] [--renters R]: many runs of the
// simulation, one line each. It ends with the first run that goes wrong and names its seed.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "simulation/simulation.hpp"

int main(int count, char** words) {
    using namespace berth;
    std::map<std::string, long> given{
        {"--seeds", 1}, {"--days", 1}, {"--first", 1}, {"--machines", 200}, {"--renters", 500}};
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count || !given.contains(words[i])) {
            std::fputs("usage: simulate [--seeds N] [--days D] [--first S] [--machines M] "
                       "[--renters R]\n", stderr);
            return 2;
        }
        given[words[i]] = std::stol(words[i + 1]);
    }
    double hours = 0;
    double seconds = 0;
    for (long i = 0; i < given["--seeds"]; ++i) {
        const simulation::Options options{
            .seed = static_cast<std::uint64_t>(given["--first"] + i),
            .machines = static_cast<int>(given["--machines"]),
            .renters = static_cast<int>(given["--renters"]),
            .span = std::chrono::hours(24 * given["--days"])};
        try {
            const auto outcome = simulation::simulate(options);
            fmt::print("{}\n", outcome.text(options));
            hours += static_cast<double>(outcome.tally.billed_ms) / 3'600'000;
            seconds += outcome.seconds;
        } catch (const simulation::Difference& difference) {
            fmt::print("FAILED {}\n", difference.what());
            return 1;
        }
        std::fflush(stdout);
    }
    fmt::print("{} seeds of {} days: no difference; {:.0f} billed hours in {:.0f} s\n",
               given["--seeds"], given["--days"], hours, seconds);
    return 0;
}
