// What strangers and slow writes do to everybody else: nothing that matters.
#include <gtest/gtest.h>

#include <latch>

#include "base/issued.hpp"
#include "crypto/token.hpp"
#include "machines/host_agents.hpp"
#include "support/eventually.hpp"
#include "support/machine_agent.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

using support::RawSocket;

std::string text_of(const http::Request& request) {
    std::string text = request.method + " " + request.target +
                       " HTTP/1.1\r\nContent-Length: " + std::to_string(request.body.size()) +
                       "\r\n";
    bool named = false;
    for (const auto& field : request.headers) {
        if (field.name == "Content-Length") continue;
        named = named || field.name == "Host";
        text += field.name + ": " + field.value + "\r\n";
    }
    return text + (named ? "\r\n" : "Host: a\r\n\r\n") + request.body;
}

class Door : public ::testing::Test {
protected:
    Door() {
        const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
        EXPECT_EQ(agent.enroll(MachineAgent::token_for(harness, owner)).status, 201);
        harness.app->serve();
    }
    http::Response send(const http::Request& request) const {
        RawSocket socket(harness.app->port());
        socket.send(text_of(request));
        return socket.receive();
    }
    http::Request beat(const std::string& more = "") {
        return agent.request(
            {.target = "/api/v1/host-agent/heartbeat", .body = agent.beat() + more});
    }

    Harness harness{{.flags = {{"worker-threads", "0"}}, .real_accounts = true}};
    MachineAgent agent{harness};
};

TEST_F(Door, StrangersWhoAnnounceAndHoldLargeBodiesShutNobodyOut) {
    constexpr std::size_t mebibyte = std::size_t{1024} * 1024;
    const std::string body(mebibyte - 1, 'x');
    const std::string job = "/api/v1/jobs/" + harness.new_id() + "/openai/v1/chat/completions";
    std::vector<RawSocket> strangers;
    for (int i = 0; i < 300; ++i) {
        strangers.emplace_back(harness.app->port());
        const std::string key = crypto::make_token(issued::api_key, harness.random);
        strangers.back().send("POST " + job + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " +
                              key + "\r\nContent-Type: application/json\r\nContent-Length: " +
                              std::to_string(mebibyte) + "\r\n\r\n");
        static_cast<void>(strangers.back().try_send(body));
    }
    EXPECT_EQ(send(beat()).status, 200);
    EXPECT_EQ(send(make_request({.method = "POST",
                                 .target = "/api/v1/auth/email/start",
                                 .body = R"({"email":"ada@example.com"})"}))
                  .status,
              202);
    EXPECT_EQ(harness.ask({.target = "/readyz"}).status, 200);
    for (RawSocket& stranger : strangers) EXPECT_EQ(stranger.receive().status, 401);
}

TEST_F(Door, ALongMessageOfAMachineIsJudgedByItsHeadAndHeldToItsDigest) {
    const std::string more(6000, ' ');
    EXPECT_EQ(send(beat(more)).status, 200);
    http::Request altered = beat(more);
    altered.body.back() = '\n';
    EXPECT_EQ(send(altered).status, 401) << "another body than was signed";
    const http::Request once = beat(more);
    EXPECT_EQ(send(once).status, 200);
    EXPECT_EQ(send(once).status, 401) << "the nonce was used";
}

TEST_F(Door, AnyoneMaySendLittleUnlessTheProofIsInTheBody) {
    const auto status_of = [&](const std::string& target, std::size_t bytes) {
        return send(make_request(
                        {.method = "POST", .target = target, .body = std::string(bytes, ' ')}))
            .status;
    };
    constexpr std::size_t kib = 1024;
    const std::string confirm = "/api/v1/confirmations/" + harness.new_id();
    EXPECT_EQ(status_of(confirm, 4 * kib), 422);
    EXPECT_EQ(status_of(confirm, 4 * kib + 1), 413);
    for (const char* const target : {"/api/v1/auth/email/start", "/api/v1/agents/accounts"}) {
        EXPECT_EQ(status_of(target, 16 * kib), 422);
        EXPECT_EQ(status_of(target, 16 * kib + 1), 413);
    }
    EXPECT_EQ(status_of("/api/v1/host-agent/enroll", 64 * kib), 422);
    EXPECT_EQ(status_of("/api/v1/host-agent/enroll", 64 * kib + 1), 413);
}

