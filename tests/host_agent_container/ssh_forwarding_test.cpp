// What SSH clients forward: all of it inside the rental, as VS Code, JetBrains and every recipe
// expect it, and nothing outside. OpenSSH's own client and curl are the peers.
#include <fmt/format.h>

#include "host_agent/runtimes/container_network.hpp"
#include "host_agent_container/renter.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

class ForwardingTest : public SshTest {
protected:
    void SetUp() override {
        SshTest::SetUp();
        if (IsSkipped()) return;
        of_host = free_port();
        service =
            std::make_unique<Process>(std::vector<std::string>{program_path("berth-inside"),
                                                               "serve", std::to_string(of_host)},
                                      folder + "/service.log");
        ASSERT_TRUE(support::eventually([&] { return asked_here(of_host) != ""; }));
    }
    void TearDown() override {
        service.reset();
        SshTest::TearDown();
    }

    // The answer of a service on this machine, without anything between.
    static std::string asked_here(std::uint16_t port, const std::vector<std::string>& more = {}) {
        std::vector<std::string> words = {"curl", "-s", "--max-time", "10",
                                          fmt::format("http://localhost:{}/", port)};
        words.insert(words.end(), more.begin(), more.end());
        return host_agent::run_tool({.arguments = words}).output;
    }
    // Whether anybody takes a connection on this machine.
    static bool is_open_here(std::uint16_t port) {
        return host_agent::run_tool({.arguments = {program_path("berth-inside"), "connect",
                                                   "127.0.0.1", std::to_string(port)}})
                   .output == "connect allowed\n";
    }
    // What a place says that the client asks through the rental.
    std::string through(const std::string& place) const {
        return ssh({"-W" + place}, "right", "GET / HTTP/1.0\r\n\r\n").output;
    }
    void serve_inside(const std::string& words) const {
        host_agent::run_tool_or_throw(
            {.arguments = {"runc", "exec", "--detach", started.container_id, "/bin/sh", "-c",
                           words}});
    }
    std::string connect_inside(const std::string& address, std::uint16_t port) {
        return inside(started, {"connect", address, std::to_string(port)});
    }

    std::uint16_t of_host = 0;  // a service of the host, on all of its addresses
    std::unique_ptr<Process> service;
};

TEST_F(ForwardingTest, ReachesServicesOnTheRentalsOwnLoopback) {
    // On 127.0.0.1 alone, where notebooks and debuggers listen.
    serve_inside(
        "echo hello from inside > /work/index.html; exec busybox httpd -f -p 127.0.0.1:9000 -h "
        "/work");
    for (const char* place : {"127.0.0.1:9000", "localhost:9000"}) {
        std::string said;
        EXPECT_TRUE(support::eventually([&] {
            said = through(place);
            return said.find("hello from inside") != std::string::npos;
        })) << place
            << said;
    }
    const std::uint16_t here = free_port();
    const auto forwarding = client({"-N", "-L", fmt::format("127.0.0.1:{}:localhost:9000", here)});
    EXPECT_TRUE(support::eventually([&] { return asked_here(here) == "hello from inside\n"; }))
        << read_text(keys + "/client.log");
}

TEST_F(ForwardingTest, ASocksProxyIsInsideToo) {
    serve_inside(
        "echo hello from inside > /work/index.html; exec busybox httpd -f -p 127.0.0.1:9000 -h "
        "/work");
    const std::uint16_t proxy = free_port();
    const auto forwarding = client({"-N", "-D", fmt::format("127.0.0.1:{}", proxy)});
    const std::vector<std::string> by_proxy = {"--socks5-hostname",
                                               fmt::format("127.0.0.1:{}", proxy)};
    EXPECT_TRUE(support::eventually([&] {
        return asked_here(9000, by_proxy) == "hello from inside\n";
    })) << read_text(keys + "/client.log");
    EXPECT_EQ(asked_here(of_host, by_proxy), "");
}

