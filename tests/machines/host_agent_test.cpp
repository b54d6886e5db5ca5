// What an enrolled agent says to the server, and what it is answered.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent_protocol/hashes.hpp"
#include "machines/host_agents.hpp"
#include "machines/network_speed.hpp"
#include "machines/qualification.hpp"
#include "machines/qualification_runs.hpp"
#include "support/eventually.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using agent_protocol::CommandKind;
using machines::CommandState;
using machines::MachineState;

class Agents : public testing::Test {
protected:
    Agents() { EXPECT_EQ(agent.enroll(MachineAgent::token_for(harness, owner)).status, 201); }

    machines::Machine machine() { return seen(harness, agent.machine); }
    machines::CommandId queue(const machines::NewCommand& command) {
        const machines::Machine row = machine();
        return harness.app->database().write([&](db::Transaction& tx) {
            return harness.app->host_agents().commands().queue(
                {tx, harness.random, harness.clock.now()}, row, command);
        });
    }
    void pass_test() {
        harness.app->database().write([&](db::Transaction& tx) {
            auto row = machines::hold(tx, agent.machine).value();
            machines::apply({tx, harness.random, harness.clock.now()}, row,
                            machines::MachineEvent::test_passed);
        });
    }
    std::string stored_telemetry() {
        return harness.app->database()
            .read([&](db::Transaction& tx) {
                return tx.fetch_value<std::optional<std::string>>(
                    "SELECT telemetry FROM machine_health WHERE machine_id = $1", agent.machine);
            })
            .value_or("none")
            .value_or("null");
    }

    Harness harness{{.real_accounts = true}};
    const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
    MachineAgent agent{harness};
};

TEST_F(Agents, AreHeard) {
    agent.telemetry = R"({"load_1m":1.5,"gpus":[{"util_pct":97}]})";
    const http::Response response = agent.heartbeat();
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(member(response.body, "fence"), "1");
    EXPECT_EQ(member(response.body, "server_time"), to_rfc3339(harness.clock.now()));
    EXPECT_EQ(stored_telemetry(), agent.telemetry);
    const machines::Machine after = machine();
    EXPECT_EQ(after.mode, machines::HostMode::dedicated);
    EXPECT_EQ(after.offerable, true);
    EXPECT_EQ(after.mode_observed_at, harness.clock.now());

    // The next one changes nothing, and one without telemetry leaves the last sample.
    harness.clock.advance(std::chrono::seconds(20));
    agent.telemetry.clear();
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
    agent.mode = R"({"mode":"idle","offerable":false,"reasons":["a game \"runs\""]})";
    agent.heartbeat();
    EXPECT_EQ(machine().version, version + 1);
    EXPECT_EQ(machine().mode_reasons, R"(["a game \"runs\""])");
    harness.clock.advance(std::chrono::seconds(20));
    agent.heartbeat();
    EXPECT_EQ(machine().version, version + 1);
}

TEST_F(Agents, WithoutAGoodSignatureAreRefusedAndChangeNothing) {
    const std::int64_t version = machine().version;
    const auto spoil = [&](const std::function<void(http::Headers&)>& change) {
        return agent.send(
            {.target = "/api/v1/host-agent/heartbeat", .body = agent.beat(), .spoil = change});
    };
    const auto drop = [](std::string_view name) {
        return [name](http::Headers& headers) {
            http::Headers kept;
            for (const auto& field : headers)
                if (field.name != name) kept.add(field.name, field.value);
            headers = kept;
        };
    };
    for (const char* name : {"Signature", "Signature-Input", "Content-Digest"})
        EXPECT_EQ(spoil(drop(name)).status, 401) << name;
    EXPECT_EQ(spoil([](http::Headers& headers) { headers.add("Signature", "sig=:AAAA:"); }).status,
              401);
    http::Request other =
        agent.request({.target = "/api/v1/host-agent/heartbeat", .body = agent.beat()});
    other.body += " ";
    EXPECT_EQ(harness.app->service().answer(other).status, 401);
    const std::optional<Time> early = harness.clock.now() - std::chrono::seconds(62);
    EXPECT_EQ(
        agent
            .send(
                {.target = "/api/v1/host-agent/heartbeat", .body = agent.beat(), .created = early})
            .status,
        401);
    MachineAgent stranger(harness);
    stranger.machine = agent.machine;
    EXPECT_EQ(stranger.heartbeat().status, 401);
    stranger.machine = MachineId::make(harness.clock.now(), harness.random);
    EXPECT_EQ(stranger.heartbeat().status, 401);
    EXPECT_EQ(machine().version, version);
    EXPECT_EQ(stored_telemetry(), "none");
}

