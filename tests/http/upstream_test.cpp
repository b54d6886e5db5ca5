// The client on the server's loop, seen through a relay: what goes in on one side comes out on the
// other, at the pace of the slower, and ends when either ends.
#include <gtest/gtest.h>

#include <future>

#include "certificate.hpp"
#include "harness.hpp"
#include "http/client.hpp"
#include "raw_upstream.hpp"
#include "relay.hpp"

namespace berth::http {
namespace {

using Clock = std::chrono::steady_clock;

// An upstream with a script, and a server that relays everything to it.
struct Relaying {
    using Change = std::function<void(UpstreamRequest&)>;

    explicit Relaying(RawUpstream::Script script, Change change = {})
        : upstream(std::move(script)),
          server({}, [this, change = std::move(change)](Request request, const Reply& reply) {
              UpstreamRequest onward{.endpoint = upstream.endpoint(),
                                     .method = request.method,
                                     .target = request.target,
                                     .body = std::move(request.body)};
              if (change) change(onward);
              reply(relayed(std::move(onward), notes));
          }) {}

    Outbound outbound(const std::string& path = "/a") {
        Outbound request;
        request.url = server.url(path);
        return request;
    }
    Response get(const std::string& path = "/a") { return CurlClient().send(outbound(path)); }
    RawSocket ask() {
        RawSocket socket = server.connect();
        socket.send(get_request("/a"));
        return socket;
    }
    // The relay has failed, as it should.
    UpstreamFailure failure() {
        EXPECT_TRUE(eventually([&] { return notes->failure().has_value(); }));
        return notes->failure().value_or(UpstreamFailure{});
    }

