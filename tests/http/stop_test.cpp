#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "harness.hpp"

namespace berth::http {
namespace {

TEST(HttpStop, LetsARequestInProgressEndAndClosesIdleConnections) {
    std::promise<Reply> held;
    TestServer server({}, [&](Request request, Reply reply) {
        if (request.target == "/slow") return held.set_value(std::move(reply));
        echo(std::move(request), reply);
    });
    RawSocket idle = server.connect();
    idle.send(get_request("/a"));
    EXPECT_EQ(idle.receive().status, 200);
    RawSocket fresh = server.connect();
    RawSocket half = server.connect();
    half.send(
        "POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(half.receive().status, 100);  // so that it is known to be in progress
    half.send("ab");
    RawSocket busy = server.connect();
    busy.send(get_request("/slow"));
    const Reply reply = held.get_future().get();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 4; }));

    std::thread stopper([&] { server.server().stop(); });
    EXPECT_EQ(idle.receive_all(), "");
    EXPECT_EQ(fresh.receive_all(), "");
    EXPECT_THROW(server.connect(), std::runtime_error);
    half.send("cd");
    const Response halved = half.receive();
    EXPECT_EQ(halved.body, "POST /half [abcd]");
    EXPECT_EQ(halved.headers.find("connection"), "close");
    EXPECT_EQ(half.receive_all(), "");
    EXPECT_TRUE(busy.is_quiet());
    reply(text_response("done"));
    EXPECT_EQ(busy.receive().body, "done");
    EXPECT_EQ(busy.receive_all(), "");
    stopper.join();
    EXPECT_EQ(server.server().connections(), 0u);
}

TEST(HttpStop, WaitsNoLongerThanTheDrainTime) {
    std::promise<Reply> held;
    TestServer server({.drain_max = 50ms},
                      [&](Request, Reply reply) { held.set_value(std::move(reply)); });
    RawSocket socket = server.connect();
    socket.send(get_request("/slow"));
    const Reply reply = held.get_future().get();
    server.server().stop();
    EXPECT_EQ(socket.receive_all(), "");
    reply(text_response("too late"));
}

TEST(HttpStop, MayComeTwiceOrWithoutAStart) {
    FunctionHandler handler(echo);
    Server never_started({}, handler);
    never_started.stop();
    TestServer server;
    EXPECT_EQ(server.get("/a"), "GET /a []");
    server.server().stop();
    server.server().stop();
}

TEST(HttpStop, FreesThePortForTheNextServer) {
    std::uint16_t port = 0;
    {
        TestServer server;
        port = server.port();
        EXPECT_EQ(server.get("/a"), "GET /a []");
    }
    TestServer next({.port = port});
    EXPECT_EQ(next.get("/b"), "GET /b []");
}

TEST(HttpStop, WhileAnswersComeFromManyThreads) {
    for (int round = 0; round < 20; ++round) {
        std::mutex mutex;
        std::vector<std::thread> threads;
        TestServer server({.drain_max = 1ms}, [&](Request, Reply reply) {
            const std::lock_guard lock(mutex);
            threads.emplace_back([reply = std::move(reply)] { reply(text_response("x")); });
        });
        std::vector<RawSocket> sockets;
        for (int i = 0; i < 20; ++i) {
            sockets.push_back(server.connect());
            sockets.back().send(get_request("/a"));
        }
        server.server().stop();
        for (std::thread& thread : threads) thread.join();
    }
}

}  // namespace
}  // namespace berth::http
