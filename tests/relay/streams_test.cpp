// Streams through the relay: at the pace of both sides, and ended by either, by the end of the job,
// and by the end of the server.
#include <future>

#include "rental.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class RelayStreams : public RentalTest {
protected:
    RelayStreams() : RelayStreams("15") {}
    // How long an engine may be silent, before its answer and within it.
    explicit RelayStreams(const std::string& seconds)
        : RentalTest({{"relay-first-byte-s", seconds}, {"relay-silence-s", seconds}}) {}

    // What came after the head, without its framing.
    static std::string events_of(const std::string& chunked) {
        std::string text;
        for (std::size_t at = 0; at < chunked.size();) {
            const std::size_t line = chunked.find("\r\n", at);
            if (line == std::string::npos) break;
            const std::size_t size = std::stoul(chunked.substr(at, line - at), nullptr, 16);
            text += chunked.substr(line + 2, size);
            at = line + 2 + size + 2;
        }
        return text;
    }
    static std::string last_error(const std::string& events) {
        const std::size_t at = events.rfind("\ndata: {\"error\":");
        return at == std::string::npos ? "" : events.substr(at + 7);
    }
    // The rest of an answer that ends properly.
    static std::string rest(RawSocket& socket) {
        return events_of(socket.receive_until("\r\n0\r\n\r\n"));
    }
};

// Where the silence is what matters.
class BriefRelayStreams : public RelayStreams {
protected:
    BriefRelayStreams() : RelayStreams("2") {}
};

TEST_F(RelayStreams, PassOnEachEventBeforeTheNextIsSaid) {
    const JobId job = serve_model();
    std::promise<void> first_seen;
    engine.set([&](RawSocket& socket) {
        socket.send(events_head + chunk("data: {\"n\":1}\n\n"));
        first_seen.get_future().wait();
        socket.send(chunk("data: {\"n\":2,\"usage\":{\"prompt_tokens\":5,") +
                    chunk("\"completion_tokens\":7}}\n\ndata: [DONE]\n\n") + "0\r\n\r\n");
    });
    RawSocket socket = open(job);
    const http::Response head = socket.receive(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.content_type, "text/event-stream");
    socket.receive_until("data: {\"n\":1}\n\n\r\n");
    first_seen.set_value();
    EXPECT_EQ(rest(socket),
              "data: {\"n\":2,\"usage\":{\"prompt_tokens\":5,"
              "\"completion_tokens\":7}}\n\ndata: [DONE]\n\n");
    const std::string told = usage(job);
    EXPECT_EQ(member(told, "requests"), "1") << told;
    EXPECT_EQ(member(told, "errors"), "0");
    EXPECT_EQ(member(told, "prompt_tokens"), "5");
    EXPECT_EQ(member(told, "completion_tokens"), "7");
    EXPECT_EQ(member(told, "bytes_in"), std::to_string(stream_body.size()));
    EXPECT_NE(member(told, "first_token_ms.p95"), "");
    EXPECT_NE(member(told, "tokens_per_s"), "null");
}

TEST_F(RelayStreams, TellAnEngineThatBreaksOffInOneLastEvent) {
    const JobId job = serve_model();
    struct Case {
        std::string said;
        std::string passed;
    };
    const std::string good = "data: {\"n\":1}\n\n";
    for (const Case& each :
         {Case{chunk(good) + "20\r\ndata: {\"half", good}, Case{chunk(good + "data: {\"ha"), good},
          Case{chunk(good) + "zz\r\n", good},
          Case{chunk("data: {\"n\":1}\n"), "data: {\"n\":1}\n"}}) {
        engine.set([&](RawSocket& socket) {
            socket.send(events_head + each.said);
            throw std::runtime_error("dies");
        });
        RawSocket socket = open(job);
        socket.receive(true);
        const std::string events = rest(socket);
        EXPECT_TRUE(events.starts_with(each.passed)) << events;
        const std::string error = last_error(events);
        EXPECT_NE(error.find("UNAVAILABLE"), std::string::npos) << events;
        EXPECT_TRUE(error.ends_with("}\n\n")) << events;
        EXPECT_EQ(events.find("half"), std::string::npos);
    }
    EXPECT_EQ(member(usage(job), "errors"), "4");

    // After the last mark nothing is missing.
    engine.set([](RawSocket& socket) {
        socket.send(events_head + chunk("data: [DONE]\n\n"));
        throw std::runtime_error("dies");
    });
    RawSocket socket = open(job);
    socket.receive(true);
    EXPECT_EQ(rest(socket), "data: [DONE]\n\n");
}

