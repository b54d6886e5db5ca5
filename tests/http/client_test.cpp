#include "http/client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>

#include "harness.hpp"
#include "raw_upstream.hpp"

namespace berth::http {
namespace {

Outbound outbound(const std::string& url, const std::string& method = "GET") {
    Outbound request;
    request.method = method;
    request.url = url;
    return request;
}

// What the client says about a request that cannot be answered.
std::string failure(const Outbound& request) {
    try {
        CurlClient().send(request);
    } catch (const TransportError& error) {
        return error.what();
    }
    return "";
}

TEST(HttpClient, SendsMethodHeadersAndBodyAndReadsTheAnswer) {
    TestServer server({}, [](Request request, const Reply& reply) {
        Response response =
            text_response(request.method + " " + request.target + " " +
                              std::string(request.headers.find("x-key").value_or("-")) + " [" +
                              request.body + "]",
                          202);
        response.headers.add("X-Answer", "yes");
        reply(std::move(response));
    });
    for (const std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
        Outbound request = outbound(server.url("/a?b=c"), method);
        request.headers.add("X-Key", "value");
        if (method != "GET") request.body = "hello";
        const Response response = CurlClient().send(request);
        EXPECT_EQ(response.status, 202);
        EXPECT_EQ(response.content_type, "text/plain");
        EXPECT_EQ(response.headers.find("x-answer"), "yes");
        EXPECT_EQ(response.body, method + " /a?b=c value [" + request.body + "]");
    }
    EXPECT_EQ(CurlClient().send(outbound(server.url("/a"), "HEAD")).body, "");
    EXPECT_EQ(server.server().accepted(), 1u);  // all over one connection
}

TEST(HttpClient, SendsOnlyTheHeadersItIsGiven) {
    TestServer server({}, [](Request request, const Reply& reply) {
        std::string names;
        for (const Headers::Field& field : request.headers) names += field.name + " ";
        reply(text_response(names));
    });
    Outbound request = outbound(server.url("/"), "POST");
    request.body = "x";
    EXPECT_EQ(CurlClient().send(request).body, "Host Accept Content-Length ");
}

TEST(HttpClient, GivesUpWhenTheTimeIsOver) {
    std::promise<Reply> held;
    TestServer server({}, [&](Request, Reply reply) { held.set_value(std::move(reply)); });
    Outbound request = outbound(server.url("/"));
    request.total_max = 300ms;
    EXPECT_NE(failure(request), "");
    std::future<Reply> reply = held.get_future();
    ASSERT_EQ(reply.wait_for(support::socket_wait_max), std::future_status::ready);
    reply.get()(text_response("late"));
}

TEST(HttpClient, FailsOnARefusedConnection) {
    std::uint16_t port = 0;
    {
        const TestServer server;
        port = server.port();
    }
    EXPECT_NE(failure(outbound("http://127.0.0.1:" + std::to_string(port) + "/")), "");
}

// Whether something of a request had left when it failed.
bool was_sent(const Outbound& request) {
    try {
        CurlClient().send(request);
    } catch (const TransportError& error) {
        return error.was_sent();
    }
    ADD_FAILURE() << "it was answered";
    return false;
}

TEST(HttpClient, SaysWhetherTheRequestWasSent) {
    RawUpstream silent([](support::RawSocket& socket) { socket.receive_until("\r\n\r\n"); });
    const std::string url = "http://127.0.0.1:" + std::to_string(silent.port()) + "/";
    EXPECT_TRUE(was_sent(outbound(url, "POST")));
    std::uint16_t port = 0;
    {
        const TestServer server;
        port = server.port();
    }
    EXPECT_FALSE(was_sent(outbound("http://127.0.0.1:" + std::to_string(port) + "/", "POST")));
    EXPECT_FALSE(was_sent(outbound(url, "no method")));
}

// Over a kept connection libcurl sends once more what was lost; nobody would notice.
TEST(HttpClient, SendsWhatMustNotBeRepeatedOverAConnectionOfItsOwn) {
    std::atomic<int> asked = 0;
    RawUpstream upstream([&](support::RawSocket& socket) {
        while (true) {
            const std::string head = socket.receive_until("\r\n\r\n");
            if (head.starts_with("POST")) ++asked;
            if (!head.starts_with("GET")) return;
            socket.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            while (!socket.readable_within(std::chrono::milliseconds(10)))
                if (asked > 0) return;  // over another connection, as it should
        }
    });
    const std::string url = "http://127.0.0.1:" + std::to_string(upstream.port()) + "/";
    CurlClient().send(outbound(url));
    Outbound request = outbound(url, "POST");
    request.fresh_connection = true;
    EXPECT_TRUE(was_sent(request));
    EXPECT_EQ(asked, 1);
}

TEST(HttpClient, RefusesAnAnswerOverItsBound) {
    TestServer server(
        {}, [](Request, const Reply& reply) { reply(text_response(std::string(1001, 'x'))); });
    Outbound request = outbound(server.url("/"));
    request.response_bytes_max = 1001;
    EXPECT_EQ(CurlClient().send(request).body.size(), 1001u);
    request.response_bytes_max = 1000;
    EXPECT_EQ(failure(request), "the answer is too large");
}

TEST(HttpClient, DoesNotFollowRedirects) {
    TestServer server({}, [](Request request, const Reply& reply) {
        Response response = text_response("moved", request.target == "/" ? 302 : 200);
        response.headers.add("Location", "/elsewhere");
        reply(std::move(response));
    });
    const Response response = CurlClient().send(outbound(server.url("/")));
    EXPECT_EQ(response.status, 302);
    EXPECT_EQ(response.headers.find("location"), "/elsewhere");
}

TEST(HttpClient, KnowsOnlyHttpAndHttps) {
    for (const std::string url :
         {"file:///etc/hostname", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "", "not an address"})
        EXPECT_NE(failure(outbound(url)), "") << url;
}

TEST(HttpClient, SendsNothingThatWouldBreakTheFraming) {
    TestServer server;
    Outbound split = outbound(server.url("/"));
    split.headers.add("A", "b\r\nC: d");
    EXPECT_NE(failure(split), "");
    EXPECT_NE(failure(outbound(server.url("/"), "GET / HTTP/1.1\r\n")), "");
    EXPECT_EQ(server.server().accepted(), 0u);
}

TEST(HttpClient, IgnoresProxiesOfTheEnvironment) {
    TestServer server;
    ASSERT_EQ(::setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    ASSERT_EQ(::setenv("all_proxy", "http://127.0.0.1:1", 1), 0);
    EXPECT_EQ(CurlClient().send(outbound(server.url("/a"))).body, "GET /a []");
    ::unsetenv("http_proxy");
    ::unsetenv("all_proxy");
}

TEST(HttpClient, MayBeUsedFromManyThreadsAtOnce) {
    TestServer server;
    CurlClient client;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, path = "/" + std::to_string(i)] {
            for (int k = 0; k < 20; ++k)
                EXPECT_EQ(client.send(outbound(server.url(path))).body, "GET " + path + " []");
        });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace berth::http
