// Whole rentals on a real agent.
#include "agent/agent_town.hpp"

namespace berth::test {
namespace {

using AgentRental = AgentTown;

TEST_F(AgentRental, GoesFromEnrolmentToAnEngineAndBackToTheMarket) {
    open_host();
    const std::string test = get(ada, machine_place() + "/qualification");
    EXPECT_EQ(member(test, "outcome"), "passed") << test;
    const std::string job = reserve();
    await_state(job, "RUNNING");
    EXPECT_EQ(ask_engine(job, "/v1/models").status, 200);
    EXPECT_NE(member(show(job), "time_to_ready"), "null");
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "renter_stop");
    await_machine("AVAILABLE");
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(state() + "/jobs/" + job); }));
}

}  // namespace
}  // namespace berth::test
