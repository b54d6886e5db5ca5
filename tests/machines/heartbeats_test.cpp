// Heartbeats of an enrolled agent: what they change, and what they are answered.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent_protocol/counters.hpp"
#include "agent_protocol/hashes.hpp"
#include "machines/enrolled_agent.hpp"
#include "support/eventually.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using agent_protocol::CommandKind;
using machines::MachineState;

TEST_F(Agents, AreHeard) {
    agent.telemetry =
        wire::decode<agent_protocol::Telemetry>(R"({"load_1m":1.5,"gpus":[{"util_pct":97}]})");
    const http::Response response = agent.heartbeat();
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(member(response.body, "fence"), "1");
    EXPECT_EQ(member(response.body, "server_time"), to_rfc3339(harness.clock.now()));
    EXPECT_EQ(stored_telemetry(), wire::encode(*agent.telemetry));
    const machines::Machine after = machine();
    EXPECT_EQ(after.mode, machines::HostMode::dedicated);
    EXPECT_EQ(after.offerable, true);
    EXPECT_EQ(after.mode_observed_at, harness.clock.now());

    // The next one changes nothing, and one without telemetry leaves the last sample.
    harness.clock.advance(std::chrono::seconds(20));
    agent.telemetry.reset();
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(machine().version, after.version);
    EXPECT_EQ(stored_telemetry(), R"({"load_1m":1.5,"gpus":[{"util_pct":97}]})");
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(machines::find_last_healthy(tx, agent.machine), harness.clock.now());
    });
}

TEST_F(Agents, ChangeTheRowOnlyWhenTheirModeChanges) {
    agent.heartbeat();
    const std::int64_t version = machine().version;
    harness.clock.advance(std::chrono::seconds(20));
    agent.host_mode = wire::decode<agent_protocol::HostModeReport>(
        R"({"mode":"idle","offerable":false,"reasons":["a game \"runs\""]})");
    agent.heartbeat();
    EXPECT_EQ(machine().version, version + 1);
    EXPECT_EQ(machine().mode_reasons, R"(["a game \"runs\""])");
    harness.clock.advance(std::chrono::seconds(20));
    agent.heartbeat();
    EXPECT_EQ(machine().version, version + 1);
}

TEST_F(Agents, TellWhichImagesAreOnTheirHostsWithoutChangingTheRow) {
    const auto stored = [&] {
        return harness.app->database()
            .read([&](db::Transaction& tx) {
                return tx.fetch_value<std::string>(
                    "SELECT images FROM machine_images WHERE machine_id = $1", agent.machine);
            })
            .value_or("none");
    };
    agent.heartbeat();
    const std::int64_t version = machine().version;
    EXPECT_EQ(stored(), "none");
    const std::string digest = "sha256:" + std::string(64, 'a');
    agent.warm_images = {digest};
    harness.clock.advance(std::chrono::seconds(20));
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(stored(), "[\"" + digest + "\"]");
    // Left out they are as they were.
    agent.warm_images.reset();
    harness.clock.advance(std::chrono::seconds(20));
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(stored(), "[\"" + digest + "\"]");
    agent.warm_images.emplace();
    harness.clock.advance(std::chrono::seconds(20));
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(stored(), "[]");
    EXPECT_EQ(machine().version, version);

    agent.warm_images = {"docker.io/a/b@" + digest};
    harness.clock.advance(std::chrono::seconds(20));
    const http::Response refused = agent.heartbeat();
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(refused.body.find("body.warm_images"), std::string::npos) << refused.body;
    agent.warm_images = std::vector<std::string>(33, digest);
    EXPECT_EQ(agent.heartbeat().status, 422);
}

TEST_F(Agents, WithAnOldFenceAreToldTheNewOne) {
    harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, agent.machine).value();
        row.fence = 7;
        machines::save({tx, harness.random, harness.clock.now()}, row);
    });
    const http::Response response = agent.heartbeat();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(member(response.body, "fence"), "7");
}

TEST_F(Agents, ThatSawAHigherFenceRaiseOurs) {
    agent.fence = 41;
    EXPECT_EQ(member(agent.heartbeat().body, "fence"), "42");
    EXPECT_EQ(machine().fence, 42);
    agent.fence = (std::int64_t{1} << 53) + 1;
    EXPECT_EQ(agent.heartbeat().status, 422);
    EXPECT_EQ(machine().fence, 42);
}

TEST_F(Agents, RaiseOursByBoundedSteps) {
    agent.heartbeat();
    const std::int64_t ours = machine().fence;
    agent.fence = ours + agent_protocol::fence_step_max + 1;
    const http::Response refused = agent.heartbeat();
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(refused.body.find("body.fence: is beyond any"), std::string::npos) << refused.body;
    EXPECT_EQ(machine().fence, ours);
    agent.fence = ours + agent_protocol::fence_step_max;
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(machine().fence, ours + agent_protocol::fence_step_max + 1);
}

