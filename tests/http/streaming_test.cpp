// Answers that are written piece by piece.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "certificate.hpp"
#include "harness.hpp"
#include "http/client.hpp"
#include "http/source.hpp"

namespace berth::http {
namespace {

// A source made of functions. What the test wants to do on the I/O thread it posts there.
class TestSource final : public Source {
public:
    using Step = std::function<void(Outlet&)>;

    explicit TestSource(Step start, Step room = {})
        : start_(std::move(start)), room_(std::move(room)) {}

    void start(Outlet& outlet) override {
        outlet_ = &outlet;
        loop_ = outlet.loop();
        if (start_) start_(outlet);
        started = true;
    }
    void on_room() override {
        ++rooms;
        if (room_) room_(*outlet_);
    }
    void on_gone() override {
        outlet_ = nullptr;
        gone = true;
    }
    // Does something to the outlet, if there is one, and waits until it is done.
    void act(const Step& step) {
        std::promise<void> done;
        loop_->post([&] {
            if (outlet_ != nullptr) step(*outlet_);
            done.set_value();
        });
        done.get_future().get();
    }
    void write(const std::string& bytes) {
        act([&](Outlet& outlet) { static_cast<void>(outlet.write(bytes)); });
    }

    std::atomic<bool> started{false};
    std::atomic<bool> gone{false};
    std::atomic<int> rooms{0};

private:
    Step start_;
    Step room_;
    Outlet* outlet_ = nullptr;
    std::shared_ptr<Loop> loop_;
};

Response head_of(int status = 200) { return {.status = status, .content_type = "text/plain"}; }

void begin(Outlet& outlet) { outlet.begin(head_of()); }

void put(Outlet& outlet, std::string_view bytes) { static_cast<void>(outlet.write(bytes)); }

// A server whose "/stream" is answered by the source, and everything else by echo.
struct Streaming {
    explicit Streaming(TestSource::Step start, ServerOptions options = {},
                       TestSource::Step room = {})
        : source(std::make_shared<TestSource>(std::move(start), std::move(room))),
          server(std::move(options), [this](Request request, const Reply& reply) {
              if (request.path() != "/stream") return echo(std::move(request), reply);
              Response response;
              response.headers.add("X-Request-Id", "seven");
              response.source = source;
              reply(std::move(response));
          }) {}

    RawSocket ask(const std::string& fields = "") {
        RawSocket socket = server.connect();
        socket.send(get_request("/stream", fields));
        return socket;
    }

