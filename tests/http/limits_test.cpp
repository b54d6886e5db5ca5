// Bounds on sizes, connections and descriptors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "few_descriptors.hpp"
#include "harness.hpp"

namespace berth::http {
namespace {

void expect_413_and_end(RawSocket& socket) {
    const Response response = socket.receive();
    EXPECT_EQ(response.status, 413);
    EXPECT_EQ(response.body, "too large");
    EXPECT_EQ(response.headers.find("connection"), "close");
    EXPECT_EQ(socket.receive_all(), "");
}

TEST(HttpLimits, LetsTheHandlerAnswer413ToALargeBodyThatIsStillBeingSent) {
    TestServer server({}, FunctionHandler(echo, 10));
    RawSocket socket = server.connect();
    const std::string body(1024 * 1024, 'x');
    socket.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    expect_413_and_end(socket);
}

TEST(HttpLimits, LetsTheHandlerAnswer413ToALargeChunkedBody) {
    TestServer server({}, FunctionHandler(echo, 10));
    RawSocket socket = server.connect();
    std::string body;
    for (int i = 0; i < 10'000; ++i) body += "3\r\nabc\r\n";
    socket.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
    expect_413_and_end(socket);
}

TEST(HttpLimits, Answers413InsteadOfContinue) {
    TestServer server({}, FunctionHandler(echo, 10));
    RawSocket socket = server.connect();
    socket.send(
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
    expect_413_and_end(socket);
}

TEST(HttpLimits, TakesABodyOfExactlyTheLimit) {
    TestServer server({}, FunctionHandler(echo, 10));
    RawSocket socket = server.connect();
    socket.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789");
    EXPECT_EQ(socket.receive().body, "POST /a [0123456789]");
    socket.send(
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n");
    EXPECT_EQ(socket.receive().body, "POST /a [0123456789]");
}

TEST(HttpLimits, AnswersAtOnceWhenTheBodyDoesNotMatter) {
    TestServer server;
    for (const std::string framing : {"Content-Length: 1000000", "Transfer-Encoding: chunked"}) {
        RawSocket socket = server.connect();
        socket.send("POST /unwanted HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n");
        const Response response = socket.receive();  // with nothing of the body sent
        EXPECT_EQ(response.status, 404);
        EXPECT_EQ(response.headers.find("connection"), "close");
        EXPECT_EQ(socket.receive_all(), "");
    }
}

TEST(HttpLimits, KeepsAConnectionWhoseUnwantedBodyCameWithTheHead) {
    TestServer server;
    RawSocket socket = server.connect();
    socket.send("POST /unwanted HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" +
                get_request("/next"));
    EXPECT_EQ(socket.receive().status, 404);
    EXPECT_EQ(socket.receive().body, "GET /next []");
}

TEST(HttpLimits, KeepsNothingOfUnwantedBodies) {
    const auto budget = std::make_shared<ByteBudget>(1);  // there is room for nothing
    TestServer server({.request_bytes = budget});
    RawSocket socket = server.connect();
    socket.send("POST /unwanted HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" +
                std::string(100'000, 'x'));
    EXPECT_EQ(socket.receive().status, 404);
    EXPECT_EQ(budget->taken(), 0u);
}

std::string post_of(const std::string& body) {
    return "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

TEST(HttpLimits, Answers503WhenAllRequestsTogetherAreOverTheBudget) {
    const auto budget = std::make_shared<ByteBudget>(1000);
    TestServer server({.request_bytes = budget});
    RawSocket holder = server.connect();
    holder.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n" +
                std::string(899, 'x'));
    ASSERT_TRUE(eventually([&] { return budget->taken() == 899; }));
    for (const bool chunked : {false, true}) {
        RawSocket socket = server.connect();
        const std::string body(200, 'y');
        socket.send(chunked ? "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "c8\r\n" +
                                  body + "\r\n0\r\n\r\n"
                            : post_of(body));
        const Response response = socket.receive();
        EXPECT_EQ(response.status, 503);
        EXPECT_EQ(response.body, "no room");
        EXPECT_EQ(socket.receive_all(), "");
    }
    RawSocket small = server.connect();
    small.send(post_of("small"));
    EXPECT_EQ(small.receive().body, "POST /a [small]");
    holder.send("x");
    EXPECT_EQ(holder.receive().status, 200);
    ASSERT_TRUE(eventually([&] { return budget->taken() == 0; }));
}

TEST(HttpLimits, CountsABodyForAsLongAsItsHandlerKeepsIt) {
    const auto budget = std::make_shared<ByteBudget>(1000);
    std::promise<Request> held;
    TestServer server({.request_bytes = budget}, [&](Request request, const Reply& reply) {
        held.set_value(std::move(request));
        reply(text_response("taken"));
    });
    RawSocket socket = server.connect();
    socket.send(post_of(std::string(700, 'x')));
    EXPECT_EQ(socket.receive().body, "taken");
    {
        const Request request = held.get_future().get();
        EXPECT_EQ(budget->taken(), 700u);
    }
    EXPECT_EQ(budget->taken(), 0u);
}

TEST(HttpLimits, CountsUnfinishedHeads) {
    const auto budget = std::make_shared<ByteBudget>(1000);
    TestServer server({.request_bytes = budget});
    const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(600, 'x');
    RawSocket first = server.connect();
    first.send(head);
    ASSERT_TRUE(eventually([&] { return budget->taken() == head.size(); }));
    RawSocket second = server.connect();
    second.send(head);
    EXPECT_EQ(second.receive().status, 503);
    first.send("\r\n\r\n");
    EXPECT_EQ(first.receive().status, 200);
    EXPECT_EQ(budget->taken(), 0u);
}

TEST(HttpLimits, RefusesHeadsOverTheLimit) {
    TestServer server({.header_bytes_max = 1000});
    const std::string unfinished = "GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(2000, 'x');
    for (const std::string& bytes :
         {unfinished, unfinished + "\r\n\r\n", std::string(70'000, 'G')}) {
        RawSocket socket = server.connect();
        EXPECT_TRUE(socket.try_send(bytes));
        EXPECT_EQ(socket.receive().status, 431);
        EXPECT_EQ(socket.receive_all(), "");
    }
    RawSocket socket = server.connect();
    const std::string fixed = "GET / HTTP/1.1\r\nHost: a\r\nA: \r\n\r\n";
    socket.send(get_request("/", "A: " + std::string(1000 - fixed.size(), 'x') + "\r\n"));
    EXPECT_EQ(socket.receive().status, 200);
}

TEST(HttpLimits, ServesOthersBeside2000HalfOpenConnections) {
    constexpr std::size_t half_open = 2000;
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    ASSERT_GT(limit.rlim_max, 2 * half_open + 100);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);

    TestServer server({.header_max = 10min, .body_max = 10min, .body_pace = 10min});
    std::vector<RawSocket> sockets;
    for (std::size_t i = 0; i < half_open; ++i) {
        sockets.push_back(server.connect());
        const std::string parts[] = {"", "GET", "GET / HTTP/1.1\r\nHost: a\r\nA: ",
                                     "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"};
        sockets.back().send(parts[i % 4]);
        if (i % 20 == 0) {
            ASSERT_EQ(server.get("/among"), "GET /among []");
        }
    }
    RawSocket good = server.connect();
    for (int i = 0; i < 500; ++i) {
        good.send(get_request("/good"));
        ASSERT_EQ(good.receive().body, "GET /good []");
    }
    EXPECT_GE(server.server().connections(), half_open);
}

TEST(HttpLimits, GoesOnAcceptingAfterRunningOutOfDescriptors) {
    TestServer server;
    EXPECT_EQ(server.get("/before"), "GET /before []");
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    {
        const FewDescriptors few(3);  // a client and its connection, and a client without one
        auto first = std::make_unique<RawSocket>(server.port());
        first->send(get_request("/first"));
        EXPECT_EQ(first->receive().body, "GET /first []");
        RawSocket second = server.connect();
        second.send(get_request("/second"));
        EXPECT_FALSE(second.readable_within(120ms));  // over two pauses of the accept loop
        first->send(get_request("/again"));
        EXPECT_EQ(first->receive().body, "GET /again []");
        first.reset();
        EXPECT_EQ(second.receive().body, "GET /second []");
    }
    EXPECT_EQ(server.get("/after"), "GET /after []");
}

}  // namespace
}  // namespace berth::http
