// What a job reaches of the network, asked from inside it.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "host_agent/runtimes/guard.hpp"
#include "host_agent_container/elsewhere.hpp"
#include "host_agent_container/host.hpp"
#include "http/client.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

class NetworkTest : public ContainerTest {
protected:
    std::string connect(const host_agent::Started& started, const std::string& address, int port) {
        return inside(started, {"connect", address, std::to_string(port)});
    }
    std::string queue_of(const host_agent::Started& started) {
        return host_agent::run_tool(
                   {.arguments = {"sh", "-c",
                                  "nsenter --net=/proc/$(runc state " + started.container_id +
                                      " | sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p')/ns/net "
                                      "tc qdisc show dev eth0"}})
            .output;
    }
    static std::string log() { return folder + "/service.log"; }
    static http::Response get(std::int64_t port) {
        http::Outbound request;
        request.url = fmt::format("http://127.0.0.1:{}/", port);
        return http::CurlClient().send(request);
    }
    static bool answers(std::int64_t port) {
        try {
            return get(port).status == 200;
        } catch (const http::TransportError&) {
            return false;
        }
    }
};

constexpr const char* refused = "connect ECONNREFUSED\n";
constexpr const char* allowed = "connect allowed\n";

TEST_F(NetworkTest, ReachesTheInternetAndNames) {
    const Elsewhere elsewhere("198.51.100");
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    EXPECT_TRUE(support::eventually(
        [&] { return connect(started, elsewhere.address(), 8000) == allowed; }));
    EXPECT_EQ(inside(started, {"resolve", "berth.invalid"}), "resolve answered\n");
    // Not so what is in a network with the host, though its address is anybody's.
    EXPECT_EQ(connect(started, elsewhere.neighbour(), 8000), refused);
}

TEST_F(NetworkTest, ReachesNeitherHostNorNeighboursNorOtherJobs) {
    auto neighbour = make_workload({"/bin/berth-inside", "serve", "9000"});
    neighbour.serves = {{.name = "api", .port = 9000, .local_port = free_port()}};
    start(neighbour);
    ASSERT_TRUE(support::eventually([&] { return answers(neighbour.serves[0].local_port); }));
    auto workload = make_workload({"/bin/berth-inside", "serve", "9000"});
    const host_agent::Started started = start(workload);

    const std::uint16_t port = free_port();
    const Process service({program_path("berth-inside"), "serve", std::to_string(port)}, log());
    ASSERT_TRUE(support::eventually([&] { return answers(port); })) << read_text(log());
    host_agent::ContainerNetworks networks(folder + "/networks", "10.217");
    const auto own = networks.find(workload.job);
    const auto other = networks.find(neighbour.job);
    ASSERT_TRUE(own && other);
    // The host has more than one address; none of them opens.
    const std::string outer =
        host_agent::run_tool({.arguments = {"sh", "-c",
                                            "ip -4 -o route get 192.0.2.1 | "
                                            "sed 's/.* src \\([0-9.]*\\).*/\\1/'"}})
            .output;
    for (const std::string& host :
         {own->gateway, other->gateway, outer.substr(0, outer.find('\n'))})
        EXPECT_EQ(connect(started, host, port), refused) << host;
    EXPECT_EQ(connect(started, other->address, 9000), refused);
    EXPECT_EQ(connect(started, own->gateway, static_cast<int>(neighbour.serves[0].local_port)),
              refused);
    EXPECT_EQ(connect(started, own->address, 9000), allowed);
    for (const char* closed : {"169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.1.1",
                               "100.64.0.1", "100.100.100.200", "198.18.0.1", "224.0.0.1"})
        EXPECT_NE(connect(started, closed, 80), allowed) << closed;
    for (const char* metadata :
         {"169.254.169.254", "100.100.100.200", "10.255.255.53", "168.63.129.16"})
        EXPECT_EQ(connect(started, metadata, 80), refused) << metadata;
}

TEST_F(NetworkTest, OtherUsersOfTheHostDoNotReachIt) {
    auto workload = make_workload({"/bin/berth-inside", "serve", "9000"});
    workload.serves = {{.name = "api", .port = 9000, .local_port = free_port()}};
    start(workload);
    const std::int64_t port = workload.serves[0].local_port;
    ASSERT_TRUE(support::eventually([&] { return answers(port); }));
    const auto own =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    ASSERT_TRUE(own);
    const std::string looker = folder + "/looker";
    std::filesystem::copy(program_path("berth-inside"), looker,
                          std::filesystem::copy_options::overwrite_existing);
    const auto as = [&](const char* user, const std::string& address, std::int64_t at) {
        return host_agent::run_tool({.arguments = {"setpriv", std::string("--reuid=") + user,
                                                   looker, "connect", address, std::to_string(at)}})
            .output;
    };
    EXPECT_EQ(as("0", own->address, 9000), allowed);
    EXPECT_EQ(as("65534", own->address, 9000), refused);
    EXPECT_EQ(as("65534", "127.0.0.1", port), refused);
}