TEST_F(ForwardingTest, SocketsInFoldersThatTheRentalWritesAreReached) {
    for (const std::string& place : {std::string("/work"), std::string("/tmp")}) {
        // One client has a service of its own machine listen there, the other reaches it.
        const std::string socket = place + "/there.sock";
        const std::uint16_t here = free_port();
        const auto offering = client({"-N", "-R", fmt::format("{}:127.0.0.1:{}", socket, of_host)});
        EXPECT_TRUE(support::eventually([&] { return ssh({"test -S " + socket}).good(); }))
            << read_text(keys + "/client.log");
        const auto reaching = client({"-N", "-L", fmt::format("127.0.0.1:{}:{}", here, socket)});
        EXPECT_TRUE(support::eventually([&] { return asked_here(here) == asked_here(of_host); }))
            << place << read_text(keys + "/client.log");
    }
}

TEST_F(ForwardingTest, WhatListensForTheClientDoesSoOnTheRentalsLoopback) {
    const auto own =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    ASSERT_TRUE(own);
    const auto listening = client({"-N", "-R", fmt::format("0.0.0.0:9100:127.0.0.1:{}", of_host)});
    EXPECT_TRUE(support::eventually([&] {
        return connect_inside("127.0.0.1", 9100) == "connect allowed\n";
    })) << read_text(keys + "/client.log");
    EXPECT_EQ(connect_inside(own->address, 9100), "connect ECONNREFUSED\n");
    EXPECT_EQ(asked_here(9100), "") << "it listens on the host";
    EXPECT_NE(through("localhost:9100"), "");
}

TEST_F(ForwardingTest, OutsideStaysShut) {
    const auto own =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    ASSERT_TRUE(own);
    for (const std::string& address :
         {std::string("127.0.0.1"), std::string("localhost"), own->gateway,
          std::string("169.254.169.254"), std::string("192.168.1.1")})
        EXPECT_EQ(through(fmt::format("{}:{}", address, of_host)), "") << address;
    // Nor is a socket of the host, or the one by which sessions are asked for, found by its name.
    const std::string entrance = run + "/ssh/" + to_string(workload.job) + "/socket";
    for (const std::string& socket :
         {std::string("/run/dbus/system_bus_socket"), entrance, std::string("/door/socket")}) {
        const std::uint16_t here = free_port();
        const auto reaching = client({"-N", "-L", fmt::format("127.0.0.1:{}:{}", here, socket)});
        ASSERT_TRUE(support::eventually([&] { return is_open_here(here); }));
        EXPECT_EQ(asked_here(here), "") << socket;
    }
    // Nothing is made but where the rental writes.
    for (const char* place : {"/usr/x.sock", "/door/x.sock", "/etc/x.sock", "/run/x.sock"})
        EXPECT_NE(
            ssh({"-oExitOnForwardFailure=yes", fmt::format("-R{}:127.0.0.1:1", place), "true"})
                .status,
            0)
            << place;
}

TEST_F(ForwardingTest, EndsWithTheJobAndNothingIsForwardedAfterIt) {
    const std::uint16_t here = free_port();
    const auto forwarding = client({"-N", "-L", fmt::format("127.0.0.1:{}:localhost:9000", here)});
    ASSERT_TRUE(support::eventually([&] { return is_open_here(here); }))
        << read_text(keys + "/client.log");
    runtime->stop(workload, std::chrono::seconds(30));
    EXPECT_TRUE(support::eventually([&] { return !forwarding->running(); }));
    for (const std::string& place :
         {fmt::format("127.0.0.1:{}", of_host), std::string("203.0.113.7:80")})
        EXPECT_EQ(through(place), "") << place;
    EXPECT_NE(ssh({"-oExitOnForwardFailure=yes", "-R/work/x.sock:127.0.0.1:1", "true"}).status, 0);
    EXPECT_FALSE(std::filesystem::exists(workload.folder + "/work/x.sock"));
}

}  // namespace
}  // namespace berth::test
