// A test from the wish to the admission, with an agent that signs what it sends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "machines/qualification.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "support/told.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace machines;

struct Testing : ::testing::Test {
    Testing() : Testing({{"allow-private-endpoints", "true"}}) {}
    explicit Testing(std::map<std::string, std::string> flags)
        : town(Harness::Options{.flags = std::move(flags)}) {
        const auto made = town.enlist(crypto::SigningKey::make(town.harness.random), R"(["host"])");
        key = member(made.body, "api_key.secret");
        owner = {parse_uuid(member(made.body, "account_id")).value()};
        EXPECT_EQ(agent.enroll(MachineAgent::token_for(town.harness, owner)).status, 201);
        EXPECT_EQ(agent.heartbeat().status, 200);
    }
    Machine machine() { return seen(town.harness, agent.machine); }
    // Lets the worker begin the test and gives what the agent is told.
    QualifyPayload begun() {
        town.harness.clock.advance(std::chrono::seconds(2));
        town.run_tasks();
        for (const auto& command : agent.orders().commands)
            if (command.kind == CommandKind::qualify)
                return wire::decode<QualifyPayload>(command.payload.text, "payload");
        ADD_FAILURE() << "no test was begun";
        return {};
    }
    static std::string result(const std::string& spoiled = "", const std::string& fence = "1",
                              const std::string& endpoint = "null") {
        std::string checks;
        for (const std::string id : test::checks_of_host)
            checks += fmt::format(R"({}{{"id":"{}","status":"{}"}})", checks.empty() ? "" : ",", id,
                                  id == spoiled ? "fail" : "pass");
        return fmt::format(
            R"({{"fence":"{}","checks":[{}],"measurements":{{"vram_bytes":"25757220864",)"
            R"("download_mbps":900,"upload_mbps":400}},"endpoint":{}}})",
            fence, checks, endpoint);
    }
    http::Response report(RunId run, const std::string& body) {
        return agent.send(
            {.target = fmt::format("/api/v1/host-agent/qualification/{}/result", to_string(run)),
             .body = body});
    }
    std::string path() { return "/api/v1/hosts/machines/" + to_string(agent.machine); }
    http::Response retry() {
        return town.harness.ask({.method = "POST",
                                 .target = path() + "/qualification/retry",
                                 .as = key,
                                 .key = town.harness.new_id()});
    }

    Town town;
    std::string key;
    AccountId owner;
    MachineAgent agent{town.harness};
};

TEST_F(Testing, AGoodResultQualifiesTheMachine) {
    const QualifyPayload told = begun();
    EXPECT_EQ(machine().qualify_state, QualifyState::testing);
    const auto answer = report(told.run_id, result());
    ASSERT_EQ(answer.status, 202) << answer.body;
    EXPECT_EQ(member(answer.body, "outcome"), "passed");
    EXPECT_EQ(member(answer.body, "findings.0.code"), "net.endpoint");
    EXPECT_EQ(member(answer.body, "findings.0.severity"), "warning");
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
    EXPECT_TRUE(agent.orders().commands.empty());  // it is over
    const std::string shown = town.with_key(key, "GET", path() + "/qualification").body;
    EXPECT_EQ(member(shown, "auto_qualify.state"), "passed");
    EXPECT_EQ(member(shown, "run_id"), to_string(told.run_id));
    EXPECT_EQ(member(shown, "outcome"), "passed");
    EXPECT_EQ(member(shown, "measurements.vram_bytes"), "25757220864");
    EXPECT_EQ(member(shown, "checks.0.id"), "agent.signature");
    EXPECT_EQ(member(shown, "checks.16.id"), "cleanup.wipe");
    EXPECT_EQ(member(town.with_key(key, "GET", path()).body, "vram_bytes"), "25757220864");
    const auto measured = town.harness.app->database().read(
        [&](db::Transaction& tx) { return find_measured(tx, agent.machine); });
    EXPECT_EQ(measured.value().gpus_bytes, R"(["25757220864"])") << "what has to be wiped of each";
    EXPECT_EQ(untold(town.harness.app->database(), {"machine.test_passed"}), "");
}

TEST_F(Testing, ABadResultSaysWhatToDoAndIsTriedAgain) {
    const QualifyPayload told = begun();
    const auto answer = report(told.run_id, result("gpu.idle"));
    EXPECT_EQ(member(answer.body, "outcome"), "failed");
    EXPECT_EQ(member(answer.body, "findings.0.code"), "gpu.idle");
    EXPECT_EQ(machine().state, MachineState::UNQUALIFIED);
    const std::string shown = town.with_key(key, "GET", path()).body;
    EXPECT_EQ(member(shown, "auto_qualify.state"), "retrying");
    EXPECT_NE(member(shown, "auto_qualify.reason").find("GPU"), std::string::npos);
    EXPECT_EQ(member(shown, "vram_bytes"), "null");
    EXPECT_EQ(machine().qualify_next_at, town.harness.clock.now() + std::chrono::minutes(1));
    EXPECT_EQ(untold(town.harness.app->database(), {"machine.test_failed"}), "");
}