// That the tests above see the guard and not an address where nobody is.
TEST_F(NetworkTest, WithoutTheGuardTheHostWouldBeOpen) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const std::uint16_t port = free_port();
    const Process service({program_path("berth-inside"), "serve", std::to_string(port)}, log());
    ASSERT_TRUE(support::eventually([&] { return answers(port); })) << read_text(log());
    const auto own =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    EXPECT_EQ(connect(started, own->gateway, port), refused);
    host_agent::Guard(workload.job).remove();
    EXPECT_TRUE(
        support::eventually([&] { return connect(started, own->gateway, port) == allowed; }));
    // It comes back with the next look that counts.
    runtime = make_runtime();
    runtime->look(workload);
    EXPECT_EQ(connect(started, own->gateway, port), refused);
}

TEST_F(NetworkTest, WhatLeavesIsCounted) {
    const Elsewhere elsewhere("198.51.100");
    auto workload = make_workload({"/bin/berth-inside", "serve", "9000"});
    workload.serves = {{.name = "api", .port = 9000, .local_port = free_port()}};
    const host_agent::Started started = start(workload);
    ASSERT_TRUE(support::eventually(
        [&] { return connect(started, elsewhere.address(), 8000) == allowed; }));
    const host_agent::Guard guard(workload.job);
    const std::int64_t before = guard.egress_bytes().value();
    inside(started, {"send", elsewhere.address(), "8000", std::to_string(mebibyte)});
    const std::int64_t sent = guard.egress_bytes().value() - before;
    EXPECT_GT(sent, mebibyte);
    EXPECT_LT(sent, mebibyte * 12 / 10);
    ASSERT_TRUE(support::eventually([&] { return answers(workload.serves[0].local_port); }));
    EXPECT_GT(guard.egress_bytes().value() - before, sent);
    const auto told = runtime->look(workload).egress_bytes;
    ASSERT_TRUE(told);
}

TEST_F(NetworkTest, MailIsShut) {
    const Elsewhere elsewhere("198.51.100");
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    ASSERT_TRUE(support::eventually(
        [&] { return connect(started, elsewhere.address(), 8000) == allowed; }));
    // Nobody listens there, which would be refused as well: only what leaves is counted.
    const auto before = host_agent::Guard(workload.job).egress_bytes();
    EXPECT_EQ(connect(started, elsewhere.address(), 25), refused);
    EXPECT_EQ(host_agent::Guard(workload.job).egress_bytes(), before);
    EXPECT_EQ(connect(started, elsewhere.address(), 26), refused) << "by the other side";
    EXPECT_GT(host_agent::Guard(workload.job).egress_bytes(), before);
}

TEST_F(NetworkTest, ConnectionsAtOnceAndNewOnesASecondAreBounded) {
    const Elsewhere elsewhere("198.51.100");
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    ASSERT_TRUE(support::eventually(
        [&] { return connect(started, elsewhere.address(), 8000) == allowed; }));
    const auto own =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    ASSERT_TRUE(own);
    const auto opened_with = [&](const host_agent::ConnectionLimits& limits) {
        host_agent::Guard(workload.job)
            .put({.bridge = own->bridge,
                  .subnet = own->subnet,
                  .gateway = own->gateway,
                  .host_ports = {},
                  .host_users = {},
                  .neighbours = {},
                  .connections = limits});
        const std::string said = inside(started, {"open", elsewhere.address(), "8000", "12"});
        return said.starts_with("opened ") ? std::stoi(said.substr(7)) : -1;
    };
    EXPECT_EQ(opened_with({}), 12);
    EXPECT_EQ(opened_with({.open_max = 8}), 8);
    const auto begun = std::chrono::steady_clock::now();
    const int slowly = opened_with({.new_per_second_max = 1, .new_at_once_max = 3});
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_GE(slowly, 3);
    EXPECT_LE(slowly, 4 + took / std::chrono::seconds(1));
}

TEST_F(NetworkTest, NamesThatAreAskedForCountAsLeaving) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const host_agent::Guard guard(workload.job);
    const std::int64_t before = guard.egress_bytes().value();
    EXPECT_EQ(inside(started, {"resolve", "berth.invalid"}), "resolve answered\n");
    EXPECT_GT(guard.egress_bytes().value(), before);
}

TEST_F(NetworkTest, WhatIsAskedOfNamesASecondIsBounded) {
    constexpr int questions = 8;
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const auto own =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    ASSERT_TRUE(own);
    // Bytes that got through, of a packet for each.
    const auto asked_with = [&](const host_agent::ConnectionLimits& limits) {
        host_agent::Guard guard(workload.job);
        guard.put({.bridge = own->bridge,
                   .subnet = own->subnet,
                   .gateway = own->gateway,
                   .host_ports = {},
                   .host_users = {},
                   .neighbours = {},
                   .connections = limits});
        host_agent::run_tool({.arguments = {"runc", "exec", started.container_id, "/bin/sh", "-c",
                                            "for i in 1 2 3 4 5 6 7 8; do "
                                            "berth-inside resolve berth.invalid & done; wait"}});
        return guard.egress_bytes().value();
    };
    const std::int64_t all = asked_with({});
    ASSERT_GT(all, 0);
    EXPECT_EQ(all % questions, 0);
    const auto begun = std::chrono::steady_clock::now();
    const std::int64_t slowly =
        asked_with({.asking_per_second_max = 1, .asking_at_once_max = 3}) / (all / questions);
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_GE(slowly, 3);
    EXPECT_LE(slowly, 4 + took / std::chrono::seconds(1));
}