TEST_F(Agents, CannotUseANonceTwice) {
    const MachineAgent::Message message{
        .target = "/api/v1/host-agent/heartbeat", .body = agent.beat(), .nonce = "once"};
    EXPECT_EQ(agent.send(message).status, 200);
    const http::Response replay = agent.send(message);
    EXPECT_EQ(replay.status, 401);
    EXPECT_NE(error_message(replay).find("nonce"), std::string::npos);
    MachineAgent neighbour(harness, "GPU-2");
    neighbour.enroll(MachineAgent::token_for(harness, owner));
    EXPECT_EQ(neighbour
                  .send({.target = "/api/v1/host-agent/heartbeat",
                         .body = neighbour.beat(),
                         .nonce = "once"})
                  .status,
              200);
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
        agent.mode = fmt::format(R"({{"mode":"{}","offerable":true,"reasons":[]}})", mode);
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
    agent.mode = R"({"mode":"idle","offerable":true,"reasons":[]})";
    agent.telemetry = R"({"load_1m":2})";
    agent.heartbeat();
    agent.telemetry = R"({"load_1m":1})";
    agent.sent_at = harness.clock.now() - std::chrono::seconds(20);
    agent.mode = R"({"mode":"dedicated","offerable":true,"reasons":[]})";
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

TEST_F(Agents, GetCommandsUntilTheyAcknowledgeThem) {
    EXPECT_TRUE(agent.orders().commands.empty());
    const auto id = queue({.kind = CommandKind::qualify, .payload = R"({"run_id":"r"})"});
    ASSERT_EQ(agent.orders().commands.size(), 1u);
    const auto in_beat = agent_protocol::read_orders(agent.heartbeat().body);
    ASSERT_EQ(in_beat->commands.size(), 1u);
    const auto checked = agent_protocol::check_command(in_beat->commands[0], agent.machine,
                                                       agent.pinned, harness.clock.now());
    ASSERT_TRUE(checked.command);
    EXPECT_EQ(checked.command->payload.text, R"({"run_id":"r"})");

    const http::Response taken = agent.acknowledge(id, "accepted");
    ASSERT_EQ(taken.status, 200) << taken.body;
    EXPECT_EQ(member(taken.body, "state"), "accepted");
    EXPECT_EQ(agent.acknowledge(id, "accepted").body, taken.body);
    EXPECT_TRUE(agent.orders().commands.empty());
    EXPECT_EQ(member(agent.acknowledge(id, "completed").body, "state"), "completed");
    EXPECT_EQ(agent.acknowledge(id, "rejected", R"(,"code":"STALE_FENCE")").status, 409);
    EXPECT_EQ(
        agent.acknowledge(agent_protocol::CommandId{machine().offer_id.uuid}, "accepted").status,
        404);
    MachineAgent neighbour(harness, "GPU-2");
    neighbour.enroll(MachineAgent::token_for(harness, owner));
    EXPECT_EQ(neighbour.acknowledge(id, "completed").status, 404);
}

TEST_F(Agents, MayAcknowledgeATestAfterItsResult) {
    const auto id = queue({.kind = CommandKind::qualify});
    harness.app->database().write(
        [&](db::Transaction& tx) { machines::end_test_commands(tx, agent.machine); });
    EXPECT_EQ(member(agent.acknowledge(id, "accepted").body, "state"), "completed");
    EXPECT_EQ(member(agent.acknowledge(id, "completed").body, "state"), "completed");
    EXPECT_EQ(agent.acknowledge(id, "rejected", R"(,"code":"CONFLICT")").status, 409);
}

TEST_F(Agents, AreTooLateForWhatWasTakenBackMeanwhile) {
    const auto id = queue({.kind = CommandKind::start, .lasts = std::chrono::seconds(30)});
    harness.app->database().write(
        [&](db::Transaction& tx) { machines::cancel_commands(tx, agent.machine); });
    EXPECT_EQ(error_code(agent.acknowledge(id, "accepted")), "CONFLICT");
    harness.clock.advance(std::chrono::seconds(30));
    EXPECT_EQ(error_code(agent.acknowledge(id, "accepted")), "COMMAND_EXPIRED");
}

TEST_F(Agents, CannotAcknowledgeForThePastNorTooLate) {
    const auto id = queue({.kind = CommandKind::qualify, .lasts = std::chrono::seconds(30)});
    agent.fence = 0;
    const http::Response stale = agent.acknowledge(id, "accepted");
    EXPECT_EQ(stale.status, 409);
    EXPECT_EQ(error_code(stale), "STALE_FENCE");
    agent.fence = 1;
    harness.clock.advance(std::chrono::seconds(30));
    const http::Response late = agent.acknowledge(id, "accepted");
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(error_code(late), "COMMAND_EXPIRED");
    // Only the first one must be in time.
    const auto long_one = queue({.kind = CommandKind::qualify, .lasts = std::chrono::seconds(30)});
    EXPECT_EQ(agent.acknowledge(long_one, "accepted").status, 200);
    harness.clock.advance(std::chrono::seconds(60));
    EXPECT_EQ(agent.acknowledge(long_one, "completed").status, 200);
}

TEST_F(Agents, AreToldWhenTheServerDoesNotKnowAKind) {
    const auto id = queue({.kind = CommandKind::clean});
    harness.app->database().write([&](db::Transaction& tx) {
        tx.run("UPDATE machine_commands SET kind = 'DANCE' WHERE command_id = $1", id);
    });
    const http::Response response = agent.acknowledge(id, "completed");
    EXPECT_EQ(response.status, 422);
    EXPECT_EQ(error_code(response), "UNKNOWN_COMMAND_KIND");
}

TEST_F(Agents, WithJobsThatNobodyKnowsAreToldToStopAndClean) {
    const std::string job = harness.new_id();
    agent.jobs = fmt::format(R"([{{"job_id":"{}","lease_seq":"3","budget_version":"1",)"
                             R"("phase":"RUNNING","container_id":"c","runtime_ms":"5"}}])",
                             job);
    for (int times = 0; times < 2; ++times) {
        harness.clock.advance(std::chrono::seconds(20));
        const auto orders = wire::decode<agent_protocol::Orders>(agent.heartbeat().body);
        ASSERT_EQ(orders.commands.size(), 2u);
        EXPECT_EQ(orders.commands[0].kind, CommandKind::stop);
        EXPECT_EQ(orders.commands[1].kind, CommandKind::clean);
        EXPECT_EQ(to_string(*orders.commands[0].job_id), job);
        EXPECT_TRUE(orders.leases.empty());
    }
    const http::Response event = agent.send(
        {.target = "/api/v1/host-agent/jobs/" + job + "/events",
         .body = R"({"fence":"1","lease_seq":"3","kind":"STOPPED","at":"2026-01-01T00:00:00Z",)"
                 R"("evidence":{}})"});
    EXPECT_EQ(event.status, 200);  // it is not charged, and waited for
    const http::Response stale = agent.send(
        {.target = "/api/v1/host-agent/jobs/" + job + "/events",
         .body = R"({"fence":"0","lease_seq":"3","kind":"STOPPED","at":"2026-01-01T00:00:00Z",)"
                 R"("evidence":{}})"});
    EXPECT_EQ(error_code(stale), "STALE_FENCE");
}

TEST_F(Agents, ReportTheirHealthOnce) {
    const std::string body = R"({"fence":"1","kind":"GPU_XID","at":"2026-01-01T00:00:00Z",)"
                             R"("evidence":{"xid":79}})";
    const http::Response first = agent.send({.target = "/api/v1/host-agent/events", .body = body});
    ASSERT_EQ(first.status, 200) << first.body;
    harness.clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(agent.send({.target = "/api/v1/host-agent/events", .body = body}).body, first.body);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(tx.fetch_value<std::int64_t>(
                      "SELECT COUNT(*) FROM machine_events WHERE machine_id = $1", agent.machine),
                  1);
    });
}

