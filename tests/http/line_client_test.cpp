// The client whose lines stay open between calls, against servers that are proper and ones that are
// not: what they close, say too early, say twice or never end.
#include "http/line_client.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <thread>

#include "certificate.hpp"
#include "harness.hpp"
#include "raw_upstream.hpp"

namespace berth::http {
namespace {

using support::RawSocket;

Outbound post(std::uint16_t port, const std::string& scheme = "http") {
    Outbound request;
    request.method = "POST";
    request.url = scheme + "://127.0.0.1:" + std::to_string(port) + "/hook?a=b";
    request.dialled_address = "127.0.0.1";
    request.body = "hello";
    return request;
}

struct Outcome {
    std::string fault;
    bool was_sent = true;
};
Outcome failure(LineClient& client, const Outbound& request) {
    try {
        client.send(request);
    } catch (const TransportError& error) {
        return {error.what(), error.was_sent()};
    }
    return {};
}

constexpr const char* good_answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

void take_post(RawSocket& socket) {
    socket.receive_until("\r\n\r\n");
    socket.receive_until("hello");
}

TEST(LineClient, SendsMethodHeadersAndBodyAndReadsTheAnswerOverOneLine) {
    TestServer server({}, [](Request request, const Reply& reply) {
        std::string names;
        for (const Headers::Field& field : request.headers) names += field.name + " ";
        Response response =
            text_response(request.method + " " + request.target + " [" + request.body + "] " +
                              std::string(request.headers.find("host").value_or("")) + " " + names,
                          202);
        response.headers.add("X-Answer", "yes");
        reply(std::move(response));
    });
    LineClient client;
    for (int i = 0; i < 3; ++i) {
        Outbound request = post(server.port());
        request.headers.add("X-Key", "value");
        const Response response = client.send(request);
        EXPECT_EQ(response.status, 202);
        EXPECT_EQ(response.content_type, "text/plain");
        EXPECT_EQ(response.headers.find("x-answer"), "yes");
        EXPECT_EQ(response.body,
                  "POST /hook?a=b [hello] 127.0.0.1:" + std::to_string(server.port()) +
                      " Host Accept X-Key Content-Length ");
    }
    EXPECT_EQ(server.server().accepted(), 1u);
}

TEST(LineClient, TakesAnswersOfEveryForm) {
    const std::vector<std::pair<std::string, std::string>> forms{
        {"HTTP/1.1 204 No Content\r\n\r\n", ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
         "abcde"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"},
        {"HTTP/1.1 200 OK\r\n\r\nto the end", "to the end"},
        {"HTTP/1.0 200 OK\r\n\r\nold", "old"}};
    for (const auto& [answer, body] : forms) {
        RawUpstream upstream([&, text = answer](RawSocket& socket) {
            take_post(socket);
            for (const char letter : text) socket.send(std::string(1, letter));
        });
        LineClient client;
        EXPECT_EQ(client.send(post(upstream.port())).body, body) << answer;
    }
}

TEST(LineClient, GoesOnOverAFreshLineWhenAKeptOneHasEnded) {
    RawUpstream upstream([](RawSocket& socket) {
        take_post(socket);
        socket.send(good_answer);
    });
    LineClient client;
    for (int i = 1; i <= 3; ++i) {
        EXPECT_EQ(client.send(post(upstream.port())).body, "ok");
        EXPECT_EQ(upstream.accepted(), i);
    }
}

// It takes the second request and goes without a word: over a line that was kept that may only mean
// that it was idle for too long.
TEST(LineClient, SendsOnceMoreWhatGotNoAnswerOverAKeptLine) {
    std::atomic<int> taken{0};
    RawUpstream upstream([&](RawSocket& socket) {
        for (int i = 0; i < 2; ++i) {
            take_post(socket);
            if (++taken == 2) return;
            socket.send(good_answer);
        }
    });
    LineClient client;
    EXPECT_EQ(client.send(post(upstream.port())).body, "ok");
    EXPECT_EQ(client.send(post(upstream.port())).body, "ok");
    EXPECT_EQ(taken, 3);
    EXPECT_EQ(upstream.accepted(), 2);
}

TEST(LineClient, TakesNoAnswerThatWasThereBeforeItsRequest) {
    std::atomic<int> taken{0};
    RawUpstream upstream([&](RawSocket& socket) {
        take_post(socket);
        const std::string early =
            ++taken == 1 ? "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n" : "";
        socket.send(good_answer + early);
        take_post(socket);
    });
    LineClient client;
    EXPECT_EQ(client.send(post(upstream.port())).status, 200);
    EXPECT_EQ(client.send(post(upstream.port())).status, 200);
    EXPECT_EQ(upstream.accepted(), 2);
}

TEST(LineClient, SaysWhatIsWrongWithAnAnswer) {
    const std::vector<std::pair<std::string, std::string>> answers{
        {"", "ended before"},
        {"HTTP/1.1 20", "in the middle"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "in the middle"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunks"},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP"},
        {"HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'x'), "too long"},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
         "not HTTP"}};
    for (const auto& [answer, fault] : answers) {
        RawUpstream upstream([&, text = answer](RawSocket& socket) {
            take_post(socket);
            socket.send(text);
        });
        LineClient client;
        const Outcome outcome = failure(client, post(upstream.port()));
        EXPECT_NE(outcome.fault.find(fault), std::string::npos) << answer << outcome.fault;
        EXPECT_TRUE(outcome.was_sent) << answer;
    }
    std::string interims;
    for (int i = 0; i < 20; ++i) interims += "HTTP/1.1 100 Continue\r\n\r\n";
    RawUpstream upstream([&](RawSocket& socket) {
        take_post(socket);
        socket.send(interims);
    });
    LineClient client;
    EXPECT_NE(failure(client, post(upstream.port())).fault, "");
}

TEST(LineClient, GivesUpWhenTheTimeIsOverHoweverMuchComes) {
    std::atomic<bool> over{false};
    RawUpstream upstream([&](RawSocket& socket) {
        take_post(socket);
        socket.send("HTTP/1.1 200 OK\r\nX: ");
        while (!over) {
            socket.send("x");
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    });
    LineClient client;
    Outbound request = post(upstream.port());
    request.total_max = std::chrono::milliseconds(300);
    const Outcome outcome = failure(client, request);
    over = true;
    EXPECT_NE(outcome.fault.find("in time"), std::string::npos) << outcome.fault;
    EXPECT_TRUE(outcome.was_sent);
}

TEST(LineClient, KeepsAsMuchOfALongAnswerAsIsWantedAndNotItsLine) {
    for (const bool is_chunked : {false, true}) {
        RawUpstream upstream([&](RawSocket& socket) {
            take_post(socket);
            const std::string text(100'000, 'x');
            socket.send(is_chunked
                            ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" +
                                  text + "\r\n0\r\n\r\n"
                            : "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + text);
        });
        LineClient client;
        Outbound request = post(upstream.port());
        request.response_bytes_max = 1024;
        EXPECT_EQ(failure(client, request).fault, "the answer is too large");
        request.cuts_response = true;
        EXPECT_EQ(client.send(request).body, std::string(1024, 'x'));
        EXPECT_EQ(client.send(request).body, std::string(1024, 'x'));
        EXPECT_EQ(upstream.accepted(), 3);
    }
}

TEST(LineClient, DialsOnlyWhatItIsToldAndSendsNothingUnsound) {
    TestServer server;
    LineClient client;
    const auto refused = [&](const std::function<void(Outbound&)>& change) {
        Outbound request = post(server.port());
        change(request);
        const Outcome outcome = failure(client, request);
        EXPECT_NE(outcome.fault, "") << request.url;
        EXPECT_FALSE(outcome.was_sent) << request.url;
    };
    refused([](Outbound& it) { it.dialled_address.clear(); });
    refused([](Outbound& it) { it.dialled_address = "localhost"; });
    refused([](Outbound& it) { it.headers.add("A", "b\r\nC: d"); });
    refused([](Outbound& it) { it.method = "GET / HTTP/1.1\r\n"; });
    for (const char* url :
         {"ftp://127.0.0.1/", "", "http://", "http:///a", "http://a:0/", "http://a:99999/",
          "http://a:x/", "http://me@a/", "http://a/#b", "http://a/\r\nX: y"})
        refused([&](Outbound& it) { it.url = url; });
    EXPECT_EQ(server.server().accepted(), 0u);
    std::uint16_t gone = 0;
    {
        const TestServer other;
        gone = other.port();
    }
    const Outcome outcome = failure(client, post(gone));
    EXPECT_NE(outcome.fault, "");
    EXPECT_FALSE(outcome.was_sent);
}

TEST(LineClient, TakesAddressesInEverySpellingThatIsTheSame) {
    TestServer server;
    LineClient client;
    const std::string place = "://127.0.0.1:" + std::to_string(server.port());
    for (const std::string& url : {"HTTP" + place, "http" + place + "/"}) {
        Outbound request = post(server.port());
        request.url = url;
        EXPECT_EQ(client.send(request).body, "POST / [hello]") << url;
    }
}

// The address that was judged is part of where a line leads.
TEST(LineClient, UsesNoLineToAnotherAddressOfTheSameName) {
    TestServer server(ServerOptions{.address = "0.0.0.0", .port = 0});
    LineClient client;
    for (const char* address : {"127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"}) {
        Outbound request = post(server.port());
        request.url = "http://example.org:" + std::to_string(server.port()) + "/";
        request.dialled_address = address;
        EXPECT_EQ(client.send(request).body, "POST / [hello]");
    }
    EXPECT_EQ(server.server().accepted(), 2u);
}

TEST(LineClient, MayBeUsedFromManyThreadsAtOnce) {
    TestServer server;
    LineClient client;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 50; ++k)
                EXPECT_EQ(client.send(post(server.port())).body, "POST /hook?a=b [hello]");
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(server.server().accepted(), 8u);
}

TEST(LineClient, AsksOverTlsForWhomTheNameIs) {
    CertificateFolder folder;
    folder.write();
    TestServer server({.tls_certificate_file = folder.certificate(), .tls_key_file = folder.key()});
    LineClient client;
    Outbound request = post(server.port(), "https");
    request.ca_file = folder.certificate();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(client.send(request).body, "POST /hook?a=b [hello]");
    EXPECT_EQ(server.server().accepted(), 1u);
    Outbound other = request;
    other.url = "https://example.org:" + std::to_string(server.port()) + "/";
    const Outcome outcome = failure(client, other);
    EXPECT_NE(outcome.fault.find("certificate"), std::string::npos) << outcome.fault;
    EXPECT_FALSE(outcome.was_sent);
    Outbound strange = request;
    strange.ca_file.clear();
    EXPECT_NE(failure(client, strange).fault.find("certificate"), std::string::npos);
    strange.ca_file = "/nowhere";
    EXPECT_NE(failure(client, strange).fault.find("/nowhere"), std::string::npos);
    EXPECT_EQ(client.send(request).body, "POST /hook?a=b [hello]");
    TestServer plain;
    EXPECT_NE(failure(client, post(plain.port(), "https")).fault, "");
}

// Between a client and a server with TLS: lets all pass until the client has shaken hands and
// asked, and then what the server says byte by byte.
class Dripping {
public:
    explicit Dripping(std::uint16_t server) : server_(server) {}
    ~Dripping() { over_ = true; }
    std::uint16_t port() const { return upstream_.port(); }

private:
    static std::size_t pass(int from, int to, std::size_t bytes_max) {
        std::array<char, 4096> bytes;
        const ssize_t count = ::recv(from, bytes.data(), std::min(bytes.size(), bytes_max), 0);
        if (count <= 0 ||
            ::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) != count)
            return 0;
        return static_cast<std::size_t>(count);
    }
    void carry(RawSocket& client) {
        RawSocket server(server_);
        int sent = 0;  // by the client: its hello, then the rest
        while (!over_) {
            std::array<pollfd, 2> watched{
                {{client.number(), POLLIN, 0}, {server.number(), POLLIN, 0}}};
            ::poll(watched.data(), watched.size(), 100);
            if (watched[0].revents != 0) {
                if (pass(client.number(), server.number(), 4096) == 0) return;
                ++sent;
            }
            if (watched[1].revents == 0) continue;
            if (sent > 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (pass(server.number(), client.number(), sent > 1 ? 1 : 4096) == 0) return;
        }
    }

    std::uint16_t server_;
    std::atomic<bool> over_{false};
    RawUpstream upstream_{[this](RawSocket& client) { carry(client); }};
};

TEST(LineClient, GivesUpOverTlsToo) {
    CertificateFolder folder;
    folder.write();
    TestServer server({.tls_certificate_file = folder.certificate(), .tls_key_file = folder.key()});
    Dripping line(server.port());
    LineClient client;
    Outbound request = post(line.port(), "https");
    request.ca_file = folder.certificate();
    request.total_max = std::chrono::milliseconds(500);
    const auto began = std::chrono::steady_clock::now();
    const Outcome outcome = failure(client, request);
    EXPECT_NE(outcome.fault.find("in time"), std::string::npos) << outcome.fault;
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5))
        << "its answer takes longer than ten";
}

// Whoever wants the beginning alone has heard what it asked for.
TEST(LineClient, TakesTheStatusOfAnAnswerWhoseBodyBreaks) {
    for (const std::string body :
         {"Content-Length: 99\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
        RawUpstream upstream([&](RawSocket& socket) {
            take_post(socket);
            socket.send("HTTP/1.1 202 Accepted\r\n" + body);
        });
        LineClient client;
        Outbound request = post(upstream.port());
        EXPECT_NE(failure(client, request).fault, "");
        request.cuts_response = true;
        EXPECT_EQ(client.send(request).status, 202);
        EXPECT_EQ(client.send(request).status, 202);
        EXPECT_EQ(upstream.accepted(), 3) << "a line that broke is no more used";
    }
}

}  // namespace
}  // namespace berth::http
