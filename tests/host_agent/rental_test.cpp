// Whole rentals on a real agent.
#include "host_agent/agent_town.hpp"
#include "host_agent/card_of_host.hpp"

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

TEST_F(AgentRental, GoesFromEnrollmentToAnEngineAndBackToTheMarket) {
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
    // Then the machine leaves, and is forgotten on both sides.
    kill_agent();
    const Outcome left = run_agent({"leave"});
    EXPECT_EQ(left.status, 0) << left.output;
    EXPECT_EQ(left.output, "left: the machine's key is dead\n");
    EXPECT_EQ(send(ada.key, "GET", machine_place()).status, 404);
    EXPECT_NE(run_agent({"run"}).output.find("enroll it first"), std::string::npos);
}

TEST_F(AgentRental, OutlivesTheKillingOfItsAgentAndIsTakenUpAgain) {
    const std::string job = run_job();
    const Door door = door_of(job);
    kill_agent();
    start_agent();
    const std::string before = member(show(job), "accepted_runtime_ms");
    EXPECT_TRUE(eventually([&] {
        return std::stoll(member(show(job), "accepted_runtime_ms")) > std::stoll(before);
    })) << show(job)
        << logs();
    EXPECT_EQ(member(show(job), "state"), "RUNNING") << show(job);
    EXPECT_TRUE(answers(door)) << logs();
    stop(job);
    EXPECT_EQ(member(show(job), "end_reason"), "renter_stop");
    EXPECT_FALSE(answers(door));
    await_machine("AVAILABLE");
}

// What a reboot does: everything of the job is gone but its folder, and the boot has another name.
TEST_F(AgentRental, IsOverAfterARebootAndCostsNothingSince) {
    const std::string job = run_job();
    kill_agent();
    const std::string told = member(read_text(job_folder(job) + "/record.json"), "reported_ms");
    const std::string process = read_text(job_folder(job) + "/process.json");
    ::kill(std::stoi(member(process, "pid")), SIGKILL);
    for (const char* name : {"/record.json", "/process.json"}) {
        std::string text = read_text(job_folder(job) + name);
        const std::string boot = member(process, "boot_id");
        for (std::size_t at = 0; (at = text.find(boot, at)) != std::string::npos;)
            text.replace(at, boot.size(), "11111111-1111-1111-1111-111111111111");
        std::ofstream(job_folder(job) + name) << text;
    }
    start_agent();
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "engine_failed") << show(job) << logs();
    EXPECT_LE(std::stoll(member(show(job), "accepted_runtime_ms")), std::stoll(told));
}

class EngineOfTable : public AgentRental {
protected:
    void SetUp() override {
        // Where a job's own folder does not hide it.
        const std::string programs = folder.path() + "/bin";
        std::filesystem::create_directory(programs);
        std::filesystem::copy(program_path("engine"), programs + "/engine");
        std::string rows;
        for (const char* name : {"vllm", "llama.cpp"})
            rows += fmt::format(R"({}{{"name":"{}","program":"/usr/bin/sh","arguments":["-c",)"
                                R"("exec {}/engine {{port}} $BERTH_API_KEY"],"readable":["{}"]}})",
                                rows.empty() ? "" : ",", name, programs, programs);
        std::ofstream(folder.path() + "/engines") << R"({"engines":[)" + rows + "]}";
        machine_options = {"--runtime", "process", "--engines", folder.path() + "/engines"};
        AgentRental::SetUp();
    }
    CardOfHost card;
};

TEST_F(EngineOfTable, ServesAndAWipeThatCannotBeShownPutsTheMachineAside) {
    const std::string job = run_job();
    EXPECT_TRUE(answers(door_of(job))) << logs();
    card.forget_what_is_written();
    stop(job);
    await_machine("QUARANTINED");
    EXPECT_NE(read_text(folder.path() + "/agent.log").find(R"("wiped":false)"), std::string::npos)
        << logs();
}

TEST_F(AgentRental, IsStoppedByItsAgentWhereItsMoneyEndsThoughTheServerIsAway) {
    const std::string job = run_job(rate / 3600 * 20);  // twenty seconds
    const Door door = door_of(job);
    server->signal(SIGKILL);
    server->wait();
    EXPECT_TRUE(eventually([&] { return !answers(door); })) << logs();
    EXPECT_NE(read_text(folder.path() + "/agent.log").find("funded_through"), std::string::npos);
    start_server();
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "funded_expiry") << show(job);
    EXPECT_LE(std::stoll(member(show(job), "cumulative_charge_micro")), rate / 3600 * 20);
    await_machine("AVAILABLE");
}

TEST_F(AgentRental, EndsWhenItsEngineDoes) {
    const std::string job = run_job();
    const std::string process = read_text(job_folder(job) + "/process.json");
    ::kill(std::stoi(member(process, "pid")), SIGKILL);
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "engine_failed") << show(job);
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
    })) << read_text(notice)
        << logs();
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
