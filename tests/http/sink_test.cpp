// Bodies that a handler takes as they come: any length, and no memory.
#include <gtest/gtest.h>

#include <atomic>

#include "harness.hpp"

namespace berth::http {
namespace {

constexpr std::size_t mib = 1024 * 1024;

struct Counter final : BodySink {
    void take(std::string_view bytes) override { count += bytes.size(); }
    std::size_t count = 0;
};

// Keeps nothing of a POST to /sink, and says how much came.
struct Counting final : Handler {
    std::size_t body_bytes_max(const Request&) override { return 32 * mib; }
    std::shared_ptr<BodySink> body_sink(const Request& head) override {
        return head.path() == "/sink" ? std::make_shared<Counter>() : nullptr;
    }
    void handle(Request request, Reply reply) override {
        std::string text = "kept " + std::to_string(request.body.size());
        if (request.sink)
            text += ", took " + std::to_string(static_cast<Counter&>(*request.sink).count);
        if (request.unread == Unread::too_large) text = "too large";
        if (request.unread == Unread::no_room) text = "no room";
        reply(text_response(text));
    }
};

class HttpSink : public ::testing::Test {
protected:
    HttpSink() { server.start(); }

    static ServerOptions narrow() {
        ServerOptions options;
        options.request_bytes = std::make_shared<ByteBudget>(mib);
        return options;
    }
    static std::string head_of(const std::string& path, const std::string& framing) {
        return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n";
    }

    Counting handler;
    Server server{narrow(), handler};
};

TEST_F(HttpSink, TakesABodyThatIsFarLargerThanAllTheMemoryForRequests) {
    support::RawSocket socket(server.port());
    socket.send(head_of("/sink", "Content-Length: " + std::to_string(32 * mib)));
    const std::string piece(mib, 'x');
    for (int i = 0; i < 32; ++i) socket.send(piece);
    EXPECT_EQ(socket.receive().body, "kept 0, took " + std::to_string(32 * mib));
    socket.send(head_of("/sink", "Content-Length: 3") + "abc");
    EXPECT_EQ(socket.receive().body, "kept 0, took 3") << "the connection goes on";
}

TEST_F(HttpSink, TakesChunksAndRefusesMoreThanTheLimit) {
    support::RawSocket socket(server.port());
    socket.send(head_of("/sink", "Transfer-Encoding: chunked") +
                "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    EXPECT_EQ(socket.receive().body, "kept 0, took 5");
    socket.send(head_of("/sink", "Transfer-Encoding: chunked"));
    const std::string piece = "100000\r\n" + std::string(mib, 'x') + "\r\n";
    for (int i = 0; i < 40 && socket.try_send(piece); ++i) {
    }
    EXPECT_EQ(socket.receive().body, "too large");
}

TEST_F(HttpSink, KeepsBodiesOfOtherRequestsWithinTheBudget) {
    support::RawSocket socket(server.port());
    socket.send(head_of("/other", "Content-Length: 3") + "abc");
    EXPECT_EQ(socket.receive().body, "kept 3");
    socket.send(head_of("/other", "Content-Length: " + std::to_string(4 * mib)));
    static_cast<void>(socket.try_send(std::string(4 * mib, 'x')));
    EXPECT_EQ(socket.receive().body, "no room");
}

}  // namespace
}  // namespace berth::http
