// What must be refused, over a real socket: a bare 400, the end of the connection, and not a word
// to the handler about what was smuggled behind it.
#include <gtest/gtest.h>

#include <atomic>

#include "bad_heads.hpp"
#include "harness.hpp"

namespace berth::http {
namespace {

// Nothing but the refusal and its id, whose 36 letters are looked at elsewhere.
bool is_bare_400(std::string_view text) {
    constexpr std::string_view begin = "HTTP/1.1 400 Bad Request\r\nX-Request-Id: ";
    constexpr std::string_view end = "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    return text.starts_with(begin) && text.ends_with(end) &&
           text.size() == begin.size() + 36 + end.size();
}

TEST(HttpFraming, RefusesEveryBadHeadAndEndsTheConnection) {
    std::atomic<int> handled{0};
    TestServer server({}, [&](Request request, const Reply& reply) {
        ++handled;
        echo(std::move(request), reply);
    });
    for (const std::string& head : bad_heads()) {
        RawSocket socket = server.connect();
        EXPECT_TRUE(socket.try_send(head + "abc" + get_request("/smuggled"))) << head;
        EXPECT_TRUE(is_bare_400(socket.receive_all())) << head;
    }
    EXPECT_EQ(handled, 0);
    EXPECT_EQ(server.get("/after"), "GET /after []");
}

TEST(HttpFraming, RefusesEveryBadChunkedBodyAndEndsTheConnection) {
    std::atomic<int> handled{0};
    TestServer server({}, [&](Request request, const Reply& reply) {
        ++handled;
        echo(std::move(request), reply);
    });
    for (const std::string& body : bad_chunked_bodies()) {
        RawSocket socket = server.connect();
        const std::string head = with_fields("Transfer-Encoding: chunked\r\n");
        EXPECT_TRUE(socket.try_send(head + body + get_request("/smuggled"))) << body;
        EXPECT_TRUE(is_bare_400(socket.receive_all())) << body;
    }
    EXPECT_EQ(handled, 0);
}

TEST(HttpFraming, AnswersTheGoodRequestBeforeABadOne) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send(get_request("/good") + "GET / HTTP/1.1\r\n\r\n" + get_request("/never"));
    EXPECT_EQ(socket.receive().body, "GET /good []");
    EXPECT_TRUE(is_bare_400(socket.receive_all()));
}

TEST(HttpFraming, TakesABodyForABodyAndNotForARequest) {
    TestServer server;
    RawSocket socket = server.connect();
    const std::string inner = get_request("/inner");
    socket.send("GET /outer HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                std::to_string(inner.size()) + "\r\n\r\n" + inner + get_request("/next"));
    EXPECT_EQ(socket.receive().body, "GET /outer [" + inner + "]");
    EXPECT_EQ(socket.receive().body, "GET /next []");
}

TEST(HttpFraming, IgnoresAnUpgrade) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send(get_request("/a", "Connection: Upgrade\r\nUpgrade: h2c\r\n") + get_request("/b"));
    EXPECT_EQ(socket.receive().body, "GET /a []");
    EXPECT_EQ(socket.receive().body, "GET /b []");
}

}  // namespace
}  // namespace berth::http