TEST_F(Agents, ThatLeaveAreGone) {
    queue({.kind = CommandKind::qualify});
    EXPECT_EQ(agent.send({.target = "/api/v1/host-agent/leave"}).status, 204);
    EXPECT_EQ(agent.heartbeat().status, 401);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_FALSE(machines::find(tx, agent.machine));
        EXPECT_TRUE(machines::machines_with_commands(tx, harness.clock.now()).empty());
    });
}

TEST_F(Agents, CannotLeaveWithAJob) {
    agent.heartbeat();
    pass_test();
    harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, agent.machine).value();
        row.offer_version = 1;
        row.offer_state = machines::OfferState::listed;
        row.state = MachineState::AVAILABLE;
        machines::save({tx, harness.random, harness.clock.now()}, row);
        machines::apply({tx, harness.random, harness.clock.now()}, row,
                        machines::MachineEvent::reserve,
                        {.job_id = JobId::make(harness.clock.now(), harness.random)});
    });
    EXPECT_EQ(agent.send({.target = "/api/v1/host-agent/leave"}).status, 409);
}

TEST_F(Agents, EndATestAtOnceThatTheyRefuse) {
    EXPECT_EQ(agent.heartbeat().status, 200);
    const machines::Qualifications tests(harness.app->host_agents().commands());
    const bool begun = harness.app->database().write([&](db::Transaction& tx) {
        return tests.begin({tx, harness.random, harness.clock.now()}, agent.machine);
    });
    ASSERT_TRUE(begun);
    const auto commands = agent.orders().commands;
    ASSERT_EQ(commands.size(), 1U);
    const auto answer =
        agent.acknowledge(commands[0].command_id, "rejected", R"(,"code":"UNKNOWN_COMMAND_KIND")");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const machines::Machine after = machine();
    EXPECT_EQ(after.qualify_state, machines::QualifyState::retrying);
    EXPECT_EQ(after.qualify_run_id, std::nullopt);
    EXPECT_EQ(after.qualify_next_at, harness.clock.now() + std::chrono::minutes(1));
    EXPECT_NE(after.qualify_reason.value_or("").find("UNKNOWN_COMMAND_KIND"), std::string::npos);
    harness.app->database().read([&](db::Transaction& tx) {
        const auto run = machines::find_last_run(tx, agent.machine);
        EXPECT_EQ(run->state, machines::RunState::failed);
        EXPECT_NE(run->findings.value_or("").find("test.rejected"), std::string::npos);
    });
    // Told again, it changes nothing more.
    EXPECT_EQ(
        agent.acknowledge(commands[0].command_id, "rejected", R"(,"code":"UNKNOWN_COMMAND_KIND")")
            .status,
        200);
    EXPECT_EQ(machine().version, after.version);
}

