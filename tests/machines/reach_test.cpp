// How a machine is reached: what its test dials, and what follows from it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent_protocol/hashes.hpp"
#include "crypto/seal.hpp"
#include "http/server.hpp"
#include "machines/enrolled_agent.hpp"
#include "machines/upkeep.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace machines;

// Gates as machines sees them.
struct GatesDouble final : GateSide {
    bool is_any_live(db::Transaction&, Time) const override { return lives; }
    std::optional<DoorPlace> find_test_door(db::Transaction&, const TestDoor& door,
                                            Time) const override {
        if (door.host != "gate.example" || door.port != 20001) return std::nullopt;
        return DoorPlace{"127.0.0.1", 1};
    }
    bool lives = true;
};

// What answers at a port: the token of a test, or something else.
struct Listening final : http::Handler {
    explicit Listening(std::string answer) : says(std::move(answer)) { server.start(); }
    void handle(http::Request, http::Reply reply) override {
        ++asked;
        http::Response response;
        response.content_type = "text/plain";
        response.body = says;
        reply(std::move(response));
    }
    std::string says;
    std::atomic<int> asked{0};
    http::Server server{{}, *this};
};

std::string manifest_with(const std::optional<GateWish>& wish) {
    agent_protocol::Manifest manifest = manifest_4090("GPU-1");
    manifest.gate = wish;
    return agent_protocol::canonical_manifest(manifest);
}

struct Reaching : Agents {
    template <class Function>
    auto write(Function function) {
        return harness.app->database().write([&](db::Transaction& tx) {
            return function(db::Context{tx, harness.random, harness.clock.now()});
        });
    }
    void wish(const std::optional<GateWish>& wished) {
        write([&](const db::Context& context) {
            save_manifest(context.tx, agent.machine, manifest_with(wished), {"GPU-1"});
        });
    }
    bool begin() {
        harness.clock.advance(std::chrono::seconds(20));
        EXPECT_EQ(agent.heartbeat().status, 200);
        write([&](const db::Context& context) {
            Machine row = hold(context.tx, agent.machine).value();
            row.qualify_next_at = context.now;
            save(context, row);
        });
        return write(
            [&](const db::Context& context) { return tests.begin(context, agent.machine); });
    }
    // What the agent is told of the test that was begun.
    QualifyPayload told() {
        for (const auto& command : agent.orders().commands)
            if (command.kind == CommandKind::qualify)
                return wire::decode<QualifyPayload>(command.payload.text, "payload");
        ADD_FAILURE() << "no test was begun";
        return {};
    }
    machines::Run last_run() {
        return harness.app->database().read(
            [&](db::Transaction& tx) { return find_last_run(tx, agent.machine).value(); });
    }
    // Raw, as docs/agent-messages.md has it.
    http::Response report(const std::string& endpoint, const std::string& door,
                          const std::string& more_checks = "") {
        std::string checks = more_checks;
        for (const std::string id : checks_of_host)
            checks +=
                fmt::format(R"({}{{"id":"{}","status":"pass"}})", checks.empty() ? "" : ",", id);
        return agent.send(
            {.target = fmt::format("/api/v1/host-agent/qualification/{}/result",
                                   to_string(last_run().run_id)),
             .body = fmt::format(
                 R"({{"fence":"1","checks":[{}],"measurements":{{"vram_bytes":"25757220864",)"
                 R"("download_mbps":900,"upload_mbps":400}},"endpoint":{}{}}})",
                 checks, endpoint, door.empty() ? "" : ",\"door\":" + door)});
    }
    // As if the worker had dialled what was announced.
    void dialled(const Qualifications::DialResult& result) {
        const RunId run = last_run().run_id;
        write([&](const db::Context& context) {
            return tests.end_dialling(context, run, result, rules);
        });
    }
    std::string why() {
        return harness.app->database()
            .read([&](db::Transaction& tx) { return find_reach_why(tx, agent.machine); })
            .value_or("");
    }

    GatesDouble gates;
    Qualifications tests{harness.app->host_agents().commands(),
                         http::Reach::public_only,
                         {.unproven_allowed = true},
                         &gates};
    ListingRules rules;
};

const std::string own_port = R"({"host":"203.0.113.7","port":40000})";
const std::string own_door = R"({"host":"gate.example","port":20001})";

