// Signatures of agents, and how a machine's key and the server's are exchanged.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent_protocol/hashes.hpp"
#include "machines/enrolled_agent.hpp"
#include "support/eventually.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using agent_protocol::CommandKind;

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

TEST(KnownMachines, AreNotTrustedWithoutALook) {
    machines::MachineCache known;
    machines::CachedMachine one;
    one.facts.machine_id = MachineId{*parse_uuid("01920000-0000-7000-8000-000000000001")};
    known.put(one);
    EXPECT_EQ(known.find(one.facts.machine_id), nullptr);
}

}  // namespace
}  // namespace berth::test
