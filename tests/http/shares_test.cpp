// The memory for requests: who may have how much of it, and for how long.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "harness.hpp"

namespace berth::http {
namespace {

constexpr std::size_t kib = 1024;

// Judges the heads of long bodies: those that carry "Key: good" may send them. What is sent to
// /first goes first.
struct Judging final : Handler {
    struct Good final : Verdict {};

    std::size_t body_bytes_max(const Request&) override { return 256 * kib; }
    BodyCare body_care(const Request& head) override {
        return {.unjudged_bytes_max = 4 * kib, .goes_first = head.path() == "/first"};
    }
    void handle(Request request, Reply reply) override {
        if (request.unread == Unread::not_yet) {
            ++judged;
            if (request.headers.find("Key") != "good") return reply(text_response("who?", 401));
            Response go_on;
            go_on.status = go_on_status;
            go_on.verdict = std::make_shared<Good>();
            return reply(std::move(go_on));
        }
        if (request.unread == Unread::over_share) return reply(text_response("your share", 429));
        if (request.unread == Unread::no_room) return reply(text_response("no room", 503));
        reply(text_response("took " + std::to_string(request.body.size()) +
                            (request.verdict ? " of a known one" : "")));
    }

    std::atomic<int> judged{0};
};

class HttpShares : public ::testing::Test {
protected:
    void serve(const BudgetLimits& limits) {
        budget = std::make_shared<ByteBudget>(limits);
        ServerOptions options;
        options.request_bytes = budget;
        options.trusted_proxies = {"127.0.0.1"};
        options.body_max = options.body_pace = 10min;  // some hold theirs for all of a test
        server.emplace(options, handler);
        server->start();
    }
    RawSocket connect() const { return RawSocket(server->port()); }

    static std::string head_of(std::size_t bytes, const std::string& fields = "",
                               const std::string& path = "/a") {
        return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + fields +
               "Content-Length: " + std::to_string(bytes) + "\r\n\r\n";
    }
    static std::string from(const std::string& address) {
        return "X-Forwarded-For: " + address + "\r\n";
    }
    // Announces a body that is good to send, sends all of it but a byte, and holds it.
    RawSocket hold(std::size_t bytes, const std::string& fields = "") {
        const std::size_t before = budget->taken();
        RawSocket socket = connect();
        socket.send(head_of(bytes, "Key: good\r\n" + fields) + std::string(bytes - 1, 'x'));
        EXPECT_TRUE(eventually([&] { return budget->taken() == before + bytes - 1; }))
            << budget->taken();
        return socket;
    }