TEST_F(Agents, AnAddressThatSendsManyWrongSignaturesIsTurnedAwayAndOthersAreNot) {
    harness.set("operations.rate_invalid_credentials_per_minute", "5");
    EXPECT_EQ(agent.heartbeat().status, 200);
    const auto wrong = [&] {
        MachineAgent stranger(harness, "GPU-9");
        stranger.machine = MachineId::make(harness.clock.now(), harness.random);
        return stranger.heartbeat().status;
    };
    for (int i = 0; i < 5; ++i) EXPECT_EQ(wrong(), 401);
    EXPECT_EQ(wrong(), 429);
    harness.app->database().write([&](db::Transaction& tx) { tx.touch(agent.machine.uuid); });
    EXPECT_EQ(agent.heartbeat().status, 200) << "it was good a moment ago";
    harness.clock.advance(std::chrono::hours(1));
    EXPECT_EQ(wrong(), 401);
}

TEST_F(Agents, GetTheSpeedTestOnlyDuringATest) {
    const auto ask = [&](const std::string& bytes) {
        return agent.send(
            {.method = "GET", .target = "/api/v1/host-agent/speed-test?bytes=" + bytes});
    };
    EXPECT_EQ(ask("1000").status, 409);
    EXPECT_EQ(ask("0").status, 422);
    EXPECT_EQ(ask("268435457").status, 422);
    // As it comes over a connection: in pieces that nobody keeps.
    const auto give = [&](const std::string& bytes, const std::string& sent = "abcd") {
        http::Request request = agent.request(
            {.target = "/api/v1/host-agent/speed-test?bytes=" + bytes, .body = "abcd"});
        EXPECT_EQ(harness.app->service().body_bytes_max(request), std::size_t{256} << 20);
        request.sink = harness.app->service().body_sink(request);
        for (const char& byte : sent) request.sink->take({&byte, 1});
        request.body.clear();
        return harness.app->service().answer(request);
    };
    EXPECT_EQ(give("4", "abce").status, 401) << "the signature is over what came";
    EXPECT_EQ(give("4").status, 409);
    EXPECT_EQ(give("5").status, 422);
    harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, agent.machine).value();
        row.qualify_state = machines::QualifyState::testing;
        row.qualify_run_id = machines::RunId::make(harness.clock.now(), harness.random);
        machines::save({tx, harness.random, harness.clock.now()}, row);
    });
    EXPECT_EQ(give("4").body, R"({"bytes":4})");
    EXPECT_NE(ask("1000").source, nullptr);
}