TEST_F(RelayStreams, BreakOffWhereThereAreNoEvents) {
    const JobId job = serve_model();
    engine.set([](RawSocket& socket) {
        socket.send(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{\"half");
        throw std::runtime_error("dies");
    });
    RawSocket socket = open(job, chat_body);
    const std::string all = socket.receive_all();
    EXPECT_EQ(all.find("0\r\n\r\n"), std::string::npos) << all;
}

TEST_F(BriefRelayStreams, HaveAnEndWhereTheEngineFallsSilent) {
    const JobId job = serve_model();
    engine.set([](RawSocket& socket) {
        socket.send(events_head + chunk("data: 1\n\n"));
        socket.await_end();
    });
    RawSocket socket = open(job);
    socket.receive(true);
    EXPECT_NE(last_error(rest(socket)).find("UNAVAILABLE"), std::string::npos);

    engine.set([](RawSocket& silent) { silent.await_end(); });
    const auto before = ask(job, "chat/completions", chat_body);
    EXPECT_EQ(before.status, 503);
    EXPECT_EQ(before.headers.find("x-should-retry"), "false");

    // A head that comes by a byte now and then is no answer either.
    engine.set([](RawSocket& drip) {
        for (const char c : std::string("HTTP/1.1 200 OK\r\nX: ") + std::string(1000, 'x')) {
            drip.send({&c, 1});
            if (drip.readable_within(100ms)) return;
        }
    });
    EXPECT_EQ(ask(job, "chat/completions", chat_body).status, 503);
}

TEST_F(BriefRelayStreams, LastWhileTheEngineSpeaksNowAndThen) {
    const JobId job = serve_model();
    engine.set([](RawSocket& socket) {
        socket.send(events_head);
        for (int i = 0; i < 15; ++i) {
            if (socket.readable_within(200ms)) return;
            socket.send(chunk(": still here\n\n"));
        }
        socket.send(chunk("data: [DONE]\n\n") + "0\r\n\r\n");
    });
    RawSocket socket = open(job);
    socket.receive(true);
    EXPECT_TRUE(rest(socket).ends_with("data: [DONE]\n\n"));
}

TEST_F(RelayStreams, PassOnALineWithoutAnEnd) {
    const JobId job = serve_model();
    constexpr std::size_t megabytes = 10;
    engine.set([](RawSocket& socket) {
        socket.send(events_head);
        const std::string piece = chunk(std::string(1 << 20, 'x'));
        for (std::size_t i = 0; i < megabytes; ++i) socket.send(piece);
        socket.send("0\r\n\r\n");
    });
    RawSocket socket = open(job);
    socket.receive(true);
    EXPECT_EQ(rest(socket), std::string(megabytes << 20, 'x'));
}

// In every phase the engine hears of it within a second, and long before the relay would lose
// patience; a busy machine adds some.
TEST_F(RelayStreams, EndWithTheirClient) {
    const JobId job = serve_model();
    enum class Phase { before_head, before_first_byte, in_the_middle, not_a_stream };
    for (const Phase phase : {Phase::before_head, Phase::before_first_byte, Phase::in_the_middle,
                              Phase::not_a_stream}) {
        const auto asked = std::make_shared<std::promise<void>>();
        const auto ended = std::make_shared<std::promise<Clock::time_point>>();
        engine.set([phase, asked, ended](RawSocket& socket) {
            if (phase == Phase::before_first_byte) socket.send(events_head);
            if (phase == Phase::in_the_middle) socket.send(events_head + chunk("data: 1\n\n"));
            if (phase == Phase::not_a_stream)
                socket.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    "Content-Length: 9\r\n\r\n{");
            asked->set_value();
            socket.await_end();
            ended->set_value(Clock::now());
        });
        std::optional<RawSocket> socket(open(job));
        asked->get_future().wait();
        if (phase != Phase::before_head) socket->receive(true);
        const Clock::time_point left = Clock::now();
        socket.reset();
        EXPECT_LT(ended->get_future().get() - left, 5s) << static_cast<int>(phase);
        EXPECT_TRUE(http::eventually([&] { return is_idle(); }));
    }
    EXPECT_EQ(member(usage(job), "requests"), "4");
    EXPECT_EQ(member(usage(job), "errors"), "0");
}

