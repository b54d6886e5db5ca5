// Every program says the version that CMakeLists.txt names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace berth::test {
namespace {

class Version : public ::testing::TestWithParam<const char*> {};

TEST_P(Version, IsThatOfTheProject) {
    const Outcome said = run_program({program_path(GetParam()), "--version"});
    EXPECT_EQ(said.status, 0) << said.output;
    EXPECT_EQ(said.output, fmt::format("{} {}\n", GetParam(), BERTH_PROJECT_VERSION));
}

INSTANTIATE_TEST_SUITE_P(Programs, Version,
                         ::testing::Values("berthd", "berth-agent", "berth-box"));

TEST(CommandLineVersion, IsThatOfTheProject) {
    const auto said = [](const char* output) {
        return run_program({program_path("berth"), "version", "--output", output}).output;
    };
    EXPECT_EQ(said("table"), fmt::format("berth {}\n", BERTH_PROJECT_VERSION));
    EXPECT_EQ(said("json"), fmt::format("{{\"version\":\"{}\"}}\n", BERTH_PROJECT_VERSION));
}

}  // namespace
}  // namespace berth::test