TEST_F(Reaching, ATestOffersAGateWhereOneLivesAndTheOwnerHasNotRuledItOut) {
    ASSERT_TRUE(begin());
    EXPECT_EQ(told().reach, Reach::gate);
    EXPECT_TRUE(last_run().gate_offered);
    wish(GateWish::never);
    ASSERT_TRUE(begin());
    EXPECT_FALSE(last_run().gate_offered);
    wish(std::nullopt);
    gates.lives = false;
    ASSERT_TRUE(begin());
    EXPECT_FALSE(last_run().gate_offered);
}

TEST_F(Reaching, WhoWantsAGateAlwaysWaitsForOneAndThatIsNoFailure) {
    wish(GateWish::always);
    gates.lives = false;
    EXPECT_FALSE(begin());
    EXPECT_EQ(machine().qualify_state, QualifyState::retrying);
    EXPECT_EQ(machine().qualify_failures, 0);
    EXPECT_EQ(machine().qualify_next_at, harness.clock.now() + gate_awaited);
    EXPECT_NE(machine().qualify_reason.value_or("").find("No gate"), std::string::npos);
    gates.lives = true;
    EXPECT_TRUE(begin());
}

TEST_F(Reaching, AHostWithoutAnAddressOfItsOwnIsReachedByTheGate) {
    begin();
    const auto answer = report("null", own_door);
    EXPECT_EQ(member(answer.body, "outcome"), "pending") << answer.body;
    dialled({Dialled::answered, "", Reach::gate});
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
    EXPECT_EQ(machine().reach, Reach::gate);
    EXPECT_EQ(why(), "A gate leads to it: the agent names no address of its own.");
    const auto orders = agent.orders();
    EXPECT_EQ(orders.reach, Reach::gate);
    EXPECT_EQ(orders.reach_why, why()) << "so that the host's own doctor can say it";
}

TEST_F(Reaching, AHostWhosePortsCloseMovesToTheGateAndBack) {
    begin();
    report(own_port, own_door);
    dialled({Dialled::answered, "", Reach::direct});
    EXPECT_EQ(machine().reach, Reach::direct);
    EXPECT_EQ(why(), "Its own port, 203.0.113.7:40000, answered the server.");
    begin();
    report(own_port, own_door);
    dialled({Dialled::answered, "Connection refused.", Reach::gate});
    EXPECT_EQ(machine().state, MachineState::UNLISTED) << "passed, and not unqualified";
    EXPECT_EQ(machine().reach, Reach::gate);
    EXPECT_NE(why().find("203.0.113.7:40000, did not answer the server. Connection refused."),
              std::string::npos)
        << why();
    begin();
    report(own_port, own_door);
    dialled({Dialled::answered, "", Reach::direct});
    EXPECT_EQ(machine().reach, Reach::direct);
}

TEST_F(Reaching, AFailedTestLeavesTheWayAsItWas) {
    begin();
    report("null", own_door);
    dialled({Dialled::answered, "", Reach::gate});
    begin();
    report(own_port, own_door);
    dialled({Dialled::unreachable, "Timed out.", Reach::gate});
    EXPECT_EQ(machine().qualify_state, QualifyState::retrying);
    EXPECT_EQ(machine().reach, Reach::gate);
    EXPECT_NE(machine().qualify_reason.value_or("").find("Allow outbound TCP to the gate"),
              std::string::npos);
}

TEST_F(Reaching, AWayThatTheOwnerDoesNotWantDoesNotCount) {
    wish(GateWish::always);
    begin();
    const auto always = report(own_port, "");
    EXPECT_EQ(member(always.body, "outcome"), "failed") << always.body;
    EXPECT_NE(member(always.body, "findings.0.message").find("got no door"), std::string::npos);
    EXPECT_EQ(last_run().endpoint_host, std::nullopt);
    wish(GateWish::never);
    begin();
    const auto never = report("null", own_door);
    EXPECT_EQ(member(never.body, "outcome"), "failed") << never.body;
    EXPECT_NE(member(never.body, "findings.0.message").find("--gate never"), std::string::npos);
    EXPECT_EQ(last_run().door_host, std::nullopt);
}

TEST_F(Reaching, AnAgentWithoutADoorSaysWhyInTheFinding) {
    begin();
    const auto answer = report(
        "null", "", R"({"id":"net.gate","status":"warn","summary":"gate.example:443 is closed."})");
    const std::string message = member(answer.body, "findings.0.message");
    EXPECT_EQ(member(answer.body, "findings.0.code"), "net.endpoint") << answer.body;
    EXPECT_TRUE(message.starts_with("The agent got no door of a gate. gate.example:443 is closed."))
        << message;
}

