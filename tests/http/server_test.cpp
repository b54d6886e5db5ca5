// The ordinary life of a connection: requests, answers, when it is kept and when it ends.
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>

#include "harness.hpp"
#include "http/client.hpp"

namespace berth::http {
namespace {

TEST(HttpServer, KeepsAConnectionForManyRequests) {
    TestServer server;
    RawSocket socket = server.connect();
    for (int i = 0; i < 100; ++i) {
        const std::string path = "/" + std::to_string(i);
        socket.send(get_request(path));
        const Response response = socket.receive();
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(response.body, "GET " + path + " []");
        EXPECT_EQ(response.content_type, "text/plain");
        EXPECT_TRUE(response.headers.find("date").has_value());
        EXPECT_FALSE(response.headers.find("connection").has_value());
    }
    EXPECT_EQ(server.server().accepted(), 1u);
    EXPECT_EQ(server.server().connections(), 1u);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
    TestServer server;
    RawSocket socket = server.connect();
    constexpr int requests = 5000;  // more than one read and one write hold
    std::string bytes;
    for (int i = 0; i < requests; ++i) {
        const std::string number = std::to_string(i);
        bytes += i % 3 == 0
                     ? "POST /" + number + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
                     : get_request("/" + number);
    }
    std::thread sender([&] { socket.send(bytes); });
    for (int i = 0; i < requests; ++i) {
        const std::string number = std::to_string(i);
        ASSERT_EQ(socket.receive().body,
                  i % 3 == 0 ? "POST /" + number + " [hi]" : "GET /" + number + " []");
    }
    sender.join();
}

TEST(HttpServer, AnswersPipelinedRequestsInOrderWhenAnswersComeFromOtherThreads) {
    std::mutex mutex;
    std::vector<std::thread> threads;
    TestServer server({}, [&](Request request, Reply reply) {
        const std::lock_guard lock(mutex);
        threads.emplace_back([request = std::move(request), reply = std::move(reply)] {
            reply(text_response(request.target + std::string(3000, 'x')));
        });
    });
    RawSocket socket = server.connect();
    constexpr int requests = 100;
    std::string bytes;
    for (int i = 0; i < requests; ++i) bytes += get_request("/" + std::to_string(i));
    socket.send(bytes);
    for (int i = 0; i < requests; ++i)
        ASSERT_EQ(socket.receive().body, "/" + std::to_string(i) + std::string(3000, 'x'));
    server.server().stop();
    for (std::thread& thread : threads) thread.join();
}

TEST(HttpServer, SendsAnEarlierAnswerWhileALaterRequestIsStillWorkedOn) {
    std::promise<Reply> held;
    TestServer server({}, [&](Request request, Reply reply) {
        if (request.target == "/slow") return held.set_value(std::move(reply));
        reply(text_response("quick"));
    });
    RawSocket socket = server.connect();
    socket.send(get_request("/quick") + get_request("/slow") + get_request("/quick"));
    EXPECT_EQ(socket.receive().body, "quick");
    held.get_future().get()(text_response("slow"));
    EXPECT_EQ(socket.receive().body, "slow");
    EXPECT_EQ(socket.receive().body, "quick");
}

TEST(HttpServer, ReadsARequestThatComesByteByByte) {
    TestServer server;
    RawSocket socket = server.connect();
    for (const char byte :
         std::string("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"))
        socket.send({&byte, 1});
    EXPECT_EQ(socket.receive().body, "POST /a [hello]");
}

TEST(HttpServer, ReadsChunkedBodies) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send(
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\nTrailer: x\r\n\r\n" +
        get_request("/next"));
    EXPECT_EQ(socket.receive().body, "POST /a [hello, world]");
    EXPECT_EQ(socket.receive().body, "GET /next []");
}

TEST(HttpServer, ReadsALargeBody) {
    TestServer server(
        {}, [](Request request, const Reply& reply) { reply(text_response(request.body)); });
    RawSocket socket = server.connect();
    std::string body(1024 * 1024, 'x');
    for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>('a' + i % 26);
    socket.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    EXPECT_EQ(socket.receive().body, body);
}

TEST(HttpServer, NeverSendsABodyForHeadNoContentAndNotModified) {
    TestServer server({}, [](Request request, const Reply& reply) {
        reply(text_response("body",
                            request.target == "/" ? 200 : std::stoi(request.target.substr(1))));
    });
    RawSocket socket = server.connect();
    socket.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    const Response head = socket.receive(true);
    EXPECT_EQ(head.headers.find("content-length"), "4");
    for (const int status : {204, 304}) {
        socket.send(get_request("/" + std::to_string(status)));
        EXPECT_EQ(socket.receive(true).status, status);
    }
    socket.send(get_request("/200"));  // would be garbage if a body had been sent before
    EXPECT_EQ(socket.receive().body, "body");
}

TEST(HttpServer, SaysContinueToWhoAsksForIt) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(socket.receive().status, 100);
    socket.send("hi");
    EXPECT_EQ(socket.receive().body, "POST /a [hi]");
    // With the body already there, nobody waits for leave.
    socket.send(
        "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nho");
    EXPECT_EQ(socket.receive().body, "POST /b [ho]");
}

