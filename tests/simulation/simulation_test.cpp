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

// So that the machines that were rented after the copy seem idle to the books that are put back.
TEST(SqliteOnlySimulation, NoMachineIsRentedBeforeItWasCleanedAcrossARestore) {
    std::int64_t rushed = 0;
    for (const std::uint64_t seed : {21U, 22U, 23U, 24U, 25U, 26U}) {
        const Options options{.seed = seed,
                              .machines = 12,
                              .renters = 30,
                              .span = std::chrono::hours(4),
                              .trouble_percent = 0};
        const Outcome outcome = simulate(options);
        const auto found = outcome.tally.counts.find("rushed for");
        if (found != outcome.tally.counts.end()) rushed += found->second;
    }
    EXPECT_GT(rushed, 0) << "none of the seeds went back soon";
}

TEST(SqliteOnlySimulation, ASeedGivesTheSameRunAgain) {
    const Options options{.seed = 11, .machines = 6, .renters = 20, .span = std::chrono::hours(2)};
    EXPECT_EQ(simulate(options).tally.digest, simulate(options).tally.digest);
}

}  // namespace
}  // namespace berth::simulation
