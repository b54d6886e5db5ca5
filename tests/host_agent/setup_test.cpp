// A host's first day with real processes: setup, test, status, drain, leave.
#include "host_agent/agent_town.hpp"

namespace berth::test {
namespace {

class FirstDay : public AgentTown {
protected:
    std::string token(const std::string& wish) {
        const std::string body = R"({"tier":"inference")" + wish + "}";
        const std::string token =
            member(post(ada, "/api/v1/hosts/enrollments", body, 201), "token");
        std::ofstream(folder.path() + "/token") << token << "\n";
        return folder.path() + "/token";
    }
    Outcome set_up(std::vector<std::string> more = {}) {
        const std::uint16_t first = free_ports(9);
        std::vector<std::string> words{"setup",   "--server",
                                       url,       "--no-start",
                                       "--ports", fmt::format("{}-{}", first, first + 8)};
        words.insert(words.end(), machine_options.begin(), machine_options.end());
        words.insert(words.end(), more.begin(), more.end());
        return run_agent(words);
    }
    void know_machine() {
        const std::string list = get(ada, "/api/v1/hosts/machines");
        machine = member(list, "items.0.machine_id");
        ASSERT_EQ(machine.size(), 36U) << list;
    }
    // From nothing to listed.
    void be_listed() {
        const Outcome enrolled =
            set_up({"--token-file", token(R"(,"rate_micro_per_hour":"400000","list":true)")});
        ASSERT_EQ(enrolled.status, 0) << enrolled.output;
        know_machine();
        start_agent();
        await_machine("AVAILABLE");
        offer = member(get(ada, machine_place() + "/offers"), "items.0.offer_id");
    }
    static void expect_words(const std::string& text, const std::vector<std::string>& wanted) {
        for (const std::string& words : wanted)
            EXPECT_NE(text.find(words), std::string::npos) << words << "\n---\n" << text;
    }
};

TEST_F(FirstDay, SetupLooksTestsEnrollsAndSeesItListed) {
    const Outcome ready = set_up();
    EXPECT_EQ(ready.status, 0) << ready.output;
    expect_words(ready.output,
                 {"1. what this host has\n", "ok   1 GPUs", "firewall", "2. the machine test",
                  "pass    disk.free", "needed 20000000000 bytes", "skipped net.down",
                  "berth machines enroll --rate 0.40 --list"});
    EXPECT_FALSE(std::filesystem::exists(state() + "/identity.json")) << "nothing was enrolled";
    EXPECT_EQ(member(get(ada, "/api/v1/hosts/machines"), "items.0.machine_id"), "");

    const Outcome enrolled =
        set_up({"--token-file", token(R"(,"rate_micro_per_hour":"400000","list":true)")});
    EXPECT_EQ(enrolled.status, 0) << enrolled.output;
    expect_words(enrolled.output, {"enrolled as machine ", "berth-agent run --state " + state()});
    know_machine();
    start_agent();
    const std::string control = state() + "/control";
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(control); })) << logs();
    // Again: what was done is not done again, and it waits for the listing.
    const Outcome listed = set_up();
    EXPECT_EQ(listed.status, 0) << listed.output << logs();
    EXPECT_EQ(listed.output.find("what this host has"), std::string::npos) << listed.output;
    expect_words(listed.output, {"state     AVAILABLE", "offer     listed, 0.4000 an hour"});
    EXPECT_EQ(member(get(ada, machine_place()), "current_offer.rate_micro_per_hour"), "400000");
}

TEST_F(FirstDay, SetupEnrollsNobodyWhileSomethingIsMissing) {
    machine_options = {"--runtime", "process", "--gpus", "none"};
    const Outcome bare = set_up({"--token-file", token("")});
    EXPECT_EQ(bare.status, 1) << bare.output;
    expect_words(bare.output, {"BAD  0 GPUs", "mend what is BAD"});
    EXPECT_FALSE(std::filesystem::exists(state() + "/identity.json"));
}

TEST_F(FirstDay, StatusTellsWhatOwnersAsk) {
    be_listed();
    const Outcome idle = run_agent({"status"});
    EXPECT_EQ(idle.status, 0) << idle.output;
    expect_words(idle.output, {"running\nmachine " + machine + "\n", "state     AVAILABLE",
                               "rental    not rented", "earned    0.0000 today, 0.0000 this month",
                               "offer     listed, 0.4000 an hour", "test      passed",
                               "jobs are reached", "card", "load", "heat", "RTX 4090"});
    const std::string job = reserve();
    await_state(job, "RUNNING");
    expect_words(run_agent({"status"}).output, {"rental    rented since", "0.4000 an hour"});
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "CLOSED");
    await_machine("AVAILABLE");
    kill_agent();
    const Outcome stopped = run_agent({"status"});
    EXPECT_EQ(stopped.status, 3);
    expect_words(stopped.output, {"not running\nmachine " + machine, "state     AVAILABLE"});
    server->signal(SIGTERM);
    server->wait();
    expect_words(run_agent({"status"}).output, {"unknown: the server was not reached"});
    EXPECT_EQ(run_agent({"status"}).status, 3);
}

TEST_F(FirstDay, NobodyIsTestedOrLeavesWhileRented) {
    be_listed();
    const std::string job = reserve();
    await_state(job, "RUNNING");
    const Outcome tested = run_agent({"test"});
    EXPECT_EQ(tested.status, 1) << tested.output;
    expect_words(tested.output, {"this machine is rented"});

    const Outcome drained = run_agent({"drain"});
    EXPECT_EQ(drained.status, 0) << drained.output;
    expect_words(drained.output, {"the rental goes on", "state     DRAINING"});
    EXPECT_EQ(member(show(job), "state"), "RUNNING");
    kill_agent();
    const Outcome refused = run_agent({"leave"});
    EXPECT_EQ(refused.status, 1) << refused.output;
    expect_words(refused.output, {"this machine is rented (job " + job + ")"});
    EXPECT_EQ(send(ada.key, "GET", machine_place()).status, 200);

    start_agent();
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "CLOSED");
    await_machine("UNLISTED");
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(state() + "/jobs/" + job); }))
        << logs();
    kill_agent();
    const Outcome left = run_agent({"leave"});
    EXPECT_EQ(left.status, 0) << left.output;
    EXPECT_FALSE(std::filesystem::exists(state())) << "nothing is left";
    EXPECT_EQ(send(ada.key, "GET", machine_place()).status, 404);
}

// The server has heard it, and the host was switched off before the rest.
TEST_F(FirstDay, LeavingGoesOnWhereItWasInterrupted) {
    be_listed();
    kill_agent();
    const std::string kept = folder.path() + "/kept";
    std::filesystem::copy_file(state() + "/identity.json", kept);
    ASSERT_EQ(run_agent({"leave"}).status, 0);
    std::filesystem::create_directory(state());
    std::filesystem::permissions(state(), std::filesystem::perms::owner_all);
    std::filesystem::copy_file(kept, state() + "/identity.json");
    std::ofstream(state() + "/counters.json") << "{}";
    const Outcome again = run_agent({"leave"});
    EXPECT_EQ(again.status, 0) << again.output;
    expect_words(again.output, {"did not know this machine"});
    EXPECT_FALSE(std::filesystem::exists(state()));
}

}  // namespace
}  // namespace berth::test
