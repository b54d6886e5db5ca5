// Every phase of a connection has a deadline, and dripping bytes does not move it.
#include <gtest/gtest.h>

#include <future>

#include "harness.hpp"

namespace berth::http {
namespace {

using Clock = std::chrono::steady_clock;

// Short to wait for, long for a busy machine to miss.
constexpr Duration brief = 250ms;
constexpr Duration longest = 60s;

ServerOptions patient() {
    return {.header_max = longest, .body_max = longest, .write_max = longest, .idle_max = longest};
}

// Sends one more byte every few milliseconds until the server ends the connection.
void drip_until_end(RawSocket& socket, Clock::time_point started) {
    while (!socket.readable_within(5ms))
        if (!socket.try_send("x")) break;
    socket.await_end();
    EXPECT_GE(Clock::now() - started, brief);
}

TEST(HttpDeadlines, EndAConnectionThatSendsNothing) {
    ServerOptions options = patient();
    options.header_max = brief;
    TestServer server(options);
    const Clock::time_point started = Clock::now();
    RawSocket socket = server.connect();
    EXPECT_EQ(socket.receive_all(), "");
    EXPECT_GE(Clock::now() - started, brief);
}

TEST(HttpDeadlines, EndASlowHead) {
    ServerOptions options = patient();
    options.header_max = brief;
    TestServer server(options);
    const Clock::time_point started = Clock::now();
    RawSocket socket = server.connect();
    socket.send("GET / HTTP/1.1\r\nHost: a\r\nA: ");
    drip_until_end(socket, started);
}

TEST(HttpDeadlines, EndASlowSecondHead) {
    ServerOptions options = patient();
    options.header_max = brief;
    TestServer server(options);
    RawSocket socket = server.connect();
    socket.send(get_request("/a"));
    EXPECT_EQ(socket.receive().status, 200);
    const Clock::time_point started = Clock::now();
    socket.send("GET / HTTP/1.1\r\nHost: a\r\nA: ");
    drip_until_end(socket, started);
}

TEST(HttpDeadlines, EndASlowBody) {
    ServerOptions options = patient();
    options.body_max = brief;
    TestServer server(options);
    for (const std::string framing :
         {"Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nfffff\r\n"}) {
        const Clock::time_point started = Clock::now();
        RawSocket socket = server.connect();
        socket.send("POST / HTTP/1.1\r\nHost: a\r\n" + framing);
        drip_until_end(socket, started);
    }
}

TEST(HttpDeadlines, EndAnIdleConnection) {
    ServerOptions options = patient();
    options.idle_max = 2s;  // the next request has to come before
    TestServer server(options);
    RawSocket socket = server.connect();
    Clock::time_point started;
    for (int i = 0; i < 3; ++i) {
        started = Clock::now();
        socket.send(get_request("/a"));
        EXPECT_EQ(socket.receive().status, 200);
    }
    EXPECT_EQ(socket.receive_all(), "");
    EXPECT_GE(Clock::now() - started, options.idle_max);
}

TEST(HttpDeadlines, EndAReaderThatReadsNothingOrTooSlowly) {
    ServerOptions options = patient();
    options.write_max = brief;
    const auto body = std::make_shared<const std::string>(64 * 1024 * 1024, 'y');
    TestServer server(options, [&](Request, const Reply& reply) {
        Response response;
        response.shared_body = body;
        reply(std::move(response));
    });
    RawSocket silent(server.port(), {.receive_bytes = 4096});
    silent.send(get_request("/a"));
    ASSERT_TRUE(silent.readable_within(support::socket_wait_max));
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    EXPECT_LT(silent.receive_all().size(), body->size());

    const RawSocket other = server.connect();
    RawSocket slow(server.port(), {.receive_bytes = 4096});
    slow.send(get_request("/a"));
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 2; }));
    while (server.server().connections() == 2 && slow.skip_some())
        EXPECT_FALSE(other.readable_within(2ms));  // nothing comes there: this is the slowness
    EXPECT_LT(slow.receive_all().size(), body->size());
}

TEST(HttpDeadlines, DoNotHurryTheHandler) {
    std::promise<Reply> held;
    TestServer server(
        {.header_max = brief, .body_max = brief, .write_max = brief, .idle_max = brief},
        [&](Request, Reply reply) { held.set_value(std::move(reply)); });
    RawSocket socket = server.connect();
    socket.send(get_request("/a"));
    const Reply reply = held.get_future().get();
    EXPECT_FALSE(socket.readable_within(500ms));
    reply(text_response("at last"));
    EXPECT_EQ(socket.receive().body, "at last");
}

}  // namespace
}  // namespace berth::http