    std::shared_ptr<RelayNotes> notes = std::make_shared<RelayNotes>();
    RawUpstream upstream;
    TestServer server;
};

// Reads requests without bodies for as long as they come, and answers each with these bytes.
RawUpstream::Script answering(std::string bytes, bool keep = true) {
    return [bytes = std::move(bytes), keep](RawSocket& socket) {
        do {
            socket.receive_until("\r\n\r\n");
            socket.send(bytes);
        } while (keep);
    };
}

TEST(HttpUpstream, PassesOnBodiesOfEveryFraming) {
    const std::string head = "HTTP/1.1 201 Created\r\n";
    for (const std::string& answer :
         {head + "Content-Length: 11\r\n\r\nhello world",
          head + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nT: "
                 "x\r\n\r\n",
          head + "\r\nhello world", head + "Connection: close\r\n\r\nhello world",
          std::string("HTTP/1.0 201 Created\r\n\r\nhello world"),
          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" + head +
              "Content-Length: 11\r\n\r\nhello world"}) {
        Relaying relaying(answering(answer, false));
        const Response response = relaying.get();
        EXPECT_EQ(response.status, 201) << answer;
        EXPECT_EQ(response.body, "hello world") << answer;
    }
}

TEST(HttpUpstream, SendsTheRequestAsItIs) {
    std::promise<std::string> seen;
    Relaying relaying(
        [&](RawSocket& socket) {
            std::string text = socket.receive_until("\r\n\r\n");
            seen.set_value(text + socket.receive_until("!"));
            socket.send("HTTP/1.1 204 No Content\r\n\r\n");
        },
        [](UpstreamRequest& request) {
            request.headers.add("X-One", "1");
            request.headers.add("Content-Length", "999");
            request.headers.add("Connection", "upgrade");
            request.headers.add("Host", "elsewhere");
        });
    RawSocket socket = relaying.server.connect();
    socket.send("POST /path?q=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nhello!");
    EXPECT_EQ(socket.receive(true).status, 204);
    EXPECT_EQ(seen.get_future().get(), "POST /path?q=1 HTTP/1.1\r\nHost: 127.0.0.1:" +
                                           std::to_string(relaying.upstream.port()) +
                                           "\r\nX-One: 1\r\nContent-Length: 6\r\n\r\nhello!");
}

TEST(HttpUpstream, RefusesToSendWhatWouldBreakTheFraming) {
    const std::vector<Relaying::Change> changes{
        [](UpstreamRequest& request) { request.headers.add("A", "b\r\nC: d"); },
        [](UpstreamRequest& request) { request.target = "/a b"; },
        [](UpstreamRequest& request) { request.method = "GET /"; },
        [](UpstreamRequest& request) { request.endpoint.host = "a\r\nb"; }};
    for (const Relaying::Change& change : changes) {
        Relaying relaying(answering("HTTP/1.1 204 No Content\r\n\r\n"), change);
        EXPECT_EQ(relaying.get().status, 502);
        EXPECT_EQ(relaying.upstream.accepted(), 0);
    }
}

TEST(HttpUpstream, KeepsConnectionsForTheNextRequest) {
    Relaying relaying(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(relaying.get().body, "ok");
    EXPECT_EQ(relaying.upstream.accepted(), 1);
    EXPECT_EQ(relaying.notes->idle_connections, 1u);
}

TEST(HttpUpstream, KeepsNoConnectionThatIsAsOldAsItMayBecome) {
    Relaying relaying(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
                      [](UpstreamRequest& request) { request.connection_life = Duration(0); });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(relaying.get().body, "ok");
    EXPECT_EQ(relaying.upstream.accepted(), 3);
    EXPECT_EQ(relaying.notes->idle_connections, 0u);
}

TEST(HttpUpstream, RunsOnTheLoopOfTheConnectionItServes) {
    const auto notes = std::make_shared<RelayNotes>();
    RawUpstream upstream(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    TestServer server({.io_threads = 2}, [&](Request request, const Reply& reply) {
        reply(relayed(
            {.endpoint = upstream.endpoint(), .method = request.method, .target = request.target},
            notes));
    });
    std::vector<RawSocket> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(server.connect());
    for (int round = 0; round < 3; ++round) {  // later ones on connections that were kept
        for (RawSocket& client : clients) client.send(get_request("/a"));
        for (RawSocket& client : clients) client.receive_until("ok\r\n0\r\n\r\n");
    }
    ASSERT_EQ(notes->started_by_thread().size(), 2u);
    for (const auto& [thread, relays] : notes->started_by_thread()) EXPECT_EQ(relays, 12);
    EXPECT_EQ(notes->strayed, 0);
    EXPECT_LE(upstream.accepted(), 16) << "each loop keeps what it dialled";
}

TEST(HttpUpstream, DoesNotKeepAConnectionThatCannotBeTrustedAgain) {
    for (const std::string answer :
         {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
          "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"}) {
        Relaying relaying(answering(answer));
        for (int i = 0; i < 2; ++i) EXPECT_EQ(relaying.get().body, "ok") << answer;
        EXPECT_EQ(relaying.upstream.accepted(), 2) << answer;
    }
}

TEST(HttpUpstream, DropsAnIdleConnectionThatItsUpstreamCloses) {
    std::promise<void> close;
    const auto closing = close.get_future().share();
    Relaying relaying([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        closing.wait();
    });
    EXPECT_EQ(relaying.get().body, "ok");
    EXPECT_EQ(relaying.notes->idle_connections, 1u);
    close.set_value();
    EXPECT_TRUE(eventually([&] {
        relaying.get();  // the one that was closed may be taken once, and the failure says so
        return relaying.upstream.accepted() > 1;
    }));
    const auto failure = relaying.notes->failure();
    EXPECT_TRUE(!failure || failure->reused);
    EXPECT_TRUE(eventually([&] { return relaying.get().body == "ok"; }));
}

TEST(HttpUpstream, TriesOnceMoreWhenAKeptConnectionEndsBeforeTheBodyIsSent) {
    Relaying relaying(
        [](RawSocket& socket) {
            socket.receive_until("\r\n\r\n");
            socket.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            socket.receive_until("\r\n\r\n");  // the next one is not answered
        },
        [](UpstreamRequest& request) { request.try_again = true; });
    EXPECT_EQ(relaying.get().body, "ok");
    EXPECT_EQ(relaying.get().body, "ok");
    EXPECT_EQ(relaying.upstream.accepted(), 2);
    Outbound request = relaying.outbound();
    request.method = "POST";
    request.body = "once";
    EXPECT_EQ(CurlClient().send(request).status, 502);
    EXPECT_TRUE(relaying.failure().body_sent);
    EXPECT_EQ(relaying.upstream.accepted(), 2);
}

TEST(HttpUpstream, TriesOnceMoreWhenNobodyListens) {
    std::uint16_t port = 0;
    {
        RawUpstream gone([](RawSocket&) {});
        port = gone.port();
    }
    Relaying relaying([](RawSocket&) {},
                      [&](UpstreamRequest& request) {
                          request.endpoint.port = port;
                          request.try_again = true;
                      });
    EXPECT_EQ(relaying.get().status, 502);
    EXPECT_EQ(relaying.failure().phase, UpstreamFailure::Phase::connect);
    EXPECT_FALSE(relaying.failure().body_sent);
}

TEST(HttpUpstream, PassesOnEachEventBeforeTheNextIsSent) {
    std::promise<RawSocket*> asked;
    std::promise<void> over;
    Relaying relaying([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        asked.set_value(&socket);
        over.get_future().wait();
    });
    RawSocket client = relaying.ask();
    RawSocket& upstream = *asked.get_future().get();
    EXPECT_EQ(client.receive(true).status, 200);
    for (int i = 0; i < 50; ++i) {
        const std::string event = "data: " + std::to_string(10 + i) + "\n\n";
        upstream.send("a\r");  // in two pieces, as networks do
        upstream.send("\n" + event + "\r\n");
        client.receive_until(event);
    }
    upstream.send("0\r\n\r\n");
    client.receive_until("0\r\n\r\n");
    over.set_value();
}

// Within a second, to which a busy machine adds some; the upstream has a minute for each phase.
TEST(HttpUpstream, EndsWithItsClient) {
    // Before the head, before the first byte of the body, and in the middle of it.
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& said : {std::string(), head, head + "5\r\nhello\r\n"}) {
        std::promise<void> asked;
        std::promise<Clock::time_point> ended;
        Relaying relaying([&](RawSocket& socket) {
            socket.receive_until("\r\n\r\n");
            socket.send(said);
            asked.set_value();
            socket.await_end();
            ended.set_value(Clock::now());
        });
        auto client = std::make_unique<RawSocket>(relaying.ask());
        asked.get_future().wait();
        if (!said.empty()) client->receive(true);
        if (said.ends_with("hello\r\n")) client->receive_until("hello");
        const Clock::time_point left = Clock::now();
        client.reset();
        EXPECT_LT(ended.get_future().get() - left, 5s) << said;
        EXPECT_TRUE(eventually([&] { return relaying.notes->destroyed.load(); }));
        EXPECT_TRUE(relaying.notes->gone);
        EXPECT_FALSE(relaying.notes->failure().has_value());
    }
}

TEST(HttpUpstream, BreaksTheAnswerWhenTheUpstreamDies) {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& answer :
         {chunked + "5\r\nhel", chunked + "5\r\nhello\r\n", chunked + "5\r\nhello\r\n0\r\n",
          std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel")}) {
        Relaying relaying(answering(answer, false));
        RawSocket client = relaying.ask();
        EXPECT_EQ(client.receive(true).status, 200);
        EXPECT_EQ(client.receive_all().find("0\r\n\r\n"), std::string::npos) << answer;
        EXPECT_EQ(relaying.failure().phase, UpstreamFailure::Phase::answer);
    }
}

TEST(HttpUpstream, RefusesAnswersThatAreNotHttp) {
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    std::string interim;
    for (int i = 0; i < 9; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
    for (const std::string& answer :
         {ok + "Content-Length: -1\r\n\r\n", ok + "Content-Length: 5\nA: b\r\n\r\nhello",
          ok + "A: " + std::string(40'000, 'x'), std::string(70'000, 'H'),
          interim + ok + "Content-Length: 0\r\n\r\n", std::string("garbage\r\n\r\n"),
          std::string("\r\n"), std::string("HTTP/1.1 200 OK\r\nA: b")}) {
        Relaying relaying(answering(answer, false));
        EXPECT_EQ(relaying.get().status, 502) << answer.substr(0, 100);
    }
    for (const std::string& body : {std::string("zz\r\n"), std::string("5\r\nhelloX"),
                                    std::string("fffffffffffffffff\r\n"), std::string(1000, '1')}) {
        Relaying relaying(answering(ok + "Transfer-Encoding: chunked\r\n\r\n" + body, false));
        RawSocket client = relaying.ask();
        EXPECT_EQ(client.receive_all().find("0\r\n\r\n"), std::string::npos) << body;
        EXPECT_EQ(relaying.failure().phase, UpstreamFailure::Phase::answer);
    }
}

TEST(HttpUpstream, TakesAnAnswerThatComesBeforeTheRequestIsSent) {
    Relaying relaying([](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\n\r\ntoo much");
        socket.finish_sending();
        socket.await_end();
    });
    Outbound request = relaying.outbound();
    request.method = "POST";
    request.body = std::string(1'000'000, 'x');
    const Response response = CurlClient().send(request);
    EXPECT_EQ(response.status, 413);
    EXPECT_EQ(response.body, "too much");
}

TEST(HttpUpstream, SaysWhichPhaseTookTooLong) {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& said : {std::string(), chunked, chunked + "5\r\nhello\r\n"}) {
        Relaying relaying(
            [&](RawSocket& socket) {
                socket.send(said);
                socket.await_end();
            },
            [&](UpstreamRequest& request) {
                if (said.empty()) request.first_byte_max = 50ms;
                request.silence_max = 50ms;
            });
        RawSocket client = relaying.ask();
        const auto expected =
            said.empty() ? UpstreamFailure::Phase::first_byte : UpstreamFailure::Phase::answer;
        EXPECT_EQ(relaying.failure().phase, expected);
        if (said.empty()) {
            EXPECT_EQ(client.receive(true).status, 502);
        }
    }
}

TEST(HttpUpstream, SaysThatNobodyListens) {
    std::uint16_t port = 0;
    {
        RawUpstream gone([](RawSocket&) {});
        port = gone.port();
    }
    Relaying relaying([](RawSocket&) {},
                      [&](UpstreamRequest& request) { request.endpoint.port = port; });
    EXPECT_EQ(relaying.get().status, 502);
    EXPECT_EQ(relaying.failure().phase, UpstreamFailure::Phase::connect);
    EXPECT_FALSE(relaying.failure().reused);
}

// 192.0.2.0/24 is for documentation: packets to it go nowhere, or are refused at once.
TEST(HttpUpstream, DoesNotWaitForeverForAConnection) {
    Relaying relaying([](RawSocket&) {},
                      [](UpstreamRequest& request) {
                          request.endpoint.address = *parse_address("192.0.2.1");
                          request.connect_max = 50ms;
                      });
    EXPECT_EQ(relaying.get().status, 502);
    EXPECT_EQ(relaying.failure().phase, UpstreamFailure::Phase::connect);
}

TEST(HttpUpstream, TalksTlsToTheKeyItKnowsAndToNoOther) {
    CertificateFolder certificate;
    certificate.write();
    TestServer secured(
        {.tls_certificate_file = certificate.certificate(), .tls_key_file = certificate.key()},
        [](Request request, const Reply& reply) {
            reply(text_response(request.body + std::string(100'000, 's')));
        });
    const std::string digest = key_digest(certificate.key());
    std::string other = digest;
    other[0] = static_cast<char>(other[0] ^ 1);
    for (const std::string& key : {digest, other, std::string()}) {
        Relaying relaying([](RawSocket&) {},
                          [&](UpstreamRequest& request) {
                              request.endpoint.port = secured.port();
                              request.endpoint.tls = true;
                              request.endpoint.key_sha256 = key;
                          });
        const bool known = key == digest;
        for (int i = 0; i < 3; ++i) {
            Outbound request = relaying.outbound();
            request.method = "POST";
            request.body = std::string(100'000, 'q');
            const Response response = CurlClient().send(request);
            EXPECT_EQ(response.status, known ? 200 : 502);
            if (known) {
                EXPECT_EQ(response.body, request.body + std::string(100'000, 's'));
            } else {
                EXPECT_EQ(relaying.failure().phase, UpstreamFailure::Phase::connect);
            }
        }
    }
}

TEST(HttpUpstream, EndsWithTheServer) {
    std::promise<void> asked;
    std::promise<void> ended;
    Relaying relaying([&](RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        asked.set_value();
        socket.await_end();
        ended.set_value();
    });
    TestServer brief({.drain_max = 10ms}, [&](Request, const Reply& reply) {
        reply(relayed({.endpoint = relaying.upstream.endpoint()}, relaying.notes));
    });
    RawSocket client = brief.connect();
    client.send(get_request("/a"));
    asked.get_future().wait();
    brief.server().stop();
    ended.get_future().wait();
    EXPECT_TRUE(relaying.notes->gone);
}

}  // namespace
}  // namespace berth::http
