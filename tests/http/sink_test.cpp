// Bodies that a handler takes as they come: any length, and no memory.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "harness.hpp"

namespace berth::http {
namespace {

constexpr std::size_t mib = 1024 * 1024;

struct Counter final : BodySink {
    void take(std::string_view bytes) override { count += bytes.size(); }
    std::size_t count = 0;
};

// Keeps nothing of a POST to /sink, and says how much came. What is sent to /refused is not wanted,
// and what is sent to /later is wanted when the test says so.
struct Counting final : Handler {
    std::size_t body_bytes_max(const Request&) override { return 32 * mib; }
    std::shared_ptr<BodySink> body_sink(const Request& head) override {
        return head.path() == "/other" ? nullptr : std::make_shared<Counter>();
    }
    void handle(Request request, Reply reply) override {
        if (request.unread == Unread::not_yet) {
            Response answer = text_response("not wanted");
            answer.status = request.path() == "/refused" ? 401 : go_on_status;
            if (request.path() != "/later") return reply(std::move(answer));
            later.set_value([reply, answer] { reply(answer); });
            return;
        }
        std::string text = "kept " + std::to_string(request.body.size());
        if (request.sink)
            text += ", took " + std::to_string(static_cast<Counter&>(*request.sink).count);
        if (request.unread == Unread::too_large) text = "too large";
        if (request.unread == Unread::no_room) text = "no room";
        reply(text_response(text));
    }
    std::promise<std::function<void()>> later;
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

TEST_F(HttpSink, RefusesByTheHeadBeforeABodyIsSent) {
    support::RawSocket socket(server.port());
    socket.send(head_of("/refused", "Content-Length: " + std::to_string(32 * mib)));
    const Response answer = socket.receive();
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(answer.headers.find("Connection"), "close");
    socket.finish_sending();
    socket.await_end();
}

TEST_F(HttpSink, KeepsALittleOfABodyWhileItsHeadIsJudgedAndLosesNothing) {
    support::RawSocket socket(server.port());
    socket.send(head_of("/later", "Content-Length: " + std::to_string(mib)) + "abc");
    const auto go_on = handler.later.get_future().get();
    std::thread sending([&] { socket.send(std::string(mib - 3, 'x')); });
    go_on();
    sending.join();
    EXPECT_EQ(socket.receive().body, "kept 0, took " + std::to_string(mib));
    socket.send(head_of("/sink", "Expect: 100-continue\r\nContent-Length: 3"));
    EXPECT_EQ(socket.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.send("abc");
    EXPECT_EQ(socket.receive().body, "kept 0, took 3");
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