TEST(HttpServer, ClosesWhenTheClientAsksForIt) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send(get_request("/a", "Connection: close\r\n"));
    const Response response = socket.receive();
    EXPECT_EQ(response.headers.find("connection"), "close");
    EXPECT_EQ(socket.receive_all(), "");
}

TEST(HttpServer, KeepsOldClientsOnlyWhenTheyAsk) {
    TestServer server;
    RawSocket plain = server.connect();
    plain.send("GET /a HTTP/1.0\r\n\r\n");
    EXPECT_EQ(plain.receive().headers.find("connection"), "close");
    EXPECT_EQ(plain.receive_all(), "");

    RawSocket kept = server.connect();
    for (int i = 0; i < 2; ++i) {
        kept.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        EXPECT_EQ(kept.receive().headers.find("connection"), "keep-alive");
    }
}

TEST(HttpServer, AnswersAClientThatFinishedSending) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send(get_request("/a"));
    socket.finish_sending();
    EXPECT_EQ(socket.receive().body, "GET /a []");
    EXPECT_EQ(socket.receive_all(), "");
}

TEST(HttpServer, SendsLargeSharedBodiesWhole) {
    const auto body = std::make_shared<const std::string>(8 * 1024 * 1024, 'y');
    TestServer server({}, [&](Request, const Reply& reply) {
        Response response;
        response.shared_body = body;
        reply(std::move(response));
    });
    RawSocket socket = server.connect();
    socket.send(get_request("/a") + get_request("/b"));
    EXPECT_EQ(socket.receive().body, *body);
    EXPECT_EQ(socket.receive().body, *body);
}

TEST(HttpServer, AnswersForAHandlerThatDropsItsReplyOrThrows) {
    TestServer server({}, [](Request request, const Reply& reply) {
        if (request.target == "/throw") throw std::runtime_error("handler broke");
        if (request.target == "/unsound") {
            Response response;
            response.headers.add("Location", "/a\r\nInjected: yes");
            reply(std::move(response));
        }
    });
    for (const std::string path : {"/throw", "/drop", "/unsound"}) {
        RawSocket socket = server.connect();
        socket.send(get_request(path));
        const Response response = socket.receive();
        EXPECT_EQ(response.status, 500) << path;
        EXPECT_FALSE(response.headers.find("injected").has_value());
    }
}

TEST(HttpServer, ForgetsAnAnswerWhoseClientOrServerIsGone) {
    std::promise<Reply> first;
    std::promise<Reply> second;
    Reply late;
    {
        TestServer server({.drain_max = 20ms}, [&](Request request, Reply reply) {
            (request.target == "/first" ? first : second).set_value(std::move(reply));
        });
        {
            RawSocket socket = server.connect();
            socket.send(get_request("/first"));
            late = first.get_future().get();
        }
        late(text_response("nobody listens"));
        RawSocket socket = server.connect();
        socket.send(get_request("/second"));
        late = second.get_future().get();
    }
    late(text_response("the server is gone"));
    late = nullptr;
}

TEST(HttpServer, TellsTheClientAddressBehindATrustedProxy) {
    const auto tell = [](Request request, const Reply& reply) {
        reply(text_response(request.client_address));
    };
    TestServer plain({}, tell);
    TestServer proxied({.trusted_proxies = {"127.0.0.0/8"}}, tell);
    const std::string request = get_request("/", "X-Forwarded-For: 203.0.113.9\r\n");
    RawSocket direct = plain.connect();
    direct.send(request);
    EXPECT_EQ(direct.receive().body, "127.0.0.1");
    EXPECT_EQ(plain.server().forwarded_unbelieved(), 1U);
    RawSocket behind = proxied.connect();
    behind.send(request);
    EXPECT_EQ(behind.receive().body, "203.0.113.9");
    EXPECT_EQ(proxied.server().forwarded_unbelieved(), 0U);
}

TEST(HttpServer, ServesIpv6) {
    TestServer server({.address = "::1"}, [](Request request, const Reply& reply) {
        reply(text_response(request.client_address));
    });
    Outbound request;
    request.url = "http://[::1]:" + std::to_string(server.port()) + "/";
    EXPECT_EQ(CurlClient().send(request).body, "::1");
}

TEST(HttpServer, SaysInOneSentenceWhyItCannotListen) {
    TestServer first;
    FunctionHandler handler(echo);
    const auto reason = [&](ServerOptions options) -> std::string {
        try {
            Server server(std::move(options), handler);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(reason({.port = first.port()}).find("cannot listen on 127.0.0.1"), std::string::npos);
    EXPECT_NE(reason({.address = "nowhere"}).find("not an IP address"), std::string::npos);
    EXPECT_NE(reason({.trusted_proxies = {"x"}}).find("trusted proxy 'x'"), std::string::npos);
    EXPECT_NE(reason({.tls_certificate_file = "/a"}).find("both"), std::string::npos);
    EXPECT_NE(reason({.tls_certificate_file = "/none", .tls_key_file = "/none"}).find("/none"),
              std::string::npos);
}

}  // namespace
}  // namespace berth::http
