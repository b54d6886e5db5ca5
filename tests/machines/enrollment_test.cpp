#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent_protocol/hashes.hpp"
#include "machines/enrollment.hpp"
#include "machines/gpus.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "support/told.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

class Enrollments : public testing::Test {
protected:
    Harness harness{{.real_accounts = true}};
    const AccountId owner = AccountId::make(harness.clock.now(), harness.random);

    std::int64_t machines_in_all() {
        return *harness.app->database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM machines");
        });
    }
};

TEST_F(Enrollments, GiveAMachineItsPlace) {
    MachineAgent agent(harness);
    const http::Response response = agent.enroll(MachineAgent::token_for(harness, owner));
    ASSERT_EQ(response.status, 201) << response.body;
    EXPECT_EQ(member(response.body, "fence"), "1");
    EXPECT_EQ(member(response.body, "heartbeat_s"), "20");
    const machines::Machine machine = seen(harness, agent.machine);
    EXPECT_EQ(machine.owner, owner);
    EXPECT_EQ(machine.state, machines::MachineState::UNQUALIFIED);
    EXPECT_EQ(machine.gpu_model_key, "rtx-4090");
    EXPECT_EQ(machine.gpu_count, 1);
    EXPECT_EQ(machine.backends, "cuda,vulkan");
    EXPECT_EQ(machine.qualify_next_at, harness.clock.now());
    EXPECT_FALSE(machine.mode_observed_at);
    EXPECT_EQ(agent.heartbeat().status, 200);
    EXPECT_EQ(untold(harness.app->database(), {"machine.enrolled"}), "");
}

TEST_F(Enrollments, AMachineIsCalledAfterItsFirstDevice) {
    MachineAgent agent(harness);
    auto other = agent.manifest.gpus.value.front();
    other.pci_address = {"0000:02:00.0"};
    other.model = wire::Text<1, 200>{"NVIDIA A100-SXM4-80GB"};
    other.uuid = wire::Text<1, 128>{"GPU-2"};
    agent.manifest.gpus.value.push_back(other);
    ASSERT_EQ(agent.enroll(MachineAgent::token_for(harness, owner)).status, 201);
    const machines::Machine machine = seen(harness, agent.machine);
    EXPECT_EQ(machine.gpu_model, agent.manifest.gpus.value.front().model.value->value);
    EXPECT_EQ(machine.gpu_count, 2);
}

TEST_F(Enrollments, AgainWithTheSameTokenKeyAndManifestGiveTheSameAnswer) {
    MachineAgent agent(harness);
    const std::string token = MachineAgent::token_for(harness, owner);
    const http::Response first = agent.enroll(token);
    harness.clock.advance(std::chrono::hours(1));
    const http::Response second = agent.enroll(token);
    EXPECT_EQ(second.status, 201);
    EXPECT_EQ(second.body, first.body);
    EXPECT_EQ(machines_in_all(), 1);

    MachineAgent thief(harness);
    const http::Response stolen = thief.enroll(token);
    EXPECT_EQ(stolen.status, 403);
    EXPECT_EQ(error_code(stolen), "AUTHORIZATION_INVALID");
    agent.manifest.cpu_cores = wire::Integer<1, 65536>{99};
    EXPECT_EQ(agent.enroll(token).status, 403);
    EXPECT_EQ(machines_in_all(), 1);
}

TEST_F(Enrollments, WithAnUnknownOrExpiredTokenAreRefused) {
    MachineAgent agent(harness);
    for (const std::string token : {"bre_nonsense", "x"}) {
        const http::Response response = agent.enroll(token);
        EXPECT_EQ(response.status, 403) << token;
        EXPECT_EQ(error_code(response), "AUTHORIZATION_INVALID");
    }
    const std::string token = MachineAgent::token_for(harness, owner);
    harness.clock.advance(machines::enrollment_lasts);
    EXPECT_EQ(agent.enroll(token).status, 403);
}

TEST_F(Enrollments, WithAWrongHashLeaveTheTokenUnused) {
    MachineAgent agent(harness);
    const std::string token = MachineAgent::token_for(harness, owner);
    std::string body = agent.enrollment(token);
    const std::string hash = agent_protocol::manifest_hash(agent.manifest);
    body.replace(body.find(hash), hash.size(), agent_protocol::sha256_hash("other"));
    const http::Response refused =
        harness.ask({.method = "POST", .target = "/api/v1/host-agent/enroll", .body = body});
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(error_message(refused).find("manifest_hash"), std::string::npos);
    EXPECT_EQ(agent.enroll(token).status, 201);
}

TEST_F(Enrollments, OfAnotherProtocolAreToldWhichIsSpoken) {
    MachineAgent agent(harness);
    agent.protocol_version = 2;
    const http::Response response = agent.enroll(MachineAgent::token_for(harness, owner));
    EXPECT_EQ(response.status, 422);
    EXPECT_EQ(error_code(response), "UNSUPPORTED_PROTOCOL_VERSION");
    EXPECT_EQ(member(response.body, "supported.0"), "1");
}

TEST_F(Enrollments, OfOtherRuntimesNeedTheirFlag) {
    for (const auto& [kind, flag, tier] :
         {std::tuple{agent_protocol::RuntimeKind::process, "allow-process-runtime", "inference"},
          std::tuple{agent_protocol::RuntimeKind::simulated, "allow-simulated", "container"}}) {
        MachineAgent agent(harness);
        agent.manifest.runtime_kind = kind;
        EXPECT_EQ(agent.enroll(MachineAgent::token_for(harness, owner, tier)).status, 422);
        Harness open{{.flags = {{flag, "true"}}, .real_accounts = true}};
        MachineAgent taken(open);
        taken.manifest.runtime_kind = kind;
        EXPECT_EQ(taken.enroll(MachineAgent::token_for(open, owner, tier)).status, 201) << flag;
        if (kind != agent_protocol::RuntimeKind::process) continue;
        MachineAgent container(open);
        container.manifest.runtime_kind = kind;
        EXPECT_EQ(container.enroll(MachineAgent::token_for(open, owner)).status, 422);
    }
}