TEST(Deafness, TimeInWhichMachinesAreRefusedIsNoTimeInWhichTheyCouldBeHeard) {
    Harness harness({.real_accounts = true});
    machines::HostAgents& agents = harness.app->host_agents();
    std::uint64_t refused = 0;
    agents.set_refused([&] { return refused; });
    const auto alive_at = [&] {
        return harness.app->database().read([](db::Transaction& tx) {
            return tx.run("SELECT alive_at FROM service_life WHERE one = 1")[0].get<Time>(0);
        });
    };
    const auto pass_a_second = [&] {
        harness.clock.advance(std::chrono::seconds(1));
        agents.turn(harness.clock.now());
    };
    pass_a_second();
    const Time heard = harness.clock.now();
    EXPECT_EQ(alive_at(), heard);
    for (int i = 0; i < 20; ++i) {
        ++refused;
        pass_a_second();
    }
    EXPECT_EQ(alive_at(), heard);
    pass_a_second();
    EXPECT_EQ(alive_at(), harness.clock.now()) << "and now they can be heard again";
}

TEST(Deafness, WhatMachinesAreRefusedForWantOfMemoryIsCountedAndTold) {
    constexpr std::size_t kib = 1024;
    server::Overrides overrides;
    overrides.request_bytes = {.bytes_max = kib};
    Harness harness({.overrides = std::move(overrides)});
    harness.app->serve();
    http::Request request = make_request({.method = "POST",
                                          .target = "/test/heartbeat",
                                          .as = "machine " + harness.new_id(),
                                          .body = "{" + std::string(2 * kib, ' ') + "}"});
    RawSocket socket(harness.app->port());
    socket.send(text_of(request));
    EXPECT_EQ(socket.receive().status, 503);
    EXPECT_EQ(harness.app->service().refused_to_machines(), 1u);
    EXPECT_TRUE(
        support::eventually([&] { return harness.ask({.target = "/readyz"}).status == 503; }));
    const std::string metrics = harness.app->metrics().prometheus_text();
    EXPECT_EQ(metrics.find("berth_requests_refused_for_memory_total 0"), std::string::npos);
    EXPECT_NE(metrics.find("berth_request_bytes_max 1024"), std::string::npos);
}

// A writer that stands still, and more who want to write than there are threads.
TEST(SqliteOnlySlowWrites, LeaveThreadsForReadsAndMachinesAndAreToldByReadiness) {
    constexpr int writers = 100;
    std::latch blocked(1);
    std::latch release(1);
    std::atomic<bool> first{true};
    server::Overrides overrides;
    overrides.db.write_wait_max = std::chrono::minutes(2);
    Harness harness({.flags = {{"worker-threads", "0"}}, .overrides = std::move(overrides)});
    harness.controls->before_deposit = [&] {
        if (!first.exchange(false)) return;
        blocked.count_down();
        release.wait();
    };
    harness.app->serve();
    const std::string me = harness.new_id();
    const auto ask = [&](const Ask& request) {
        RawSocket socket(harness.app->port());
        socket.send(text_of(make_request(request)));
        return socket;
    };
    std::vector<RawSocket> waiting;
    for (int i = 0; i < writers; ++i) {
        waiting.push_back(ask({.method = "POST",
                               .target = "/test/deposits",
                               .as = "renter " + me,
                               .key = harness.new_id(),
                               .body = R"({"amount_micro":"1"})"}));
        if (i == 0) blocked.wait();
    }
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(ask({.target = "/test/entries", .as = "renter " + me}).receive().status, 200);
    EXPECT_TRUE(
        support::eventually([&] { return harness.ask({.target = "/readyz"}).status == 503; }));
    const std::string checks = harness.ask({.target = "/readyz"}).body;
    EXPECT_NE(checks.find(R"("db":"failed")"), std::string::npos) << checks;
    release.count_down();
    int done = 0;
    for (RawSocket& each : waiting) {
        const int status = each.receive().status;
        EXPECT_TRUE(status == 201 || status == 503) << status;  // or waited too long for a thread
        if (status == 201) ++done;
    }
    EXPECT_GE(done, 48);
    EXPECT_TRUE(
        support::eventually([&] { return harness.ask({.target = "/readyz"}).status == 200; }));
}

}  // namespace
}  // namespace berth::test
