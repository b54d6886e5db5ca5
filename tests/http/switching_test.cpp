// Connections that are switched to another protocol, as websockets are (RFC 9110, 7.8; RFC 6455,
// 4): who may switch, and that bytes then go both ways, as they are and at the pace of the slower
// side.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "harness.hpp"
#include "http/passing.hpp"
#include "raw_upstream.hpp"

namespace berth::http {
namespace {

constexpr std::size_t tunnel_bytes = std::size_t{4} * 1024 * 1024;
const std::string asks_to_switch = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n";
const std::string switch_head =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";

// A server that passes everything on to an upstream with a script.
struct PassedThrough {
    explicit PassedThrough(RawUpstream::Script script)
        : upstream(std::move(script)), server({}, [this](Request request, const Reply& reply) {
              Response response;
              response.source = pass_on({.request = onward(std::move(request), upstream.endpoint()),
                                         .unanswered = text_response("no answer", 502)});
              reply(std::move(response));
          }) {}

    RawSocket ask(const std::string& fields) const {
        RawSocket socket = server.connect();
        socket.send(get_request("/socket", fields));
        return socket;
    }

    RawUpstream upstream;
    TestServer server;
};

std::string tunnel_pattern(std::size_t bytes) {
    std::string out(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(i * 131 % 251);
    return out;
}

TEST(HttpSwitching, PassesBytesAsTheyAreInBothDirections) {
    std::promise<std::string> asked;
    PassedThrough passed([&](RawSocket& socket) {
        asked.set_value(socket.receive_until("\r\n\r\n"));
        socket.send(switch_head + "Sec-WebSocket-Accept: x\r\n\r\nhi");
        EXPECT_EQ(socket.receive_until("ping"), "ping");
        socket.send(std::string("\0pong\r\n0\r\n\r\n", 12));
        EXPECT_EQ(socket.receive_until("bye"), "bye");
    });
    RawSocket client = passed.ask(asks_to_switch + "Sec-WebSocket-Key: k\r\nOrigin: http://a\r\n");
    const std::string head = client.receive_until("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << head;
    for (const char* field :
         {"Upgrade: websocket\r\n", "Connection: Upgrade\r\n", "Sec-WebSocket-Accept: x\r\n"})
        EXPECT_NE(head.find(field), std::string::npos) << head;
    for (const char* field : {"Transfer-Encoding", "Content-Length", "Content-Type", "close"})
        EXPECT_EQ(head.find(field), std::string::npos) << head;
    const std::string seen = asked.get_future().get();
    for (const char* field : {"Upgrade: websocket\r\n", "Connection: Upgrade\r\n",
                              "Sec-WebSocket-Key: k\r\n", "Origin: http://a\r\n"})
        EXPECT_NE(seen.find(field), std::string::npos) << seen;
    EXPECT_EQ(client.receive_until("hi"), "hi");
    client.send("ping");
    EXPECT_EQ(client.receive_until("0\r\n\r\n"), std::string("\0pong\r\n0\r\n\r\n", 12));
    client.send("bye");
    EXPECT_EQ(client.receive_all(), "");
}

TEST(HttpSwitching, WhatTheClientSentAheadComesFirst) {
    std::promise<void> head_is_there;
    std::promise<void> go_on;
    PassedThrough passed([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        head_is_there.set_value();
        go_on.get_future().get();
        socket.send(switch_head + "\r\n");
        socket.send(socket.receive_until("late"));
    });
    RawSocket client = passed.server.connect();
    client.send(get_request("/socket", asks_to_switch) + "early,");
    head_is_there.get_future().get();
    client.send("then,");
    go_on.set_value();
    client.receive_until("\r\n\r\n");
    client.send("late");
    EXPECT_EQ(client.receive_until("late"), "early,then,late");
}

TEST(HttpSwitching, AnUpstreamThatDoesNotSwitchAnswersAsEver) {
    PassedThrough passed([](RawSocket& socket) {
        for (const char* answer : {"HTTP/1.1 426 No\r\nContent-Length: 2\r\n\r\nno",
                                   "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"}) {
            socket.receive_until("\r\n\r\n");
            socket.send(answer);
        }
    });
    RawSocket client = passed.ask(asks_to_switch);
    // What stands behind it is a request, and never bytes for the workload.
    client.send(get_request("/next"));
    EXPECT_EQ(client.receive_until("0\r\n\r\n").substr(0, 12), "HTTP/1.1 426");
    const std::string second = client.receive_until("0\r\n\r\n");
    EXPECT_EQ(second.substr(0, 12), "HTTP/1.1 200");
    EXPECT_NE(second.find("yes"), std::string::npos);
}

TEST(HttpSwitching, NobodyIsSwitchedWhoDidNotAskOrToSomethingElse) {
    struct Row {
        std::string request;
        std::string answer;
    };
    const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (const Row& row :
         {Row{get + "\r\n", switch_head + "\r\n"},
          Row{get + "Upgrade: websocket\r\n\r\n", switch_head + "\r\n"},
          Row{get + "Connection: Upgrade\r\n\r\n", switch_head + "\r\n"},
          Row{"GET / HTTP/1.0\r\n" + asks_to_switch + "\r\n", switch_head + "\r\n"},
          Row{get + "Upgrade: h2c\r\n" + asks_to_switch + "\r\n", switch_head + "\r\n"},
          Row{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n" + asks_to_switch + "\r\nx",
              switch_head + "\r\n"},
          Row{get + asks_to_switch + "\r\n",
              "HTTP/1.1 101 Other\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"},
          Row{get + asks_to_switch + "\r\n", "HTTP/1.1 101 None\r\nConnection: Upgrade\r\n\r\n"},
          Row{get + asks_to_switch + "\r\n", "HTTP/1.1 101 Bare\r\nUpgrade: websocket\r\n\r\n"},
          Row{get + asks_to_switch + "\r\n", switch_head + "Content-Length: 3\r\n\r\nabc"},
          Row{get + asks_to_switch + "\r\n",
              "HTTP/1.0 101 Old\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"}}) {
        PassedThrough passed([&](RawSocket& socket) {
            socket.receive_until("\r\n\r\n");
            socket.send(row.answer);
            socket.await_end();
        });
        RawSocket client = passed.server.connect();
        client.send(row.request);
        const std::string head = client.receive_until("\r\n\r\n");
        EXPECT_EQ(head.substr(0, 12), "HTTP/1.1 502") << row.request << row.answer;
    }
}

TEST(HttpSwitching, GoesAtThePaceOfAnUpstreamThatReadsSlowly) {
    std::promise<void> go_on;
    std::promise<std::string> got;
    PassedThrough passed([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send(switch_head + "\r\n");
        go_on.get_future().get();
        got.set_value(socket.receive_until("END"));
    });
    RawSocket client = passed.ask(asks_to_switch);
    client.receive_until("\r\n\r\n");
    const std::string sent = tunnel_pattern(tunnel_bytes) + "END";
    std::thread sending([&] { client.send(sent); });
    go_on.set_value();
    EXPECT_EQ(got.get_future().get(), sent);
    sending.join();
}

TEST(HttpSwitching, GoesAtThePaceOfAClientThatReadsSlowly) {
    const std::string sent = tunnel_pattern(tunnel_bytes) + "END";
    PassedThrough passed([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send(switch_head + "\r\n");
        socket.send(sent);
        socket.receive_until("thanks");
    });
    RawSocket client = passed.ask(asks_to_switch);
    client.receive_until("\r\n\r\n");
    EXPECT_EQ(client.receive_until("END"), sent);
    client.send("thanks");
    EXPECT_EQ(client.receive_all(), "");
}

TEST(HttpSwitching, EndsForTheUpstreamWhenTheClientGoes) {
    std::promise<void> ended;
    PassedThrough passed([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send(switch_head + "\r\n");
        socket.await_end();
        ended.set_value();
    });
    {
        RawSocket client = passed.ask(asks_to_switch);
        client.receive_until("\r\n\r\n");
    }
    EXPECT_EQ(ended.get_future().wait_for(30s), std::future_status::ready);
}

TEST(HttpSwitching, AServerTakesOverASocketThatListens) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener, 16), 0);
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const TestServer server(ServerOptions{.listening_socket = listener});
    EXPECT_EQ(server.port(), ntohs(address.sin_port));
    EXPECT_EQ(server.get("/a"), "GET /a []");
    EXPECT_THROW(TestServer(ServerOptions{.listening_socket = 99'999}), std::runtime_error);
}

}  // namespace
}  // namespace berth::http