// Takes what a source sends, and has room for one piece at a time.
class Sink final : public http::Outlet {
public:
    void begin(http::Response head) override { type = head.content_type; }
    bool write(std::string_view bytes) override {
        received += bytes;
        return false;
    }
    void end() override { ended = true; }
    void abort() override {}
    http::Upstream& upstream() override { throw std::logic_error("none"); }
    const std::shared_ptr<http::Loop>& loop() override { throw std::logic_error("none"); }

    std::string type;
    std::string received;
    bool ended = false;
};

TEST(SpeedTest, SendsAsManyBytesAsWereAskedForAndNoFasterThanTheyAreTaken) {
    for (const std::int64_t bytes : {1, 65'536, 150'000}) {
        Sink sink;
        const auto source = machines::noise(bytes, 7);
        source->start(sink);
        for (int pieces = 1; !sink.ended && pieces < 10; ++pieces) source->on_room();
        EXPECT_TRUE(sink.ended);
        EXPECT_EQ(std::ssize(sink.received), bytes);
        EXPECT_EQ(sink.type, "application/octet-stream");
    }
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

// What is remembered in this process.

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
    agent.telemetry = R"({"load_1m":2})";
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

TEST_F(Agents, OfAnOldKeyAreRefusedBeforeTheNextLook) {
    auto& agents = harness.app->host_agents();
    agents.turn(harness.clock.now());
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_TRUE(support::eventually([&] {
        agents.turn(harness.clock.now());
        return agents.cache().find(agent.machine) != nullptr;
    }));
    const crypto::Ed25519Key other{crypto::Secret(Bytes(32, 'n'))};
    harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, agent.machine).value();
        row.public_key = agent_protocol::key_text(other.public_key());
        machines::save({tx, harness.random, harness.clock.now()}, row);
    });
    EXPECT_EQ(agent.heartbeat().status, 401);
    agent.seed = crypto::Secret(Bytes(32, 'n'));
    EXPECT_EQ(agent.heartbeat().status, 200);
}

