// Calls outwards: what comes of good peers, slow ones, wrong ones and none.
#include "http/call_out.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "certificate.hpp"
#include "ends.hpp"
#include "harness.hpp"
#include "http/hand_over.hpp"
#include "raw_upstream.hpp"

namespace berth::http {
namespace {

const std::string switched =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: berth-stream\r\nConnection: Upgrade\r\n\r\n";

CallOut call_to(std::uint16_t port, std::string target = "/v1/calls/x") {
    return {.endpoint = {.address = *parse_address("127.0.0.1"), .port = port, .host = "gate"},
            .target = std::move(target),
            .switch_to = "berth-stream",
            .total_max = 200s};
}

Called call(CallOut out) {
    const LoopThread thread;
    Once<Called> called;
    call_out(thread.loop(), std::move(out), called.callback());
    return called.wait();
}

// What a peer that speaks this script makes of a call.
Called call_peer(const RawUpstream::Script& script) {
    const RawUpstream peer(script);
    return call(call_to(peer.endpoint().port));
}

std::string read_from(Carrier& carrier, std::size_t bytes) {
    std::string all;
    EXPECT_TRUE(eventually([&] {
        char piece[64];
        const Transfer in = carrier.read(piece);
        if (in.status == Transfer::Status::done) all.append(piece, in.bytes);
        return all.size() >= bytes;
    }));
    return all;
}

TEST(CallOut, AsksToSwitchAndGivesTheSocketWithWhatCameBehindTheAnswer) {
    std::string asked;
    const RawUpstream peer([&](RawSocket& socket) {
        asked = socket.receive_until("\r\n\r\n");
        socket.send(switched + "SSH-2.0-early");
        EXPECT_EQ(socket.receive_until("x"), "x");
        socket.send("y");
        socket.await_end();
    });
    CallOut out = call_to(peer.endpoint().port);
    out.headers.add("X-Name", "value");
    Called called = call(std::move(out));
    ASSERT_EQ(called.failure, Called::Failure::none) << called.reason;
    EXPECT_EQ(called.status, 101);
    EXPECT_EQ(called.carrier.ahead(), "SSH-2.0-early");
    EXPECT_EQ(called.carrier.write("x").bytes, 1u);
    EXPECT_EQ(read_from(called.carrier, 14), "SSH-2.0-earlyy");
    called.carrier.close();
    EXPECT_TRUE(asked.starts_with("GET /v1/calls/x HTTP/1.1\r\nHost: gate:"));
    EXPECT_NE(asked.find("\r\nConnection: Upgrade\r\nUpgrade: berth-stream\r\n"), asked.npos);
    EXPECT_NE(asked.find("\r\nX-Name: value\r\n"), asked.npos);
}

TEST(CallOut, TakesAnAnswerThatComesByteByByte) {
    const Called called = call_peer([](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        for (const char byte : switched) socket.send({&byte, 1});
    });
    EXPECT_EQ(called.failure, Called::Failure::none);
    EXPECT_TRUE(called.carrier.ahead().empty());
}

TEST(CallOut, MayOnlyDial) {
    const RawUpstream peer([](RawSocket& socket) { socket.send("hello"); });
    Called called = call(call_to(peer.endpoint().port, ""));
    ASSERT_EQ(called.failure, Called::Failure::none);
    EXPECT_EQ(read_from(called.carrier, 5), "hello");
}

TEST(CallOut, SaysThatNobodyListens) {
    const std::uint16_t port = TestServer().port();  // free again at once
    const Called called = call(call_to(port));
    EXPECT_EQ(called.failure, Called::Failure::refused);
    EXPECT_FALSE(called.carrier.is_open());
    EXPECT_FALSE(called.reason.empty());
}

TEST(CallOut, SaysThatItTookTooLong) {
    const RawUpstream peer([](RawSocket& socket) { socket.await_end(); });
    CallOut out = call_to(peer.endpoint().port);
    out.total_max = 30ms;
    EXPECT_EQ(call(std::move(out)).failure, Called::Failure::timed_out);
}

TEST(CallOut, AnAnswerThatDripsIsNotWaitedForLonger) {
    const RawUpstream peer([](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        while (socket.try_send("H") && !socket.readable_within(5ms)) {
        }
    });
    CallOut out = call_to(peer.endpoint().port);
    out.total_max = 50ms;
    const Called called = call(std::move(out));
    EXPECT_NE(called.failure, Called::Failure::none);
}

TEST(CallOut, SaysWhatWasAnsweredInsteadOfASwitch) {
    const Called refused = call_peer([](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    });
    EXPECT_EQ(refused.failure, Called::Failure::not_switched);
    EXPECT_EQ(refused.status, 404);
    const Called other = call_peer([](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n");
    });
    EXPECT_EQ(other.failure, Called::Failure::not_switched);
}

TEST(CallOut, RefusesWhatIsNoAnswer) {
    const std::string answers[] = {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 101\nUpgrade: berth-stream\n\n",
                                   "HTTP/1.1 101 S\r\nA: " + std::string(9000, 'x') + "\r\n\r\n"};
    for (const std::string& answer : answers) {
        const Called called = call_peer([&](RawSocket& socket) {
            socket.receive_until("\r\n\r\n");
            static_cast<void>(socket.try_send(answer));
            socket.await_end();
        });
        EXPECT_EQ(called.failure, Called::Failure::unsound) << answer.substr(0, 20);
    }
    const Called closed = call_peer([](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 101 Swi");
    });
    EXPECT_EQ(closed.failure, Called::Failure::closed);
}

TEST(CallOut, SendsNothingThatBreaksTheFraming) {
    CallOut out = call_to(1, "/v1/calls/x HTTP/1.1\r\nHost: a");
    EXPECT_EQ(call(std::move(out)).failure, Called::Failure::unsound);
    out = call_to(1);
    out.headers.add("A", "b\r\nC: d");
    EXPECT_EQ(call(std::move(out)).failure, Called::Failure::unsound);
}

TEST(CallOut, TalksTlsToThePeerWithTheKeyAndToNoOther) {
    CertificateFolder folder;
    folder.write();
    ServerOptions options;
    options.tls_certificate_file = folder.certificate();
    options.tls_key_file = folder.key();
    TestServer server(options, [](const Request&, const Reply& reply) {
        Response response{.status = switching_status};
        response.headers.add("Upgrade", "berth-stream");
        response.hand_over = [](HandedOver& given) {
            static_cast<void>(given.carrier.write("hello"));
            static_cast<void>(given.carrier.finish_sending());
        };
        reply(std::move(response));
    });
    CallOut out = call_to(server.port());
    out.endpoint.tls = true;
    out.endpoint.key_sha256 = key_digest(folder.key());
    Called called = call(out);
    ASSERT_EQ(called.failure, Called::Failure::none) << called.reason;
    EXPECT_TRUE(called.carrier.is_tls());
    EXPECT_EQ(read_from(called.carrier, 5), "hello");
    out.endpoint.key_sha256.back() ^= 1;
    EXPECT_EQ(call(out).failure, Called::Failure::tls);
    out.endpoint.key_sha256.clear();  // no authority vouches for it
    EXPECT_EQ(call(out).failure, Called::Failure::tls);
}

}  // namespace
}  // namespace berth::http