TEST_F(Testing, AResentResultIsAnsweredAsBeforeAndAnotherIsRefused) {
    const QualifyPayload told = begun();
    const auto first = report(told.run_id, result());
    const std::int64_t version = machine().version;
    EXPECT_EQ(report(told.run_id, result()).body, first.body);
    EXPECT_EQ(machine().version, version);
    const auto other = report(told.run_id, result("ram"));
    EXPECT_EQ(other.status, 409);
    EXPECT_EQ(error_code(other), "CONFLICT");
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
}

TEST_F(Testing, ResultsThatAreNotOfThisTestAreRefused) {
    const QualifyPayload told = begun();
    EXPECT_EQ(report({make_uuid(town.harness.clock.now(), town.harness.random)}, result()).status,
              404);
    MachineAgent stranger(town.harness, "GPU-2");
    EXPECT_EQ(stranger.enroll(MachineAgent::token_for(town.harness, owner)).status, 201);
    const auto foreign =
        stranger.send({.target = fmt::format("/api/v1/host-agent/qualification/{}/result",
                                             to_string(told.run_id)),
                       .body = result()});
    EXPECT_EQ(foreign.status, 404);
    const auto stale = report(told.run_id, result("", "0"));
    EXPECT_EQ(error_code(stale), "STALE_FENCE");
    EXPECT_EQ(report(told.run_id, R"({"fence":"1"})").status, 422);
    town.harness.clock.advance(run_lasts);
    EXPECT_EQ(report(told.run_id, result()).status, 409);
}

TEST_F(Testing, TwoResultsAtOnceAreOne) {
    const QualifyPayload told = begun();
    std::vector<http::Request> requests;
    for (const std::string spoiled : {"", "gpu.idle", "ram", "disk.free"})
        requests.push_back(
            agent.request({.target = fmt::format("/api/v1/host-agent/qualification/{}/result",
                                                 to_string(told.run_id)),
                           .body = result(spoiled)}));
    std::atomic<int> taken{0};
    std::vector<std::thread> racers;
    for (const http::Request& request : requests)
        racers.emplace_back([&, &asked = request] {
            const int status = town.harness.app->service().answer(asked).status;
            EXPECT_TRUE(status == 202 || status == 409) << status;
            if (status == 202) ++taken;
        });
    for (std::thread& racer : racers) racer.join();
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(machine().qualify_run_id, std::nullopt);
}

TEST_F(Testing, AnAnnouncedEndpointIsDialledByTheWorker) {
    const QualifyPayload told = begun();
    // Nobody listens there, and it is an address of our own house besides.
    const auto answer = report(told.run_id, result("", "1", R"({"host":"127.0.0.1","port":1025})"));
    EXPECT_EQ(member(answer.body, "outcome"), "pending");
    town.run_tasks();
    EXPECT_EQ(machine().qualify_state, QualifyState::retrying);
    const std::string shown = town.with_key(key, "GET", path() + "/qualification").body;
    EXPECT_EQ(member(shown, "outcome"), "failed");
    EXPECT_EQ(member(shown, "findings.0.code"), "net.endpoint");
}

struct TestingForThePublic : Testing {
    TestingForThePublic() : Testing(std::map<std::string, std::string>{}) {}
};

// A script without a port could else pass, be rented, and never be reached.
TEST_F(TestingForThePublic, AMachineOfContainersHasToShowAnEndpoint) {
    const auto answer = report(begun().run_id, result());
    EXPECT_EQ(member(answer.body, "outcome"), "failed");
    EXPECT_EQ(member(answer.body, "findings.0.code"), "net.endpoint");
    EXPECT_EQ(member(answer.body, "findings.0.severity"), "blocker");
    EXPECT_NE(member(answer.body, "findings.0.message").find("No endpoint was announced"),
              std::string::npos);
    EXPECT_EQ(machine().state, MachineState::UNQUALIFIED);
}

TEST_F(Testing, TheOwnerAsksForAnotherTest) {
    report(begun().run_id, result("driver.version"));
    EXPECT_EQ(machine().qualify_state, QualifyState::needs_attention);
    const auto asked = retry();
    ASSERT_EQ(asked.status, 202) << asked.body;
    EXPECT_EQ(member(asked.body, "decision"), "admitted");
    EXPECT_EQ(member(asked.body, "state"), "UNQUALIFIED");
    EXPECT_EQ(member(asked.body, "offer_version"), "null");
    EXPECT_EQ(member(asked.body, "findings"), "[]");
    EXPECT_EQ(machine().qualify_failures, 0);
    report(begun().run_id, result());
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
    town.harness.clock.advance(std::chrono::seconds(91));
    EXPECT_EQ(member(retry().body, "findings.0.code"), "HEARTBEAT_STALE");
    EXPECT_EQ(member(town.with_key(key, "GET", path()).body, "listing_blockers.1"),
              "NOT_QUALIFIED");
}

TEST_F(Testing, AMachineInUseIsNotTested) {
    const Machine busy = enrolled(town.harness, owner, {.state = MachineState::ALLOCATED});
    const auto answer = town.harness.ask(
        {.method = "POST",
         .target = "/api/v1/hosts/machines/" + to_string(busy.machine_id) + "/qualification/retry",
         .as = key,
         .key = town.harness.new_id()});
    EXPECT_EQ(answer.status, 409);
}

}  // namespace
}  // namespace berth::test