    Judging handler;
    std::shared_ptr<ByteBudget> budget;
    std::optional<Server> server;
};

TEST_F(HttpShares, ALongBodyIsReadAfterItsHeadWasFoundGood) {
    serve({.bytes_max = 1024 * kib});
    RawSocket socket = connect();
    socket.send(head_of(100, "Key: bad\r\n") + std::string(100, 'x'));
    EXPECT_EQ(socket.receive().body, "took 100") << "a short one is read at once";
    socket.send(head_of(100 * kib, "Key: good\r\n") + std::string(100 * kib, 'x'));
    EXPECT_EQ(socket.receive().body, "took 102400 of a known one");
    socket.send(
        "POST /a HTTP/1.1\r\nHost: a\r\nKey: good\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n0\r\n\r\n");
    EXPECT_EQ(socket.receive().body, "took 3 of a known one") << "it did not say how long";
    EXPECT_EQ(handler.judged, 2);
    socket.send(head_of(100 * kib, "Key: bad\r\n"));
    EXPECT_EQ(socket.receive().status, 401) << "with nothing of the body sent";
    EXPECT_EQ(socket.receive_all(), "");
    EXPECT_TRUE(eventually([&] { return budget->taken() == 0; }));
}

TEST_F(HttpShares, StrangersWhoHoldLongBodiesTakeNoRoom) {
    serve({.bytes_max = 1024 * kib});
    std::vector<RawSocket> strangers;
    for (int i = 0; i < 300; ++i) {
        strangers.push_back(connect());
        strangers.back().send(head_of(200 * kib, "Key: bad\r\n") + std::string(8 * kib, 'x'));
    }
    RawSocket socket = connect();
    socket.send(head_of(100 * kib, "Key: good\r\n") + std::string(100 * kib, 'x'));
    EXPECT_EQ(socket.receive().status, 200);
}

TEST_F(HttpShares, OneAddressHasAShareAndOthersTheRest) {
    serve({.bytes_max = 1024 * kib, .per_address_max = 150 * kib});
    const RawSocket first = hold(100 * kib, from("192.0.2.1"));
    RawSocket second = connect();
    second.send(head_of(100 * kib, "Key: good\r\n" + from("192.0.2.1")) +
                std::string(100 * kib, 'x'));
    EXPECT_EQ(second.receive().status, 429);
    const RawSocket other = hold(100 * kib, from("192.0.2.2"));
    const RawSocket six = hold(100 * kib, from("2001:db8:1:1::1"));
    RawSocket neighbour = connect();
    neighbour.send(head_of(100 * kib, "Key: good\r\n" + from("2001:db8:1:1:ffff::9")) +
                   std::string(100 * kib, 'x'));
    EXPECT_EQ(neighbour.receive().status, 429) << "a /64 is one subscriber";
    EXPECT_EQ(budget->refused(), 0u) << "there was room";
}

TEST_F(HttpShares, LargeBodiesLeaveRoomForSmallOnesAndBothForThoseWhoGoFirst) {
    serve({.bytes_max = 100 * kib, .small_reserve = 6 * kib, .first_reserve = 4 * kib});
    const RawSocket large = hold(90 * kib);
    RawSocket another = connect();
    another.send(head_of(8 * kib, "Key: good\r\n") + std::string(8 * kib, 'x'));
    EXPECT_EQ(another.receive().status, 503);
    EXPECT_EQ(budget->refused(), 1u);
    EXPECT_TRUE(budget->refused_within(std::chrono::minutes(1)));

    RawSocket small = connect();
    small.send(head_of(3 * kib) + std::string(3 * kib, 'x'));
    EXPECT_EQ(small.receive().body, "took 3072");
    const RawSocket first_small = hold(3 * kib);
    const RawSocket second_small = hold(3 * kib);
    RawSocket third = connect();
    third.send(head_of(3 * kib) + std::string(3 * kib, 'x'));
    EXPECT_EQ(third.receive().status, 503) << "the rest is for others";

    RawSocket stranger = connect();
    stranger.send(head_of(3 * kib, "Key: bad\r\n", "/first") + std::string(3 * kib, 'x'));
    EXPECT_EQ(stranger.receive().status, 401) << "who says so has to show it";
    RawSocket machine = connect();
    machine.send(head_of(3 * kib, "Key: good\r\n", "/first") + std::string(3 * kib, 'x'));
    EXPECT_EQ(machine.receive().body, "took 3072 of a known one");
}

// Takes longer in all than one pace of what follows.
int send_steadily(RawSocket steady) {
    steady.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 102400\r\n\r\n");
    for (int i = 0; i < 100; ++i) {
        steady.send(std::string(kib, 'x'));
        std::this_thread::sleep_for(5ms);
    }
    return steady.receive().status;
}

TEST(HttpPace, ABodyThatStopsComingIsGivenUpBeforeItsTimeIsOver) {
    const auto budget = std::make_shared<ByteBudget>(1024 * kib);
    TestServer server(
        {.body_pace_bytes = kib, .request_bytes = budget, .body_max = 10min, .body_pace = 200ms});
    RawSocket silent = server.connect();
    silent.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" +
                std::string(90'000, 'x'));
    silent.await_end();
    RawSocket mute = server.connect();
    mute.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    mute.await_end();
    EXPECT_TRUE(eventually([&] { return budget->taken() == 0; }));

    // On a busy machine this client, too, may stand still for longer than the pace.
    EXPECT_TRUE(eventually([&] {
        try {
            return send_steadily(server.connect()) == 200;
        } catch (const std::runtime_error&) {
            return false;
        }
    }));
}

}  // namespace
}  // namespace berth::http
