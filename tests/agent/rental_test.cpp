// Whole rentals on a real agent.
#include "agent/agent_town.hpp"

namespace berth::test {
namespace {

class AgentRental : public AgentTown {
protected:
    std::string run_job(std::int64_t budget = 20'000'000) {
        open_host();
        const std::string job = reserve(budget);
        await_state(job, "RUNNING");
        return job;
    }
    void stop(const std::string& job) {
        post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
        await_state(job, "CLOSED");
    }
    std::string job_folder(const std::string& job) const { return state() + "/jobs/" + job; }
};

TEST_F(AgentRental, GoesFromEnrolmentToAnEngineAndBackToTheMarket) {
    const std::string job = run_job();
    const std::string test = get(ada, machine_place() + "/qualification");
    EXPECT_EQ(member(test, "outcome"), "passed") << test;
    EXPECT_EQ(member(test, "measurements.gpu_mem_bw_gbps"), "") << test;  // nothing measured it
    EXPECT_TRUE(answers(door_of(job))) << logs();
    EXPECT_NE(member(show(job), "time_to_ready"), "null");
    stop(job);
    EXPECT_EQ(member(show(job), "end_reason"), "renter_stop");
    await_machine("AVAILABLE");
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(job_folder(job)); }));
    const std::string evidence = get(ben, "/api/v1/jobs/" + job + "/evidence?limit=100");
    EXPECT_NE(evidence.find("\"CLEANED\""), std::string::npos) << evidence;
    EXPECT_NE(evidence.find("verified_bytes"), std::string::npos) << evidence;
}

TEST_F(AgentRental, OutlivesTheKillingOfItsAgentAndIsTakenUpAgain) {
    const std::string job = run_job();
    const Door door = door_of(job);
    kill_agent();
    start_agent();
    const std::string before = member(show(job), "accepted_runtime_ms");
    EXPECT_TRUE(eventually([&] {
        return std::stoll(member(show(job), "accepted_runtime_ms")) > std::stoll(before);
    })) << show(job) << logs();
    EXPECT_EQ(member(show(job), "state"), "RUNNING") << show(job);
    EXPECT_TRUE(answers(door)) << logs();
    stop(job);
    EXPECT_EQ(member(show(job), "end_reason"), "renter_stop");
    EXPECT_FALSE(answers(door));
    await_machine("AVAILABLE");
}

TEST_F(AgentRental, IsStoppedByItsAgentWhereItsMoneyEndsThoughTheServerIsAway) {
    const std::string job = run_job(rate / 3600 * 5);  // five seconds
    const Door door = door_of(job);
    server->signal(SIGKILL);
    server->wait();
    EXPECT_TRUE(eventually([&] { return !answers(door); })) << logs();
    EXPECT_NE(read_text(folder.path() + "/agent.log").find("funded_through"), std::string::npos);
    start_server();
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "funded_expiry") << show(job);
    EXPECT_LE(std::stoll(member(show(job), "cumulative_charge_micro")), rate / 3600 * 5);
    await_machine("AVAILABLE");
}

TEST_F(AgentRental, EndsWhenItsEngineDoes) {
    const std::string job = run_job();
    const std::string process = read_text(job_folder(job) + "/process.json");
    ::kill(std::stoi(member(process, "pid")), SIGKILL);
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "workload_exited") << show(job);
    await_machine("AVAILABLE");
}

TEST_F(AgentRental, IsGivenNoticeByTheOwnerOfTheMachine) {
    mode = "idle";
    const std::string job = run_job();
    const Outcome told = run_agent({"preempt", "--reason", "a game"});
    EXPECT_EQ(told.status, 0) << told.output;
    const std::string notice = job_folder(job) + "/notice/notice.json";
    EXPECT_EQ(member(read_text(notice), "kind"), "preempt") << read_text(notice);
    EXPECT_NE(member(show(job), "preemption"), "null") << show(job);
    // The next lease says until when.
    EXPECT_TRUE(eventually([&] {
        const std::string deadline = member(read_text(notice), "deadline");
        return !deadline.empty() && deadline != "null";
    })) << read_text(notice) << logs();
    stop(job);
}

TEST_F(AgentRental, OnADedicatedMachineTakesNoNotice) {
    const std::string job = run_job();
    const Outcome told = run_agent({"preempt"});
    EXPECT_EQ(told.status, 1) << told.output;
    EXPECT_NE(told.output.find("refused by the server (409)"), std::string::npos) << told.output;
    // Nor is there room for a second agent, nor can the machine leave now.
    const Outcome second = run_agent({"run"});
    EXPECT_NE(second.status, 0);
    EXPECT_NE(second.output.find("another agent uses"), std::string::npos) << second.output;
    const Outcome status = run_agent({"status"});
    EXPECT_NE(status.output.find("job " + job + " RUNNING"), std::string::npos) << status.output;
    stop(job);
}

}  // namespace
}  // namespace berth::test
