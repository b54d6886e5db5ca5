// Who may have a connection, how many, on which loop, and what is counted when one is refused.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/ids.hpp"
#include "harness.hpp"
#include "http/admission.hpp"

namespace berth::http {
namespace {

TEST(HttpConnections, ClosesConnectionsOverTheCapAtOnceWhenAllAreAtWork) {
    std::mutex mutex;
    std::vector<Reply> held;
    const auto hold = [&](Request request, Reply reply) {
        if (request.target != "/held") return echo(std::move(request), reply);
        const std::lock_guard lock(mutex);
        held.push_back(std::move(reply));
    };
    TestServer server({.connections_max = 2}, hold);
    {
        RawSocket first = server.connect();
        RawSocket second = server.connect();
        for (RawSocket* socket : {&first, &second}) socket->send(get_request("/held"));
        ASSERT_TRUE(eventually([&] {
            const std::lock_guard lock(mutex);
            return held.size() == 2;
        }));
        for (int i = 0; i < 50; ++i) EXPECT_EQ(server.connect().receive_all(), "");
        EXPECT_EQ(server.server().refused(), 50u);
        for (const Reply& reply : held) reply(text_response("at last"));
        EXPECT_EQ(first.receive().body, "at last");
        EXPECT_EQ(second.receive().body, "at last");
    }
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    EXPECT_EQ(server.get("/c"), "GET /c []");
}

TEST(HttpConnections, WhenFullTheLongestIdleConnectionGoes) {
    TestServer server({.connections_max = 3});
    std::vector<RawSocket> sockets;
    for (int i = 0; i < 3; ++i) {
        sockets.push_back(server.connect());
        sockets.back().send(get_request("/a"));
        EXPECT_EQ(sockets.back().receive().status, 200);
    }
    sockets[0].send(get_request("/again"));
    EXPECT_EQ(sockets[0].receive().status, 200);
    RawSocket newcomer = server.connect();
    newcomer.send(get_request("/new"));
    EXPECT_EQ(newcomer.receive().body, "GET /new []");
    sockets[1].await_end();
    EXPECT_TRUE(sockets[0].is_quiet());
    EXPECT_TRUE(sockets[2].is_quiet());
    EXPECT_EQ(server.server().evicted(), 1u);
    EXPECT_EQ(server.server().refused(), 0u);
}

TEST(HttpConnections, AnAddressHasSoManyConnectionsAndNoMoreButProxiesAndLoopbackHaveAny) {
    const auto address = [](const char* text) { return *parse_address(text); };
    Admission admission(2, {*AddressBlock::parse("10.0.0.0/8")});
    EXPECT_TRUE(admission.enter(address("192.0.2.1")));
    EXPECT_TRUE(admission.enter(address("192.0.2.1")));
    EXPECT_FALSE(admission.enter(address("192.0.2.1")));
    EXPECT_TRUE(admission.enter(address("192.0.2.2")));
    admission.leave(address("192.0.2.1"));
    EXPECT_TRUE(admission.enter(address("192.0.2.1")));
    EXPECT_TRUE(admission.enter(address("2001:db8::1")));
    EXPECT_TRUE(admission.enter(address("2001:db8::2")));
    EXPECT_FALSE(admission.enter(address("2001:db8::3"))) << "one subscriber has all of a /64";
    EXPECT_TRUE(admission.enter(address("2001:db8:0:1::1")));
    for (const char* text : {"127.0.0.1", "::1", "10.1.2.3"})
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(admission.enter(address(text))) << text;
}

TEST(HttpConnections, SeveralLoopsShareTheConnectionsEvenly) {
    std::mutex mutex;
    std::map<std::thread::id, int> by_thread;
    const auto count = [&](Request request, const Reply& reply) {
        {
            const std::lock_guard lock(mutex);
            ++by_thread[std::this_thread::get_id()];
        }
        echo(std::move(request), reply);
    };
    TestServer server({.io_threads = 4}, count);
    std::vector<RawSocket> sockets;
    for (int i = 0; i < 40; ++i) sockets.push_back(server.connect());
    for (RawSocket& socket : sockets) socket.send(get_request("/a"));
    for (RawSocket& socket : sockets) EXPECT_EQ(socket.receive().body, "GET /a []");
    EXPECT_EQ(server.server().connections(), 40u);
    ASSERT_EQ(by_thread.size(), 4u);
    for (const auto& [thread, requests] : by_thread) EXPECT_EQ(requests, 10);
    server.server().stop();
    EXPECT_EQ(server.server().connections(), 0u);
}

TEST(HttpConnections, ABareRefusalIsCountedAndNamed) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send("nonsense\r\n\r\n");
    const Response refusal = socket.receive();
    EXPECT_EQ(refusal.status, 400);
    const auto id = refusal.headers.find("X-Request-Id");
    EXPECT_TRUE(id && parse_uuid(*id));
    EXPECT_EQ(server.server().not_understood(), 1u);
}

TEST(HttpConnections, AHandlerCanTellThatItsClientHasGone) {
    std::mutex mutex;
    std::weak_ptr<const void> client;
    std::optional<Reply> held;
    const auto hold = [&](Request request, Reply reply) {
        const std::lock_guard lock(mutex);
        client = request.client;
        held = std::move(reply);
    };
    TestServer server({}, hold);
    {
        RawSocket socket = server.connect();
        socket.send(get_request("/held"));
        ASSERT_TRUE(eventually([&] {
            const std::lock_guard lock(mutex);
            return held.has_value();
        }));
        EXPECT_FALSE(client.expired());
    }
    EXPECT_TRUE(eventually([&] { return client.expired(); }));
    (*held)(text_response("for nobody"));
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
}

}  // namespace
}  // namespace berth::http
