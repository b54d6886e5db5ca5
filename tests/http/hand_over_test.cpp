// Connections that are handed over after an Upgrade: from then on the server does not touch them.
#include "http/hand_over.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "certificate.hpp"
#include "ends.hpp"
#include "harness.hpp"
#include "http/call_out.hpp"
#include "http/pump.hpp"

namespace berth::http {
namespace {

constexpr std::size_t handed_mib = std::size_t{1024} * 1024;
const std::string wish = "Connection: Upgrade\r\nUpgrade: berth-stream\r\n";

Response switching(std::function<void(HandedOver&)> to) {
    Response response{.status = switching_status};
    response.headers.add("Upgrade", "berth-stream");
    response.hand_over = std::move(to);
    return response;
}

// A server that joins whoever asks at /stream with the other end of `peer`.
class Switchboard {
public:
    explicit Switchboard(ServerOptions options = {})
        : server(std::move(options), [this](const Request& request, const Reply& reply) {
              if (request.switch_to != "berth-stream") return reply(text_response("no", 426));
              reply(switching([this](HandedOver& given) {
                  join(thread.loop(), std::move(given.carrier), std::move(ends.inside),
                       {.on_end = ended.callback()});
              }));
          }) {}

    End& peer() { return ends.outside; }
    Connected ends = connect_ends();
    Once<PumpEnd> ended;
    TestServer server;
    LoopThread thread;
};

TEST(HandOver, GivesTheSocketAfterTheAnswer) {
    Switchboard board;
    RawSocket client = board.server.connect();
    client.send(get_request("/stream", wish));
    const std::string head = client.receive_until("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << head;
    EXPECT_NE(head.find("\r\nUpgrade: berth-stream\r\n"), head.npos);
    EXPECT_NE(head.find("\r\nConnection: Upgrade\r\n"), head.npos);
    EXPECT_EQ(head.find("Content-Length"), head.npos);
    EXPECT_EQ(head.find("chunked"), head.npos);
    client.send("ping");
    EXPECT_EQ(board.peer().receive(4), "ping");
    board.peer().send("pong");
    EXPECT_EQ(client.receive_until("pong"), "pong");
    EXPECT_TRUE(eventually([&] { return board.server.server().connections() == 0; }));
    client.finish_sending();
    EXPECT_TRUE(board.peer().is_finished());
    board.peer().finish_sending();
    EXPECT_EQ(client.receive_all(), "");
    EXPECT_EQ(board.ended.wait(), PumpEnd::finished);
}

TEST(HandOver, WhatWasSentBehindTheRequestGoesAlong) {
    Switchboard board;
    RawSocket client = board.server.connect();
    // It looks like a request, and is none any more.
    const std::string behind = get_request("/other") + std::string(50'000, 'x');
    client.send(get_request("/before") + get_request("/stream", wish) + behind);
    EXPECT_EQ(client.receive().status, 426);
    client.receive_until("\r\n\r\n");
    EXPECT_EQ(board.peer().receive(behind.size()), behind);
}

TEST(HandOver, MayBeAnsweredLaterAndFromAnotherThread) {
    Once<Reply> asked;
    TestServer server({}, [ask = asked.callback()](const Request&, Reply reply) mutable {
        ask(std::move(reply));
    });
    RawSocket client = server.connect();
    client.send(get_request("/stream", wish));
    const Reply reply = asked.wait();
    client.send("early");  // before the answer
    Once<std::string> got;
    reply(switching([tell = got.callback()](HandedOver& given) mutable {
        std::string all(given.carrier.ahead());
        char piece[16];
        while (all.size() < 5) {
            const Transfer in = given.carrier.read(piece);
            if (in.status == Transfer::Status::done) all.append(piece, in.bytes);
        }
        tell(all);
    }));
    client.receive_until("\r\n\r\n");
    EXPECT_EQ(got.wait(), "early");
}

TEST(HandOver, NoDeadlineAndNoEvictionTouchesIt) {
    ServerOptions options;
    options.header_max = options.idle_max = options.write_max = 30ms;
    options.connections_max = 2;
    Switchboard board(options);
    RawSocket client = board.server.connect();
    client.send(get_request("/stream", wish));
    client.receive_until("\r\n\r\n");
    for (int i = 0; i < 3; ++i) {
        RawSocket silent = board.server.connect();
        silent.await_end();  // its time is over
    }
    std::vector<RawSocket> many;
    for (int i = 0; i < 8; ++i) many.push_back(board.server.connect());
    client.send("still here");
    EXPECT_EQ(board.peer().receive(10), "still here");
}

TEST(HandOver, OutlivesTheServer) {
    Connected ends = connect_ends();
    const LoopThread thread;
    Once<std::shared_ptr<const void>> place;
    std::optional<RawSocket> client;
    {
        TestServer server({}, [&](const Request&, const Reply& reply) {
            reply(switching([&](HandedOver& given) {
                join(thread.loop(), std::move(given.carrier), std::move(ends.inside), {});
                place.callback()(std::move(given.place));
            }));
        });
        client.emplace(server.port());
        client->send(get_request("/stream", wish));
        client->receive_until("\r\n\r\n");
    }
    client->send("ping");
    EXPECT_EQ(ends.outside.receive(4), "ping");
    EXPECT_TRUE(place.wait());  // and is let go when there is no server any more
}

TEST(HandOver, IsDroppedUncalledWhenTheClientHasGone) {
    Once<Reply> asked;
    TestServer server({}, [ask = asked.callback()](const Request&, Reply reply) mutable {
        ask(std::move(reply));
    });
    End client = dial_as_stranger(server.port());
    client.send(get_request("/stream", wish));
    const Reply reply = asked.wait();
    client.reset();
    const auto held = std::make_shared<bool>(false);
    reply(switching([held](HandedOver&) { *held = true; }));
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    EXPECT_TRUE(eventually([&] { return held.use_count() == 1; }));
    EXPECT_FALSE(*held);
}

TEST(HandOver, IsNotForThoseWhoCannotSwitch) {
    TestServer server({}, [](const Request&, const Reply& reply) {
        reply(switching([](HandedOver&) { ADD_FAILURE() << "nobody is to be handed over"; }));
    });
    RawSocket old = server.connect();
    old.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    EXPECT_EQ(old.receive().status, 500);
    RawSocket head = server.connect();
    head.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(head.receive(true).status, 500);
}

TEST(HandOver, AnOwnerThatThrowsOnlyLosesTheConnection) {
    TestServer server({}, [](const Request& request, const Reply& reply) {
        if (request.switch_to.empty()) return reply(text_response("here"));
        reply(switching([](HandedOver&) { throw std::runtime_error("on purpose"); }));
    });
    RawSocket client = server.connect();
    client.send(get_request("/stream", wish));
    client.receive_until("\r\n\r\n");
    client.await_end();
    EXPECT_EQ(server.get("/"), "here");
}

// The whole way of a call by TLS: dialled, pinned, handed over, joined with a plain socket.
TEST(HandOver, TakesTheTlsAlong) {
    CertificateFolder folder;
    folder.write();
    ServerOptions options;
    options.tls_certificate_file = folder.certificate();
    options.tls_key_file = folder.key();
    options.tls_resumption = false;
    Switchboard board(options);

    Once<Called> called;
    call_out(board.thread.loop(),
             {.endpoint = {.address = *parse_address("127.0.0.1"),
                           .port = board.server.port(),
                           .host = "gate",
                           .tls = true,
                           .key_sha256 = key_digest(folder.key())},
              .target = "/stream",
              .switch_to = "berth-stream"},
             called.callback());
    Called call = called.wait();
    ASSERT_EQ(call.failure, Called::Failure::none) << call.reason;
    Connected local = connect_ends();
    Once<PumpEnd> ended;
    join(board.thread.loop(), std::move(call.carrier), std::move(local.inside),
         {.on_end = ended.callback()});

    const auto send_all = [](const End& from) {
        Pattern pattern;
        for (int i = 0; i < 16; ++i) from.send(pattern.next(handed_mib));
        from.finish_sending();
    };
    const auto receive_all = [](const End& at) {
        Pattern expected;
        bool same = true;
        for (int i = 0; i < 16 && same; ++i)
            same = at.receive(handed_mib) == expected.next(handed_mib);
        return same && at.is_finished();
    };
    std::thread there([&] { send_all(local.outside); });
    EXPECT_TRUE(receive_all(board.peer()));
    there.join();
    std::thread back([&] { send_all(board.peer()); });
    EXPECT_TRUE(receive_all(local.outside));
    back.join();
    EXPECT_EQ(ended.wait(), PumpEnd::finished);
    EXPECT_EQ(board.ended.wait(), PumpEnd::finished);
}

TEST(HandOver, TlsThatBreaksOffIsNoEnd) {
    CertificateFolder folder;
    folder.write();
    ServerOptions options;
    options.tls_certificate_file = folder.certificate();
    options.tls_key_file = folder.key();
    Switchboard board(options);
    Once<Called> called;
    call_out(board.thread.loop(),
             {.endpoint = {.address = *parse_address("127.0.0.1"),
                           .port = board.server.port(),
                           .host = "gate",
                           .tls = true,
                           .key_sha256 = key_digest(folder.key())},
              .target = "/stream",
              .switch_to = "berth-stream"},
             called.callback());
    Called call = called.wait();
    ASSERT_EQ(call.failure, Called::Failure::none);
    ::shutdown(call.carrier.socket(), SHUT_WR);  // without the word that TLS has for it
    EXPECT_EQ(board.ended.wait(), PumpEnd::broken);
    EXPECT_TRUE(board.peer().is_reset());
}

TEST(Listening, CanEndWhileConnectionsGoOn) {
    TestServer server;
    RawSocket client = server.connect();
    client.send(get_request("/a"));
    EXPECT_EQ(client.receive().body, "GET /a []");
    server.server().stop_listening();
    EXPECT_TRUE(eventually([&] {
        try {
            const RawSocket late = server.connect();
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    }));
    client.send(get_request("/b"));
    EXPECT_EQ(client.receive().body, "GET /b []");
}

TEST(Listening, MayBeSharedByTwoServers) {
    TestServer older(ServerOptions{.reuse_port = true});
    EXPECT_THROW(TestServer(ServerOptions{.port = older.port()}), std::runtime_error);
    TestServer newer(ServerOptions{.port = older.port(), .reuse_port = true});
    older.server().stop_listening();
    EXPECT_TRUE(eventually([&] {
        const std::uint64_t before = newer.server().accepted();
        static_cast<void>(newer.get("/x"));
        return newer.server().accepted() == before + 1;
    }));
}

}  // namespace
}  // namespace berth::http