TEST_F(RelayStreams, EndWithTheirClientBehindAllThatItSentAhead) {
    const JobId job = serve_model();
    for (const bool head_first : {true, false}) {
        std::promise<void> asked;
        std::promise<void> ended;
        engine.set([&](RawSocket& socket) {
            if (head_first) socket.send(events_head + chunk("data: 1\n\n"));
            asked.set_value();
            socket.await_end();
            ended.set_value();
        });
        std::optional<RawSocket> socket(open(job));
        asked.get_future().wait();
        if (head_first) socket->receive_until("data: 1\n\n\r\n");
        socket->send(std::string(200'000, 'x'));
        socket.reset();
        EXPECT_EQ(ended.get_future().wait_for(10s), std::future_status::ready);
        EXPECT_TRUE(http::eventually([&] { return is_idle(); }));
    }
}

TEST_F(RelayStreams, SlowTheEngineToThePaceOfTheClient) {
    const JobId job = serve_model();
    constexpr std::size_t pieces = 400;
    std::atomic<std::size_t> sent{0};
    engine.set([&](RawSocket& socket) {
        socket.send(events_head);
        const std::string piece = chunk("data: " + std::string(65'536, 'x') + "\n\n");
        for (std::size_t i = 0; i < pieces; ++i) {
            socket.send(piece);
            ++sent;
        }
        socket.send("0\r\n\r\n");
    });
    RawSocket socket = open(job, stream_body, {.receive_bytes = 65'536});
    socket.receive(true);
    // It stands still long before it has said all: nobody keeps what the client does not take.
    std::size_t before = 0;
    Clock::time_point since = Clock::now();
    EXPECT_TRUE(http::eventually([&] {
        if (sent != before) since = Clock::now();
        before = sent;
        return before > 0 && Clock::now() - since > 300ms;
    }));
    EXPECT_LT(sent, pieces);
    EXPECT_EQ(rest(socket).size(), pieces * (65'536 + 8));
    EXPECT_EQ(sent, pieces);
}

TEST_F(RelayStreams, EndWithTheirJobInAClearLastEvent) {
    const JobId job = serve_model();
    engine.set([](RawSocket& socket) {
        socket.send(events_head + chunk("data: 1\n\n"));
        socket.await_end();
    });
    std::vector<RawSocket> sockets;
    for (int i = 0; i < 5; ++i) {
        sockets.push_back(open(job));
        sockets.back().receive(true);
        sockets.back().receive_until("data: 1\n\n\r\n");
    }
    EXPECT_EQ(stop(ben, job).status, 202);
    for (RawSocket& socket : sockets) {
        const std::string error = last_error("\n" + rest(socket));
        EXPECT_NE(error.find("CONFLICT"), std::string::npos) << error;
        EXPECT_NE(error.find("not running any more"), std::string::npos) << error;
    }
    EXPECT_TRUE(http::eventually([&] { return is_idle(); }));
}

TEST_F(RelayStreams, SayThatTheJobEndedWhenItsEngineWasFirst) {
    const JobId job = serve_model();
    std::promise<void> stopped;
    const std::shared_future<void> over = stopped.get_future().share();
    engine.set([over](RawSocket& socket) {
        socket.send(events_head + chunk("data: 1\n\n"));
        over.wait();
        throw std::runtime_error("killed with its job");
    });
    RawSocket socket = open(job);
    socket.receive(true);
    socket.receive_until("data: 1\n\n\r\n");
    EXPECT_EQ(stop(ben, job).status, 202);
    stopped.set_value();
    EXPECT_NE(last_error("\n" + rest(socket)).find("CONFLICT"), std::string::npos);
}

TEST_F(RelayStreams, AreRefusedWhenTheJobEndsBeforeTheFirstByte) {
    const JobId job = serve_model();
    std::promise<void> asked;
    engine.set([&](RawSocket& socket) {
        asked.set_value();
        socket.await_end();
    });
    RawSocket socket = open(job);
    asked.get_future().wait();
    EXPECT_EQ(stop(ben, job).status, 202);
    const http::Response head = socket.receive(true);
    EXPECT_EQ(head.status, 409);
    EXPECT_EQ(head.headers.find("x-should-retry"), "false");
    EXPECT_NE(rest(socket).find("CONFLICT"), std::string::npos);
}

TEST_F(RelayStreams, GetTheirTimeAndALastEventWhenTheServerStops) {
    const JobId job = serve_model();
    engine.set([](RawSocket& socket) {
        socket.send(events_head + chunk("data: 1\n\n"));
        socket.await_end();
    });
    RawSocket socket = open(job);
    socket.receive(true);
    socket.receive_until("data: 1\n\n\r\n");
    town.harness.app->relay().end_in(50ms);
    const std::string error = last_error("\n" + rest(socket));
    EXPECT_NE(error.find("UNAVAILABLE"), std::string::npos) << error;
    EXPECT_NE(error.find("the server is stopping"), std::string::npos) << error;
    // Whoever comes later is told at once, and may try elsewhere.
    const auto late = ask(job, "chat/completions", chat_body);
    EXPECT_EQ(late.status, 503);
    EXPECT_FALSE(late.headers.find("x-should-retry").has_value());
}

// Clients that come, go and stay while the job ends: none hangs, and nothing is left open.
TEST_F(RelayStreams, AllEndWhenTheJobDoesWhateverTheyAreAt) {
    const JobId job = serve_model();
    engine.set([](RawSocket& socket) {
        socket.send(events_head);
        while (socket.try_send(chunk("data: 1\n\n")))
            if (socket.readable_within(1ms)) return;
    });
    std::atomic<int> ended{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
        clients.emplace_back([&, i] {
            for (int turn = 0; turn < 50; ++turn) {
                RawSocket socket = open(job);
                const http::Response head = socket.receive(true);
                if (head.status != 200) break;
                socket.receive_until("data: ");
                if (i % 2 == 0) continue;  // goes away
                const std::string all = socket.receive_until("\r\n0\r\n\r\n");
                if (all.find("CONFLICT") != std::string::npos) break;
            }
            ++ended;
        });
    EXPECT_TRUE(http::eventually([&] { return engine.heard().size() > 20; }));
    EXPECT_EQ(stop(ben, job).status, 202);
    for (std::thread& each : clients) each.join();
    EXPECT_EQ(ended, 8);
    EXPECT_TRUE(http::eventually([&] { return is_idle(); }));
}

}  // namespace
}  // namespace berth::test