TEST_F(Agents, OfANewKeyAreTakenBeforeTheNextLook) {
    auto& agents = harness.app->host_agents();
    agents.turn(harness.clock.now());
    agent.heartbeat();
    const auto id = queue({.kind = CommandKind::rotate_key, .payload = R"({"nonce":"abc"})"});
    const crypto::Ed25519Key fresh{crypto::Secret(Bytes(32, 'f'))};
    const std::string detail =
        fmt::format(R"(,"detail":{{"public_key":"{}","signature":"{}"}})",
                    agent_protocol::key_text(fresh.public_key()), to_base64(fresh.sign("abc")));
    ASSERT_EQ(agent.acknowledge(id, "completed", detail).status, 200);
    agent.seed = crypto::Secret(Bytes(32, 'f'));
    EXPECT_EQ(agent.heartbeat().status, 200);
}

TEST_F(Agents, SayNothingThatIsTooDeepToBeKept) {
    const auto id = queue({.kind = CommandKind::rotate_key, .payload = R"({"nonce":"abc"})"});
    const auto nested = [](int levels) {
        return std::string(static_cast<std::size_t>(levels - 1), '[') +
               std::string(static_cast<std::size_t>(levels - 1), ']');
    };
    const auto answer = [&](int levels) {
        return agent.acknowledge(id, "rejected",
                                 fmt::format(R"(,"detail":{{"a":{}}})", nested(levels)));
    };
    EXPECT_EQ(error_message(answer(17)), "body.detail: must not be nested deeper than 16 levels");
    EXPECT_EQ(answer(31).status, 422);
    EXPECT_EQ(answer(16).status, 200);
}

TEST_F(Agents, GetANewKeyOnlyByItsProof) {
    const auto id = queue({.kind = CommandKind::rotate_key, .payload = R"({"nonce":"abc"})"});
    const crypto::Ed25519Key fresh{crypto::Secret(Bytes(32, 'f'))};
    const auto answer = [&](const std::string& signed_text) {
        return agent.acknowledge(id, "completed",
                                 fmt::format(R"(,"detail":{{"public_key":"{}","signature":"{}"}})",
                                             agent_protocol::key_text(fresh.public_key()),
                                             to_base64(fresh.sign(signed_text))));
    };
    EXPECT_EQ(agent.acknowledge(id, "completed").status, 422);
    const http::Response wrong = answer("abd");
    EXPECT_EQ(wrong.status, 403);
    EXPECT_EQ(error_code(wrong), "AUTHORIZATION_INVALID");
    EXPECT_EQ(agent.heartbeat().status, 200);
    const http::Response right = answer("abc");
    EXPECT_EQ(right.status, 200) << right.body;
    EXPECT_EQ(agent.heartbeat().status, 401);  // the old key died with it
    agent.seed = crypto::Secret(Bytes(32, 'f'));
    EXPECT_EQ(agent.heartbeat().status, 200);
}