TEST_F(Agents, OfAnotherTimeAreWarnedAndBelieved) {
    for (const int minutes : {-90, 90}) {
        harness.clock.advance(std::chrono::minutes(5));
        agent.sent_at = harness.clock.now() + std::chrono::minutes(minutes);
        const http::Response response = agent.heartbeat();
        EXPECT_EQ(response.status, 200);
        EXPECT_NE(member(response.body, "warnings.0").find("our clock"), std::string::npos);
        harness.app->database().read([&](db::Transaction& tx) {
            EXPECT_EQ(machines::find_last_healthy(tx, agent.machine), harness.clock.now());
        });
    }
}

TEST_F(Agents, WhoseClockIsFarOffOrWasSetBackAreHeardAllTheSame) {
    const auto mode_after = [&](Duration offset, const std::string& mode) {
        agent.sent_at = harness.clock.now() + offset;
        agent.host_mode.mode = parse_enum<machines::HostMode>(mode);
        EXPECT_EQ(agent.heartbeat().status, 200);
        return machine().mode;
    };
    using machines::HostMode;
    EXPECT_EQ(mode_after(std::chrono::seconds(90), "idle"), HostMode::idle);
    EXPECT_EQ(mode_after({}, "dedicated"), HostMode::dedicated);
    EXPECT_EQ(mode_after(-std::chrono::seconds(90), "idle"), HostMode::idle);
    EXPECT_EQ(mode_after(std::chrono::seconds(50), "dedicated"), HostMode::dedicated);
    harness.clock.advance(std::chrono::seconds(10));
    EXPECT_EQ(mode_after({}, "idle"), HostMode::idle) << "set back by fifty seconds";
}

TEST_F(Agents, WhoseHeartbeatWasOvertakenChangeNothing) {
    agent.sent_at = harness.clock.now();
    agent.host_mode = wire::decode<agent_protocol::HostModeReport>(
        R"({"mode":"idle","offerable":true,"reasons":[]})");
    agent.telemetry = wire::decode<agent_protocol::Telemetry>(R"({"load_1m":2})");
    agent.heartbeat();
    agent.telemetry = wire::decode<agent_protocol::Telemetry>(R"({"load_1m":1})");
    agent.sent_at = harness.clock.now() - std::chrono::seconds(20);
    agent.host_mode = wire::decode<agent_protocol::HostModeReport>(
        R"({"mode":"dedicated","offerable":true,"reasons":[]})");
    agent.fence = 9;
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(machine().mode, machines::HostMode::idle);
    EXPECT_EQ(machine().fence, 1);
    EXPECT_EQ(stored_telemetry(), R"({"load_1m":2})");
}

TEST_F(Agents, OfAMachineThatIsNotWhatItWasAreTestedAnew) {
    agent.heartbeat();
    pass_test();
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
    const std::string known = machine().manifest_hash;
    agent.manifest.gpus.value.clear();
    const http::Response told = agent.heartbeat();
    EXPECT_NE(told.body.find("send the manifest"), std::string::npos);
    EXPECT_EQ(machine().state, MachineState::UNQUALIFIED);
    EXPECT_EQ(machine().manifest_hash, known);
    const std::int64_t version = machine().version;
    harness.clock.advance(std::chrono::seconds(20));
    agent.heartbeat();
    EXPECT_EQ(machine().version, version);  // once is enough

    const auto manifest = [&](const std::string& hash) {
        return agent.send({.target = "/api/v1/host-agent/manifest",
                           .body = fmt::format(R"({{"fence":"1","agent_version":"1.0.0",)"
                                               R"("manifest":{},"manifest_hash":"{}",)"
                                               R"("boot_id":"boot-1"}})",
                                               wire::encode(agent.manifest), hash)});
    };
    EXPECT_EQ(manifest(known).status, 422);
    const std::string hash = agent_protocol::manifest_hash(agent.manifest);
    const http::Response taken = manifest(hash);
    ASSERT_EQ(taken.status, 200) << taken.body;
    EXPECT_EQ(member(taken.body, "manifest_hash"), hash);
    EXPECT_EQ(machine().gpu_count, std::nullopt);
    EXPECT_EQ(machine().gpu_model, std::nullopt);
    EXPECT_EQ(machine().backends, "");
    const std::int64_t once = machine().version;
    EXPECT_EQ(manifest(hash).status, 200);
    EXPECT_EQ(machine().version, once);
}