    std::shared_ptr<TestSource> source;
    TestServer server;
};

TEST(HttpStreaming, SendsWhatIsHeldWhenItIsReleasedOrLargeOrAtTheEnd) {
    Streaming streaming([](Outlet&) {});
    RawSocket socket = streaming.ask();
    const auto hold = [](Outlet& outlet) { outlet.hold(); };
    ASSERT_TRUE(eventually([&] { return streaming.source->started.load(); }));
    streaming.source->act(hold);
    streaming.source->act(begin);
    streaming.source->write("one");
    EXPECT_TRUE(socket.is_quiet());
    streaming.source->act([](Outlet& outlet) { outlet.release(); });
    EXPECT_TRUE(socket.receive_until("one\r\n").ends_with("3\r\none\r\n"));
    streaming.source->act(hold);
    streaming.source->write(std::string(20'000, 'x'));
    EXPECT_EQ(socket.receive_until("x\r\n").size(), 6U + 20'000U + 2U);
    streaming.source->write("two");
    EXPECT_TRUE(socket.is_quiet());
    streaming.source->act([](Outlet& outlet) { outlet.end(); });
    EXPECT_EQ(socket.receive_until("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
}

TEST(HttpStreaming, SendsPiecesAsChunksAndKeepsTheConnection) {
    Streaming streaming([](Outlet& outlet) {
        begin(outlet);
        put(outlet, "hello");
        put(outlet, "");
        put(outlet, std::string(20, 'x'));
        outlet.end();
    });
    RawSocket socket = streaming.ask();
    socket.send(get_request("/next"));  // behind it, and answered after it
    const Response response = socket.receive(true);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.content_type, "text/plain");
    EXPECT_EQ(response.headers.find("transfer-encoding"), "chunked");
    EXPECT_EQ(response.headers.find("x-request-id"), "seven");
    EXPECT_FALSE(response.headers.find("content-length").has_value());
    EXPECT_EQ(socket.receive_until("0\r\n\r\n"),
              "5\r\nhello\r\n14\r\n" + std::string(20, 'x') + "\r\n0\r\n\r\n");
    EXPECT_EQ(socket.receive().body, "GET /next []");
    EXPECT_FALSE(streaming.source->gone);
}

TEST(HttpStreaming, SendsEachPieceWhenItIsWritten) {
    Streaming streaming(begin);
    RawSocket socket = streaming.ask();
    socket.receive(true);
    for (int i = 0; i < 20; ++i) {
        const std::string event = "event " + std::to_string(i) + "\n";
        streaming.source->write(event);
        EXPECT_TRUE(socket.receive_until("\n\r\n").ends_with("\r\n" + event + "\r\n"));
    }
    streaming.source->act([](Outlet& outlet) { outlet.end(); });
    EXPECT_EQ(socket.receive_until("0\r\n\r\n"), "0\r\n\r\n");
    socket.send(get_request("/next"));
    EXPECT_EQ(socket.receive().body, "GET /next []");
}

TEST(HttpStreaming, IsOverWithTheHeadWhereNoBodyMayFollow) {
    for (const int status : {200, 204}) {
        Streaming streaming([status](Outlet& outlet) {
            outlet.begin(head_of(status));
            put(outlet, "not to be seen");
        });
        RawSocket socket = streaming.server.connect();
        const std::string method = status == 200 ? "HEAD" : "GET";
        socket.send(method + " /stream HTTP/1.1\r\nHost: a\r\n\r\n" + get_request("/next"));
        EXPECT_EQ(socket.receive(true).status, status);
        EXPECT_EQ(socket.receive().body, "GET /next []");
        EXPECT_TRUE(eventually([&] { return streaming.source->gone.load(); }));
    }
}

TEST(HttpStreaming, RunsToTheEndOfTheConnectionForAnOldClient) {
    Streaming streaming([](Outlet& outlet) {
        begin(outlet);
        put(outlet, "one");
        put(outlet, "two");
        outlet.end();
    });
    RawSocket socket = streaming.server.connect();
    socket.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const Response response = socket.receive(true);
    EXPECT_EQ(response.headers.find("connection"), "close");
    EXPECT_FALSE(response.headers.find("transfer-encoding").has_value());
    EXPECT_EQ(socket.receive_all(), "onetwo");
}

TEST(HttpStreaming, TellsTheSourceThatItsClientWentAway) {
    const auto silent = [](Outlet&) {};
    const auto spoken = [](Outlet& outlet) {
        begin(outlet);
        put(outlet, "x");
    };
    for (const TestSource::Step& start :
         {TestSource::Step(silent), TestSource::Step(begin), TestSource::Step(spoken)}) {
        Streaming streaming(start);
        {
            RawSocket socket = streaming.ask();
            ASSERT_TRUE(eventually([&] { return streaming.source->started.load(); }));
            EXPECT_FALSE(streaming.source->gone);
        }
        const auto left = std::chrono::steady_clock::now();
        EXPECT_TRUE(eventually([&] { return streaming.source->gone.load(); }));
        EXPECT_LT(std::chrono::steady_clock::now() - left, 5s);
        EXPECT_TRUE(eventually([&] { return streaming.server.server().connections() == 0; }));
    }
}

// The end of a connection stands behind all that was sent, and nothing but reading shows it.
TEST(HttpStreaming, SeesAClientGoBehindAllThatItSentAhead) {
    Streaming streaming(begin);
    {
        RawSocket socket = streaming.ask();
        socket.receive(true);
        for (int i = 0; i < 40; ++i) socket.send(get_request("/next", std::string(8000, ' ')));
        EXPECT_FALSE(streaming.source->gone);
    }
    EXPECT_TRUE(eventually([&] { return streaming.source->gone.load(); }));
    EXPECT_TRUE(eventually([&] { return streaming.server.server().connections() == 0; }));
}

TEST(HttpStreaming, EndsItsConnectionWhenTooMuchCameAhead) {
    Streaming streaming(begin);
    RawSocket socket = streaming.ask();
    socket.receive(true);
    socket.send(std::string(1 << 20, 'x'));  // nobody looks at it, and nobody keeps it
    streaming.source->write("still here");
    EXPECT_EQ(socket.receive_until("here\r\n"), "a\r\nstill here\r\n");
    streaming.source->act([](Outlet& outlet) { outlet.end(); });
    EXPECT_TRUE(socket.receive_all().starts_with("0\r\n\r\n"));
}

TEST(HttpStreaming, EndsForAClientThatSendsWithoutAnEnd) {
    Streaming streaming(begin);
    RawSocket socket = streaming.ask();
    socket.receive(true);
    const std::string piece(1 << 20, 'x');
    int sent = 0;
    while (sent < 100 && socket.try_send(piece)) ++sent;
    EXPECT_LT(sent, 100);
    EXPECT_TRUE(eventually([&] { return streaming.source->gone.load(); }));
}

TEST(HttpStreaming, ShowsTheClientThatAnAnswerIsNotWhole) {
    for (const std::string version : {"HTTP/1.1\r\nHost: a", "HTTP/1.0"}) {
        Streaming streaming([](Outlet& outlet) {
            begin(outlet);
            put(outlet, "half");
        });
        RawSocket socket = streaming.server.connect();
        socket.send("GET /stream " + version + "\r\n\r\n");
        socket.receive_until("half");
        streaming.source->act([](Outlet& outlet) { outlet.abort(); });
        EXPECT_EQ(socket.receive_all().find("0\r\n\r\n"), std::string::npos);
        EXPECT_FALSE(streaming.source->gone);
    }
}

TEST(HttpStreaming, AnswersForASourceWhoseHeadIsUnsound) {
    Streaming streaming([](Outlet& outlet) {
        Response head = head_of();
        head.headers.add("A", "b\r\nInjected: yes");
        outlet.begin(std::move(head));
    });
    RawSocket socket = streaming.ask();
    EXPECT_EQ(socket.receive().status, 500);
    EXPECT_EQ(socket.receive_all(), "");
    EXPECT_TRUE(eventually([&] { return streaming.source->gone.load(); }));
}

// Writes until there is no room, and again when there is.
struct Flood {
    explicit Flood(std::size_t total) : left(total) {}

    void operator()(Outlet& outlet) {
        if (written == 0) begin(outlet);
        bool room = true;
        while (room && left > 0) {
            const std::size_t count = std::min(left, piece.size());
            room = outlet.write(std::string_view(piece).substr(0, count));
            left -= count;
            written += count;
        }
        if (left == 0) outlet.end();
    }

    std::string piece = std::string(10'000, 'x');
    std::size_t left;
    std::atomic<std::size_t> written{0};
};

TEST(HttpStreaming, WaitsForASlowReader) {
    constexpr std::size_t total = 64 * 1024 * 1024;
    constexpr std::size_t buffered_max = 8 * 1024 * 1024;  // ours and the system's on both sides
    Flood flood(total);
    Streaming streaming(std::ref(flood), {}, std::ref(flood));
    RawSocket socket(streaming.server.port(), {.receive_bytes = 4096});
    socket.send(get_request("/stream", "Connection: close\r\n"));
    ASSERT_TRUE(eventually([&] { return streaming.source->started.load(); }));
    // It stops of itself, far from the end, and stays there.
    std::size_t before = 0;
    ASSERT_TRUE(eventually([&] {
        const std::size_t now = flood.written;
        return now > 0 && std::exchange(before, now) == now;
    }));
    EXPECT_LT(flood.written, buffered_max);
    const std::string all = socket.receive_all();
    EXPECT_GT(all.size(), total);
    EXPECT_TRUE(all.ends_with("0\r\n\r\n"));
    EXPECT_GT(streaming.source->rooms, 1);
}

TEST(HttpStreaming, ServesOthersBesideAFastStream) {
    Flood flood(std::size_t{1} << 40);
    Streaming streaming(std::ref(flood), {}, std::ref(flood));
    RawSocket socket = streaming.ask();
    std::atomic<bool> enough{false};
    std::thread reader([&] {
        while (!enough && socket.skip_some()) {
        }
    });
    for (int i = 0; i < 20; ++i) EXPECT_EQ(streaming.server.get("/beside"), "GET /beside []");
    enough = true;
    reader.join();
}

TEST(HttpStreaming, EndsAReaderThatStandsStill) {
    Flood flood(std::size_t{1} << 30);
    Streaming streaming(std::ref(flood), {.write_max = 100ms}, std::ref(flood));
    RawSocket socket(streaming.server.port(), {.receive_bytes = 4096});
    socket.send(get_request("/stream"));
    EXPECT_TRUE(eventually([&] { return streaming.source->gone.load(); }));
    EXPECT_TRUE(eventually([&] { return streaming.server.server().connections() == 0; }));
}

TEST(HttpStreaming, LastsAsLongAsItsSourceWants) {
    // The head has to come in its time, also from a busy machine.
    const ServerOptions brief{
        .header_max = 500ms, .body_max = 20ms, .write_max = 20ms, .idle_max = 20ms};
    Streaming streaming(begin, brief);
    RawSocket socket = streaming.ask();
    socket.receive(true);
    EXPECT_FALSE(socket.readable_within(700ms));  // longer than each of those times
    streaming.source->write("still here");
    socket.receive_until("still here");
}

TEST(HttpStreaming, MayEndWhileTheServerStops) {
    Streaming streaming(begin);
    RawSocket socket = streaming.ask();
    socket.receive(true);
    std::thread stopper([&] { streaming.server.server().stop(); });
    EXPECT_TRUE(eventually([&] {
        try {
            streaming.server.connect();
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    }));
    streaming.source->act([](Outlet& outlet) {
        put(outlet, "last");
        outlet.end();
    });
    EXPECT_EQ(socket.receive_all(), "4\r\nlast\r\n0\r\n\r\n");
    stopper.join();
}

TEST(HttpStreaming, IsEndedWhenTheServerHasWaitedLongEnough) {
    Streaming streaming(begin, {.drain_max = 50ms});
    RawSocket socket = streaming.ask();
    socket.receive(true);
    streaming.server.server().stop();
    EXPECT_TRUE(streaming.source->gone);
    EXPECT_EQ(socket.receive_all(), "");
}

TEST(HttpStreaming, MayBePostedToAfterTheServerIsGone) {
    std::shared_ptr<Loop> loop;
    {
        Streaming streaming([&](Outlet& outlet) { loop = outlet.loop(); }, {.drain_max = 10ms});
        RawSocket socket = streaming.ask();
        ASSERT_TRUE(eventually([&] { return streaming.source->started.load(); }));
        streaming.server.server().stop();
    }
    loop->post([] { ADD_FAILURE() << "there is no loop to run this"; });
}

TEST(HttpStreaming, GoesThroughTls) {
    constexpr std::size_t total = 3'000'000;
    CertificateFolder certificate;
    certificate.write();
    Flood flood(total);
    Streaming streaming(
        std::ref(flood),
        {.tls_certificate_file = certificate.certificate(), .tls_key_file = certificate.key()},
        std::ref(flood));
    Outbound request;
    request.url = streaming.server.url("/stream", "https");
    request.ca_file = certificate.certificate();
    EXPECT_EQ(CurlClient().send(request).body, std::string(total, 'x'));
}

}  // namespace
}  // namespace berth::http