// The examination of the cards comes after the dialling, and must not forget its outcome.
TEST_F(Reaching, TheExaminationOfTheCardsKeepsTheWay) {
    const ExaminationTask task{RunId::make(harness.clock.now(), harness.random), Dialled::answered,
                               "", Reach::gate};
    const auto read = wire::decode<ExaminationTask>(wire::encode(task), "payload");
    EXPECT_EQ(read.reach, Reach::gate);
    const auto old = wire::decode<ExaminationTask>(
        fmt::format(R"({{"run_id":"{}","dialled":"answered","reason":""}})",
                    to_string(task.run_id)),
        "payload");
    EXPECT_EQ(old.reach, std::nullopt) << "of a process that knew no gates";
    begin();
    report("null", own_door);
    const RunId run = last_run().run_id;
    write([&](const db::Context& context) {
        return tests.end_examination(
            context, run, {Dialled::answered, "", Reach::gate},
            {.state = ProofState::proven, .bytes = 25'000'000'000, .tops = 300}, rules);
    });
    EXPECT_EQ(machine().reach, Reach::gate);
}

struct Dialling : ::testing::Test {
    machines::Run run() {
        machines::Run made;
        made.endpoint_token = "bet_token";
        return made;
    }
    static DoorPlace place(const Listening& at) { return {"127.0.0.1", at.server.port()}; }
    static void name_own(machines::Run& run, const Listening& at) {
        run.endpoint_host = "127.0.0.1";
        run.endpoint_port = at.server.port();
    }
    static void name_door(machines::Run& run) {
        run.door_host = "gate.example";
        run.door_port = 20001;
    }
};

TEST_F(Dialling, TheOwnPortIsDialledFirstAndIsEnough) {
    Listening own("bet_token");
    Listening door("bet_token");
    machines::Run named = run();
    name_own(named, own);
    name_door(named);
    const auto result = dial_ways(named, place(door), http::Reach::anywhere);
    EXPECT_EQ(result.dialled, Dialled::answered);
    EXPECT_EQ(result.reach, Reach::direct);
    EXPECT_EQ(door.asked, 0);
}

TEST_F(Dialling, TheDoorIsDialledWhenTheOwnPortDoesNotAnswer) {
    Listening own("something else");
    Listening door("bet_token");
    machines::Run named = run();
    name_own(named, own);
    name_door(named);
    // The port is of our own house, too, and such are not dialled; the operator's gate may be.
    for (const http::Reach reach : {http::Reach::anywhere, http::Reach::public_only}) {
        const auto result = dial_ways(named, place(door), reach);
        EXPECT_EQ(result.dialled, Dialled::answered);
        EXPECT_EQ(result.reach, Reach::gate);
        EXPECT_NE(result.reason, "") << "why not the own port";
    }
    EXPECT_EQ(own.asked, 1);
}

TEST_F(Dialling, ADoorThatAnswersWithSomethingElseIsNone) {
    Listening door("another's token");
    machines::Run named = run();
    name_door(named);
    const auto result = dial_ways(named, place(door), http::Reach::public_only);
    EXPECT_EQ(result.dialled, Dialled::unreachable);
    EXPECT_NE(result.reason.find("token"), std::string::npos) << result.reason;
}

// A host could else have the server ask any address of the operator's house.
TEST_F(Dialling, ADoorThatGatesDoesNotKnowIsNotDialled) {
    Listening house("bet_token");
    machines::Run named = run();
    named.door_host = "127.0.0.1";
    named.door_port = house.server.port();
    const auto result = dial_ways(named, std::nullopt, http::Reach::anywhere);
    EXPECT_EQ(result.dialled, Dialled::unreachable);
    EXPECT_EQ(house.asked, 0);
    EXPECT_EQ(result.reason, "The door that was named is none of this test.");
}

TEST_F(Reaching, TheDoorOfATestIsAskedOfGatesByItsNameAlone) {
    begin();
    report("null", own_door);
    const machines::Run run = last_run();
    harness.app->database().read([&](db::Transaction& tx) {
        const auto place = tests.find_door(tx, run, harness.clock.now());
        ASSERT_TRUE(place);
        EXPECT_EQ(place->host, "127.0.0.1") << "where the operator says that it is";
        machines::Run other = run;
        other.door_port = 20002;
        EXPECT_FALSE(tests.find_door(tx, other, harness.clock.now()));
    });
}

}  // namespace
}  // namespace berth::test
