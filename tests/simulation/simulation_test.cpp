#include "simulation/simulation.hpp"

#include <gtest/gtest.h>

#include "support/sanitized.hpp"

namespace berth::simulation {
namespace {

// Small enough for every run of the tests; tools/simulate runs larger ones.
TEST(SqliteOnlySimulation, EveryChargeIsWhatTheBookkeeperPredicts) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const Options options{.seed = seed,
                              .machines = 12,
                              .renters = 60,
                              .span = std::chrono::hours(test::sanitized ? 3 : 6),
                              .trouble_percent = 20};
        const Outcome outcome = simulate(options);
        EXPECT_GT(outcome.tally.billed_ms, 0) << outcome.text(options);
    }
}

TEST(SqliteOnlySimulation, ASeedGivesTheSameRunAgain) {
    const Options options{
        .seed = 11, .machines = 6, .renters = 20, .span = std::chrono::hours(2)};
    EXPECT_EQ(simulate(options).tally.digest, simulate(options).tally.digest);
}

}  // namespace
}  // namespace berth::simulation