TEST_F(Agents, ThatWereUpgradedStayWhatTheyAre) {
    agent.heartbeat();
    pass_test();
    const http::Response taken =
        agent.send({.target = "/api/v1/host-agent/manifest",
                    .body = fmt::format(R"({{"fence":"1","agent_version":"2.0.0","manifest":{},)"
                                        R"("manifest_hash":"{}","boot_id":"boot-2"}})",
                                        wire::encode(agent.manifest),
                                        agent_protocol::manifest_hash(agent.manifest))});
    EXPECT_EQ(taken.status, 200);
    EXPECT_EQ(machine().agent_version, "2.0.0");
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
}

TEST_F(Agents, MustSendWhatIsDeclaredAndNoMore) {
    const auto beat_with = [&](const std::string& from, const std::string& to) {
        std::string body = agent.beat();
        const std::size_t at = body.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        body.replace(at, from.size(), to);
        return agent.send({.target = "/api/v1/host-agent/heartbeat", .body = body}).status;
    };
    harness.set("operations.rate_heartbeats_per_minute", "1000");
    EXPECT_EQ(beat_with("\"fence\":\"1\"", "\"fence\":\"-1\""), 422);
    EXPECT_EQ(beat_with("\"fence\":\"1\"", "\"fence\":\"1\",\"extra\":1"), 422);
    EXPECT_EQ(beat_with("\"jobs\":[]", "\"jobs\":[{}]"), 422);
    EXPECT_EQ(beat_with("\"mode\":\"dedicated\"", "\"mode\":\"party\""), 422);
    EXPECT_EQ(beat_with("\"jobs\":[]",
                        "\"telemetry\":{\"gpus\":[{\"power_w\":1e999}]},"
                        "\"jobs\":[]"),
              422);
    EXPECT_EQ(beat_with("sha256:", "sha255:"), 422);
}

TEST_F(Agents, AreLimitedToSixHeartbeatsAMinute) {
    for (int i = 0; i < 6; ++i) EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(agent.heartbeat().status, 429);
    MachineAgent neighbour(harness, "GPU-2");
    neighbour.enroll(MachineAgent::token_for(harness, owner));
    EXPECT_EQ(neighbour.heartbeat().status, 200);
}

TEST_F(Agents, ThatBringNothingNewCostNoTransaction) {
    auto& agents = harness.app->host_agents();
    agents.turn(harness.clock.now());
    agents.set_batching(true);
    agent.heartbeat();  // the first one says its mode
    agents.turn(harness.clock.now());
    agent.heartbeat();
    EXPECT_TRUE(support::eventually(
        [&] { return !harness.app->database().is_touched(agent.machine.uuid); }));
    harness.clock.advance(std::chrono::seconds(20));
    agent.telemetry = wire::decode<agent_protocol::Telemetry>(R"({"load_1m":2})");
    const http::Response idle = agent.heartbeat();
    EXPECT_EQ(idle.status, 200);
    EXPECT_EQ(member(idle.body, "fence"), "1");
    EXPECT_EQ(stored_telemetry(), "null");  // not yet
    agents.turn(harness.clock.now());
    EXPECT_EQ(stored_telemetry(), R"({"load_1m":2})");

    // What this process changes shows in the next heartbeat, whatever is remembered.
    queue({.kind = CommandKind::qualify});
    const auto orders = wire::decode<agent_protocol::Orders>(agent.heartbeat().body);
    EXPECT_EQ(orders.commands.size(), 1u);
    EXPECT_EQ(orders.fence.value, 1);
    harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, agent.machine).value();
        row.fence = 7;
        machines::save({tx, harness.random, harness.clock.now()}, row);
    });
    EXPECT_EQ(member(agent.heartbeat().body, "fence"), "7");
}

TEST_F(Agents, AreWrittenDownTogether) {
    machines::HealthBatch batch;
    std::vector<machines::Machine> many;
    for (int i = 0; i < 75; ++i) many.push_back(enrolled(harness, owner, {.heard = false}));
    const Time later = harness.clock.now() + std::chrono::seconds(5);
    for (const machines::Machine& each : many)
        batch.note({each.machine_id, later, "b", R"({"load_1m":1})", later});
    batch.note({many[0].machine_id, later + std::chrono::seconds(1), "c"});
    batch.note({many[1].machine_id, later - std::chrono::seconds(1), "old"});
    EXPECT_EQ(batch.size(), 75u);
    batch.write(harness.app->database());
    EXPECT_EQ(batch.size(), 0u);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(tx.fetch_value<std::int64_t>(
                      "SELECT COUNT(*) FROM machine_health WHERE telemetry_at = $1", later),
                  75);
        EXPECT_EQ(machines::find_last_healthy(tx, many[0].machine_id),
                  later + std::chrono::seconds(1));
        EXPECT_EQ(machines::find_last_healthy(tx, many[1].machine_id), later);
    });
}

}  // namespace
}  // namespace berth::test