TEST_F(NetworkTest, PastWhatIsIncludedAJobSendsSlowlyAndIsNotCut) {
    const Elsewhere elsewhere("198.51.100");
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    workload.limits.egress_bytes = mebibyte;
    const host_agent::Started started = start(workload);
    ASSERT_TRUE(support::eventually(
        [&] { return connect(started, elsewhere.address(), 8000) == allowed; }));
    const auto send = [&](std::int64_t bytes) {
        const auto began = std::chrono::steady_clock::now();
        const std::string said =
            inside(started, {"send", elsewhere.address(), "8000", std::to_string(bytes)});
        EXPECT_EQ(said, allowed);
        return std::chrono::steady_clock::now() - began;
    };
    runtime->look(workload);
    send(mebibyte / 2);
    // A new agent looks at once; one that runs does within half a minute.
    runtime = make_runtime();
    runtime->look(workload);
    EXPECT_EQ(queue_of(started).find("tbf"), std::string::npos);
    send(mebibyte);
    runtime = make_runtime();
    EXPECT_GT(runtime->look(workload).egress_bytes, mebibyte);
    EXPECT_NE(queue_of(started).find("rate 10Mbit"), std::string::npos) << queue_of(started);
    // Two mebibytes at ten megabits a second; a burst of 64 kB is let through at once.
    EXPECT_GT(send(2 * mebibyte), std::chrono::milliseconds(1500));
    runtime = make_runtime();
    EXPECT_NO_THROW(runtime->look(workload)) << "again is harmless";
}

TEST_F(NetworkTest, APortThatIsTakenIsAnErrorAndLeavesNothing) {
    const std::uint16_t port = free_port();
    const Process service({program_path("berth-inside"), "serve", std::to_string(port)}, log());
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    workload.serves = {{.name = "api", .port = 9000, .local_port = port}};
    ASSERT_TRUE(support::eventually([&] { return answers(port); })) << read_text(log());
    try {
        start(workload);
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "INTERNAL");
    }
}

TEST(GuardRulesTest, CountWhatLeavesByThePortsOfTheJob) {
    const std::string rules = host_agent::guard_rules("berth_x", {.bridge = "b",
                                                                  .subnet = "10.0.0.0/29",
                                                                  .gateway = "10.0.0.1",
                                                                  .host_ports = {40000, 40001},
                                                                  .host_users = {998},
                                                                  .neighbours = {"192.0.2.0/24"},
                                                                  .connections = {},
                                                                  .passing_max = 1'000'000});
    EXPECT_NE(rules.find("224.0.0.0/3, 192.0.2.0/24"), std::string::npos) << rules;
    EXPECT_NE(rules.find("tcp sport { 40000, 40001 } oifname != \"lo\" jump leaving"),
              std::string::npos);
    // What comes by them is bounded as what leaves is, once it belongs to a conversation.
    EXPECT_NE(rules.find("tcp dport { 40000, 40001 } iifname != \"lo\" ct state established jump "
                         "entering"),
              std::string::npos)
        << rules;
    for (const char* chain : {"  chain entering {\n", "  chain leaving {\n"})
        EXPECT_NE(rules.find(std::string(chain) +
                             "    limit rate over 1000000 bytes/second burst 65536 bytes drop\n"),
                  std::string::npos)
            << rules;
    // By a gate the world comes to loopback, where the agent passes all of it on.
    const std::string by_gate = host_agent::guard_rules("berth_x", {.bridge = "b",
                                                                    .subnet = "10.0.0.0/29",
                                                                    .gateway = "10.0.0.1",
                                                                    .host_ports = {40001},
                                                                    .leaves_by_loopback = true,
                                                                    .host_users = {998},
                                                                    .neighbours = {},
                                                                    .connections = {}});
    EXPECT_NE(by_gate.find("tcp sport { 40001 } oifname \"lo\" jump leaving"), std::string::npos);
    EXPECT_NE(by_gate.find("tcp dport { 40001 } iifname \"lo\" ct state established jump entering"),
              std::string::npos);
    EXPECT_NE(rules.find("tcp dport 25 jump refuse"), std::string::npos);
    EXPECT_NE(rules.find("rate over 200/second burst 400 packets"), std::string::npos);
    EXPECT_NE(rules.find("rate over 1000/second burst 2000 packets"), std::string::npos);
    EXPECT_NE(rules.find("ct state new ct count over 4096 jump refuse"), std::string::npos);
    EXPECT_NE(rules.find("ip daddr 10.0.0.0/29 meta skuid != { 998, 0 } reject"),
              std::string::npos);
}

}  // namespace
}  // namespace berth::test