TEST_F(Enrollments, RefuseWhatIsNoKeyAndTwoDevicesInOnePlace) {
    MachineAgent agent(harness);
    std::string body = agent.enrollment(MachineAgent::token_for(harness, owner));
    const std::size_t at = body.find("\"public_key\":\"") + 14;
    body.replace(at, 44, "AAAA");
    EXPECT_EQ(
        harness.ask({.method = "POST", .target = "/api/v1/host-agent/enroll", .body = body}).status,
        422);
    agent.manifest.gpus.value.push_back(agent.manifest.gpus.value.front());
    EXPECT_EQ(agent.enroll(MachineAgent::token_for(harness, owner)).status, 422);
}

TEST_F(Enrollments, ThatNameAnothersGpuMakeNobodyADuplicate) {
    MachineAgent one(harness, "GPU-x"), two(harness, "GPU-x");
    one.enroll(MachineAgent::token_for(harness, owner));
    two.enroll(MachineAgent::token_for(harness, owner));
    harness.app->database().read([&](db::Transaction& tx) {
        for (const MachineId& id : {one.machine, two.machine}) {
            EXPECT_FALSE(machines::is_duplicate(tx, id, harness.clock.now()));
            EXPECT_TRUE(machines::is_claimed_elsewhere(tx, id));
        }
    });
    EXPECT_EQ(two.send({.target = "/api/v1/host-agent/leave"}).status, 204);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_FALSE(machines::is_claimed_elsewhere(tx, one.machine));
    });
}

TEST_F(Enrollments, RefuseAnNvidiaCardThatDoesNotSayWhichItIs) {
    const auto enroll = [&](const std::function<void(agent_protocol::ManifestGpu&)>& change) {
        MachineAgent agent(harness);
        agent.manifest.gpus.value.front().uuid = std::nullopt;
        change(agent.manifest.gpus.value.front());
        return agent.enroll(MachineAgent::token_for(harness, owner));
    };
    const auto refused = enroll([](auto&) {});
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(refused.body.find("body.manifest.gpus: uuid"), std::string::npos) << refused.body;
    // Neither the vendor, nor the model, nor what it is programmed with hides what it is.
    EXPECT_EQ(enroll([](auto& gpu) { gpu.vendor = {"somebody"}; }).status, 422);
    EXPECT_EQ(enroll([](auto& gpu) {
                  gpu.vendor = {"somebody"};
                  gpu.model = std::nullopt;
              }).status,
              422);
    EXPECT_EQ(enroll([](auto& gpu) {
                  gpu.vendor = {"AMD"};
                  gpu.model = std::nullopt;
                  gpu.backends.value = {agent_protocol::Backend::rocm};
              }).status,
              201);
    MachineAgent twins(harness, "GPU-twin");
    twins.manifest.gpus.value.push_back(twins.manifest.gpus.value.front());
    twins.manifest.gpus.value.back().pci_address = {"0000:02:00.0"};
    const auto two = twins.enroll(MachineAgent::token_for(harness, owner));
    EXPECT_EQ(two.status, 422);
    EXPECT_NE(two.body.find("one uuid"), std::string::npos) << two.body;
}

TEST_F(Enrollments, AreCountedByAddress) {
    MachineAgent agent(harness);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(agent.enroll("bre_x").status, 403);
    EXPECT_EQ(agent.enroll("bre_x").status, 429);
}

TEST(EnrollmentTokens, AreMadeByHostsAndShownOnce) {
    Town town;
    Browser person = town.person("host@example.org");
    const std::string key = town.harness.new_id();
    const http::Response made = person.send("POST", "/api/v1/hosts/enrollments",
                                            R"({"tier":"inference","label":"rack 1"})", key);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_TRUE(member(made.body, "token").starts_with("bre_"));
    const http::Response again = person.send("POST", "/api/v1/hosts/enrollments",
                                             R"({"tier":"inference","label":"rack 1"})", key);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(member(again.body, "token"), "null");
    EXPECT_EQ(member(again.body, "enrollment_id"), member(made.body, "enrollment_id"));

    MachineAgent agent(town.harness);
    ASSERT_EQ(agent.enroll(member(made.body, "token")).status, 201);
    const machines::Machine machine = seen(town.harness, agent.machine);
    EXPECT_EQ(machine.label, "rack 1");
    EXPECT_EQ(machine.tier, machines::Tier::inference);
    EXPECT_EQ(to_string(machine.owner),
              member(person.send("GET", "/api/v1/auth/session").body, "account_id"));
    // Asking made the account one that hosts.
    EXPECT_EQ(member(person.send("GET", "/api/v1/auth/session").body, "host_capability"), "true");
}

TEST(EnrollmentTokens, AreNotForKeysWithoutTheScope) {
    Town town;
    Browser person = town.person("host@example.org");
    const std::string renter = town.key_of(person);
    const http::Response refused =
        town.with_key(renter, "POST", "/api/v1/hosts/enrollments", R"({"tier":"container"})");
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(error_code(refused), "FORBIDDEN");
}

}  // namespace
}  // namespace berth::test