// The server's own key is exchanged while agents have the old one pinned.
TEST(ServerKey, ReachesAgentsByACommandOfTheOldOne) {
    Harness harness{{.real_accounts = true}};
    const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
    MachineAgent agent(harness);
    agent.enroll(MachineAgent::token_for(harness, owner));
    const auto old_id = agent.pinned.id;

    write_secret(harness.folder.path() + "/secrets", "command-next.key", std::string(64, 'a'));
    harness.app = nullptr;
    harness.app = std::make_unique<server::App>(harness.given, harness.clock, harness.random);
    const agent_protocol::CommandKey next{crypto::Ed25519Key{crypto::Secret(Bytes(32, '\xaa'))}};
    const auto offer = [&] {
        return harness.app->database().write([&](db::Transaction& tx) {
            return harness.app->host_agents().commands().offer_next_key(
                {tx, harness.random, harness.clock.now()}, 100);
        });
    };
    EXPECT_EQ(offer(), 1);
    EXPECT_EQ(offer(), 0);
    const auto orders = agent.orders();
    ASSERT_EQ(orders.commands.size(), 1u);
    EXPECT_EQ(orders.commands[0].kind, CommandKind::server_key);
    EXPECT_EQ(orders.commands[0].key_id, old_id);
    const auto payload =
        wire::decode<agent_protocol::ServerKeyPayload>(orders.commands[0].payload.text, "payload");
    EXPECT_EQ(payload.key_id, next.id());
    EXPECT_EQ(payload.public_key, agent_protocol::key_text(next.public_key()));
    ASSERT_EQ(agent.acknowledge(orders.commands[0].command_id, "completed").status, 200);
    EXPECT_EQ(offer(), 0);

    // From now on the new key alone speaks to it, and machines that come in pin it at once.
    const machines::Machine row = seen(harness, agent.machine);
    harness.app->database().write([&](db::Transaction& tx) {
        harness.app->host_agents().commands().queue({tx, harness.random, harness.clock.now()}, row,
                                                    {.kind = CommandKind::qualify});
    });
    EXPECT_EQ(agent.orders().commands.at(0).key_id, next.id());
    MachineAgent late(harness, "GPU-2");
    late.enroll(MachineAgent::token_for(harness, owner));
    EXPECT_EQ(late.pinned.id, next.id());
    EXPECT_EQ(offer(), 0);
}

TEST(KeyRotation, IsAskedForByTheOwner) {
    Town town;
    Browser person = town.person("host@example.org");
    const http::Response made = person.send("POST", "/api/v1/hosts/enrollments",
                                            R"({"tier":"container"})", town.harness.new_id());
    MachineAgent agent(town.harness);
    ASSERT_EQ(agent.enroll(member(made.body, "token")).status, 201);
    const std::string target = "/api/v1/hosts/machines/" + to_string(agent.machine) + "/rotate-key";
    const http::Response asked = person.send("POST", target, "", town.harness.new_id());
    ASSERT_EQ(asked.status, 202) << asked.body;
    const auto orders = agent.orders();
    ASSERT_EQ(orders.commands.size(), 1u);
    EXPECT_EQ(to_string(orders.commands[0].command_id), member(asked.body, "command_id"));
    EXPECT_EQ(orders.commands[0].kind, CommandKind::rotate_key);

    Browser stranger = town.person("other@example.org");
    stranger.send("POST", "/api/v1/hosts/enrollments", R"({"tier":"container"})",
                  town.harness.new_id());
    EXPECT_EQ(stranger.send("POST", target, "", town.harness.new_id()).status, 404);
}

TEST(MachineCache, AreNotTrustedWithoutALook) {
    machines::MachineCache known;
    machines::CachedMachine one;
    one.facts.machine_id = MachineId{*parse_uuid("01920000-0000-7000-8000-000000000001")};
    known.put(one);
    EXPECT_EQ(known.find(one.facts.machine_id), nullptr);
}

TEST(UsedNonces, AreForgottenWhenTheirSignaturesCannotBeGoodAnyMore) {
    machines::UsedNonces nonces;
    const MachineId machine{};
    const Time start{1'790'000'000'000'000};
    EXPECT_TRUE(nonces.use(machine, "a", start));
    EXPECT_FALSE(nonces.use(machine, "a", start));
    EXPECT_FALSE(nonces.use(machine, "a", start + std::chrono::seconds(121)));
    EXPECT_FALSE(nonces.use(machine, "a", start + machines::UsedNonces::generation));
    EXPECT_TRUE(nonces.use(machine, "a", start + 3 * machines::UsedNonces::generation));
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
