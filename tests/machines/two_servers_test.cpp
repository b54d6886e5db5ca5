// Real servers on one PostgreSQL, and a real agent that talks to either.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <thread>

#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "machines/commands.hpp"
#include "machines/enrollment.hpp"
#include "support/database.hpp"
#include "support/postgres_cluster.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using machines::CommandKind;

class PostgresOnlyTwoServers : public testing::Test {
protected:
    struct Server {
        std::string url;
        std::unique_ptr<Process> process;
    };

    void SetUp() override {
        for (Server& server : servers) {
            const std::string listen = "127.0.0.1:" + std::to_string(free_port());
            server.url = "http://" + listen;
            server.process = std::make_unique<Process>(
                std::vector<std::string>{program_path("berthd"), "serve", "--listen", listen,
                                         "--db", database->url(), "--secrets",
                                         folder.path() + "/secrets", "--mail",
                                         "file:" + folder.path() + "/mail"},
                folder.path() + "/log");
            ASSERT_TRUE(wait_until_ready(*server.process, server.url + "/readyz"))
                << read_text(folder.path() + "/log");
        }
        connection = database->open();
    }

    std::string token() {
        const std::string made = crypto::make_token(issued::enrollment, random);
        const Bytes hash = crypto::sha256(made);
        const Time now = clock.now();
        connection->write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO machine_enrollments (enrollment_id, owner, tier, token_hash, "
                "created_at, expires_at) VALUES ($1, $2, 'container', $3, $4, $5)",
                machines::EnrollmentId::make(now, random), AccountId::make(now, random),
                db::Blob{hash}, now, now + machines::enrollment_lasts);
        });
        return made;
    }

    // What the agent prints for these actions at one of the servers.
    std::string agent(const Server& server, std::vector<std::string> actions) {
        actions.insert(actions.begin(),
                       {program_path("scripted_agent"), folder.path() + "/agent", server.url});
        return run_program(actions).output;
    }

    // The status of one heartbeat, whatever commands its answer brought.
    std::string heartbeat(const Server& server, const std::string& how) {
        const std::string said = agent(server, {"heartbeat", how});
        std::smatch match;
        return std::regex_search(said, match, std::regex("(^|\n)heartbeat ([0-9]{3}) "))
                   ? match[2].str()
                   : said;
    }

    // As a third process would: it has the same keys and the same database.
    void queue(CommandKind kind, const std::string& payload) {
        const crypto::Sealer sealer{crypto::Secret(secret("seal.key"))};
        const agent_protocol::CommandKey key{
            crypto::Ed25519Key{crypto::Secret(secret("command.key"))}};
        const machines::Commands commands(sealer, key);
        connection->write([&](db::Transaction& tx) {
            const auto row = machines::find(tx, machine).value();
            commands.queue({tx, random, clock.now()}, row, {.kind = kind, .payload = payload});
        });
    }
    Bytes secret(const std::string& name) const {
        return *from_hex(read_text(folder.path() + "/secrets/" + name).substr(0, 64));
    }
    void enroll() {
        const std::string said = agent(servers[0], {"enroll", token(), "GPU-1"});
        std::smatch match;
        ASSERT_TRUE(std::regex_search(said, match, std::regex("enroll 201 ([0-9a-f-]{36})")))
            << said;
        machine = {*parse_uuid(match[1].str())};
    }

    TemporaryFolder folder;
    PostgresCluster cluster{"fsync=off\nfull_page_writes=off\n"};
    std::unique_ptr<TestDatabase> database = TestDatabase::postgres(cluster.url());
    std::array<Server, 2> servers;
    std::unique_ptr<db::Database> connection;
    SystemRandom random;
    SystemClock clock;
    MachineId machine;
};

TEST_F(PostgresOnlyTwoServers, AMachineOfOneIsKnownToTheOther) {
    enroll();
    EXPECT_EQ(heartbeat(servers[1], "well"), "200");
    EXPECT_EQ(heartbeat(servers[0], "well"), "200");
    connection->read([&](db::Transaction& tx) {
        EXPECT_TRUE(machines::find(tx, machine)->mode_observed_at);
        EXPECT_TRUE(machines::find_last_healthy(tx, machine));
    });
}

TEST_F(PostgresOnlyTwoServers, ACommandReachesAnAgentThatWaitsElsewhere) {
    enroll();
    std::string said;
    std::thread waiting([&] { said = agent(servers[1], {"wait", "30"}); });
    const auto began = std::chrono::steady_clock::now();
    queue(CommandKind::qualify, R"({"run_id":"r"})");
    waiting.join();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20)) << said;
    EXPECT_NE(said.find("command QUALIFY"), std::string::npos) << said;
    EXPECT_NE(said.find("ack 200"), std::string::npos) << said;
}

TEST_F(PostgresOnlyTwoServers, WhatAnAgentDoesWrongIsRefusedOrHarmless) {
    enroll();
    EXPECT_EQ(heartbeat(servers[1], "replay"), "401");
    EXPECT_EQ(heartbeat(servers[1], "tamper"), "401");
    EXPECT_EQ(heartbeat(servers[1], "oversized"), "413");
    EXPECT_EQ(heartbeat(servers[1], "future"), "200");
    EXPECT_EQ(heartbeat(servers[1], "past"), "200");
    EXPECT_EQ(heartbeat(servers[1], "old-fence"), "200");
    EXPECT_NE(agent(servers[0], {"heartbeat", "no-gpus"}).find("send the manifest"),
              std::string::npos);
}

TEST_F(PostgresOnlyTwoServers, AnOldKeyDiesEverywhereWithinAboutASecond) {
    enroll();
    for (const Server& server : servers) agent(server, {"heartbeat", "well"});
    std::filesystem::copy(folder.path() + "/agent", folder.path() + "/old");
    queue(CommandKind::rotate_key, R"({"nonce":"abc"})");
    EXPECT_NE(agent(servers[0], {"wait", "10"}).find("\"completed\""), std::string::npos);
    EXPECT_EQ(heartbeat(servers[1], "well"), "200");
    const auto with_old_key = [&] {
        return run_program({program_path("scripted_agent"), folder.path() + "/old", servers[1].url,
                            "wait", "0"})
            .output;
    };
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::string said;
    do said = with_old_key();
    while (!said.starts_with("wait 401") && std::chrono::steady_clock::now() < until);
    EXPECT_TRUE(said.starts_with("wait 401")) << said;
}

TEST_F(PostgresOnlyTwoServers, AMachineThatLeftIsGoneEverywhere) {
    enroll();
    agent(servers[1], {"heartbeat", "well"});
    EXPECT_EQ(agent(servers[0], {"leave"}), "leave 204\n");
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::string said;
    do said = agent(servers[1], {"wait", "0"});
    while (!said.starts_with("wait 401") && std::chrono::steady_clock::now() < until);
    EXPECT_TRUE(said.starts_with("wait 401")) << said;
}

}  // namespace
}  // namespace berth::test
