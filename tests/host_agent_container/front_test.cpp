// The TLS front of http endpoints, reached as the relay reaches it. It needs no container.
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <thread>

#include "base/bytes.hpp"
#include "base/descriptor.hpp"
#include "host_agent/access/front.hpp"
#include "host_agent/access/front_process.hpp"
#include "host_agent/access/host_user.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent_container/registry.hpp"
#include "http/client.hpp"
#include "http/dial.hpp"
#include "http/passing.hpp"
#include "http/server.hpp"
#include "http/source.hpp"
#include "http/upstream.hpp"
#include "relay/dialler.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

constexpr const char* key = "job-key-1";
constexpr std::size_t large_bytes = std::size_t{8} * 1024 * 1024;

// A large answer, at the pace of whoever reads it.
class Large final : public http::Source {
public:
    explicit Large(std::atomic<std::size_t>& written) : written_(written) {}
    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        outlet.begin({.content_type = "text/event-stream"});
        on_room();
    }
    void on_room() override {
        const std::string piece(16 * 1024, 'x');
        while (written_ < large_bytes) {
            written_ += piece.size();
            if (!outlet_->write(piece)) return;
        }
        outlet_->end();
    }
    void on_gone() override {}

private:
    std::atomic<std::size_t>& written_;
    http::Outlet* outlet_ = nullptr;
};

// Says back what it hears once the connection is switched.
class Echoing final : public http::Source {
public:
    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        http::Response head{.status = http::switching_status};
        head.headers.add("Upgrade", "websocket");
        outlet.begin(std::move(head));
    }
    bool on_input(std::string_view bytes) override { return outlet_->write(bytes); }
    void on_room() override { outlet_->resume_input(); }
    void on_gone() override {}

private:
    http::Outlet* outlet_ = nullptr;
};

class Workload final : public http::Handler {
public:
    void handle(http::Request request, http::Reply reply) override {
        ++asked;
        if (request.switch_to == "websocket") {
            http::Response response;
            response.source = std::make_shared<Echoing>();
            return reply(std::move(response));
        }
        if (request.path() == "/large") {
            http::Response response;
            response.source = std::make_shared<Large>(written);
            return reply(std::move(response));
        }
        http::Response response{.status = 201, .content_type = "application/json"};
        response.headers.add("X-Engine", "yes");
        response.body = request.method + " " + request.target + " " + request.body + " " +
                        std::string(request.headers.find("Authorization").value_or("-")) + " " +
                        std::string(request.headers.find("Content-Type").value_or("-"));
        reply(std::move(response));
    }
    std::atomic<int> asked = 0;
    std::atomic<std::size_t> written = 0;
};

// The server's side: a request that is answered by what the relay's dialler gets.
class Passed final : public http::Source, public http::UpstreamReader {
public:
    explicit Passed(http::UpstreamRequest request) : request_(std::move(request)) {}
    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        conversation_ = dialler_.dial(outlet, std::move(request_), *this);
    }
    void on_room() override { conversation_->resume(); }
    void on_gone() override { conversation_.reset(); }
    void on_head(http::UpstreamHead head) override { outlet_->begin({.status = head.status}); }
    bool on_bytes(std::string_view bytes) override { return outlet_->write(bytes); }
    void on_end() override { outlet_->end(); }
    void on_failure(const http::UpstreamFailure& failure) override {
        outlet_->begin({.status = 503});
        static_cast<void>(outlet_->write(failure.reason));
        outlet_->end();
    }

private:
    relay::DirectDialler dialler_;
    http::UpstreamRequest request_;
    http::Outlet* outlet_ = nullptr;
    std::unique_ptr<relay::Conversation> conversation_;
};

class Relaying final : public http::Handler {
public:
    void handle(http::Request request, http::Reply reply) override {
        http::UpstreamRequest onwards{.endpoint = endpoint,
                                      .method = request.method,
                                      .target = request.target,
                                      .body = request.body};
        onwards.headers.add("Authorization", std::string("Bearer ") + key);
        http::Response response;
        response.source = std::make_shared<Passed>(std::move(onwards));
        reply(std::move(response));
    }
    http::Endpoint endpoint;
};

class FrontTest : public testing::Test {
protected:
    FrontTest() {
        engine.start();
        opening = {.name = "api",
                   .port = free_port(),
                   .local_port = engine.port(),
                   .key = key,
                   .folder = folder.path()};
        hash = front.open(opening);
    }

    http::Outbound request(const std::string& path, const std::string& authorization) const {
        http::Outbound out;
        out.url = "https://127.0.0.1:" + std::to_string(opening.port) + path;
        out.pinned_key = *from_hex(hash);
        if (!authorization.empty()) out.headers.add("Authorization", authorization);
        return out;
    }
    static host_agent::TlsFront::Options on_loopback() {
        return {.address = "127.0.0.1", .program = program_path("berth-agent")};
    }
    static http::Response send(const http::Outbound& request) {
        return http::CurlClient().send(request);
    }

    TemporaryFolder folder;
    Workload workload;
    http::Server engine{{}, workload};
    host_agent::TlsFront front{on_loopback()};
    host_agent::Front::Opening opening;
    std::string hash;
};

TEST_F(FrontTest, PassesOnWhatComesWithTheKey) {
    http::Outbound out = request("/v1/x?y=1", std::string("Bearer ") + key);
    out.method = "POST";
    out.body = "body";
    out.headers.add("Content-Type", "text/plain");
    const http::Response response = send(out);
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.body, "POST /v1/x?y=1 body Bearer job-key-1 text/plain");
    EXPECT_EQ(response.headers.find("X-Engine"), "yes");
}

TEST_F(FrontTest, NothingPassesWithoutIt) {
    for (const char* shown :
         {"", "Bearer", "Bearer job-key-2", "Bearer job-key-1x", "job-key-1", "Basic job-key-1"})
        EXPECT_EQ(send(request("/", shown)).status, 401) << shown;
    EXPECT_EQ(workload.asked, 0);
}

TEST_F(FrontTest, HasTheKeyThatItNamesAlsoWhenItIsOpenedAgain) {
    EXPECT_EQ(hash.size(), 64U);
    front.close(opening.port);
    EXPECT_THROW(send(request("/", "")), http::TransportError);
    host_agent::TlsFront later(on_loopback());
    EXPECT_EQ(later.open(opening), hash);
    EXPECT_EQ(send(request("/", "")).status, 401);
    http::Outbound wrong = request("/", "");
    wrong.pinned_key[0] = static_cast<char>(wrong.pinned_key[0] ^ 1);
    EXPECT_THROW(send(wrong), http::TransportError);
    struct stat facts {};
    ASSERT_EQ(::stat((folder.path() + "/tls.key").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

// A host whose public name is one of IPv6 listens on "::".
TEST_F(FrontTest, IsReachedByEitherKindOfAddress) {
    host_agent::TlsFront::Options options = on_loopback();
    options.address = "::";
    host_agent::TlsFront other(options);
    host_agent::Front::Opening both = opening;
    both.port = free_port();
    EXPECT_EQ(other.open(both), hash);
    for (const char* address : {"127.0.0.1", "[::1]"}) {
        http::Outbound out = request("/", std::string("Bearer ") + key);
        out.url = fmt::format("https://{}:{}/", address, both.port);
        EXPECT_EQ(send(out).status, 201) << address;
    }
}

TEST_F(FrontTest, SaysThatTheWorkloadDoesNotAnswer) {
    engine.stop();
    EXPECT_EQ(send(request("/", std::string("Bearer ") + key)).status, 502);
}

TEST_F(FrontTest, APortThatIsTakenIsAnError) {
    host_agent::TlsFront other(on_loopback());
    try {
        other.open(opening);
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "INTERNAL");
    }
}

TEST_F(FrontTest, TheRelayGetsThroughAndOnlyToThisKey) {
    Relaying relaying;
    relaying.endpoint = {.address = *http::parse_address("127.0.0.1"),
                         .port = static_cast<std::uint16_t>(opening.port),
                         .host = "127.0.0.1",
                         .tls = true,
                         .key_sha256 = *from_hex(hash)};
    http::Server server({}, relaying);
    server.start();
    http::Outbound out;
    out.url = "http://127.0.0.1:" + std::to_string(server.port()) + "/large";
    out.response_bytes_max = large_bytes * 2;
    EXPECT_EQ(send(out).body.size(), large_bytes);
    relaying.endpoint.key_sha256[0] = static_cast<char>(relaying.endpoint.key_sha256[0] ^ 1);
    EXPECT_EQ(send(out).status, 503);
}

// A renter's program: plain to the test, pinned and with the key to the front.
class Pinning final : public http::Handler {
public:
    void handle(http::Request request, http::Reply reply) override {
        http::UpstreamRequest onwards = http::onward(std::move(request), endpoint);
        if (has_key) onwards.headers.add("Authorization", std::string("Bearer ") + key);
        http::Response response;
        response.source =
            http::pass_on({.request = std::move(onwards), .unanswered = {.status = 502}});
        reply(std::move(response));
    }
    http::Endpoint endpoint;
    std::atomic<bool> has_key = true;
};

TEST_F(FrontTest, WebsocketsPassWithTheKeyAndNotWithoutIt) {
    Pinning pinning;
    pinning.endpoint = {.address = *http::parse_address("127.0.0.1"),
                        .port = static_cast<std::uint16_t>(opening.port),
                        .host = "127.0.0.1",
                        .tls = true,
                        .key_sha256 = *from_hex(hash)};
    http::Server server({}, pinning);
    server.start();
    const std::string asking =
        "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    const auto connect = [&] {
        return http::DialledConnection(*http::parse_address("127.0.0.1"), server.port(),
                                       std::chrono::minutes(3));
    };
    const auto head_of = [](http::DialledConnection& connection) {
        std::string head;
        while (!head.ends_with("\r\n\r\n")) head += connection.receive(1);
        return head;
    };
    http::DialledConnection client = connect();
    client.send(asking);
    EXPECT_TRUE(head_of(client).starts_with("HTTP/1.1 101 "));
    const std::string said = std::string(200'000, 'w') + "end";
    std::thread sending([&] { client.send(said); });
    EXPECT_EQ(client.receive(said.size()), said);
    sending.join();
    pinning.has_key = false;
    http::DialledConnection stranger = connect();
    stranger.send(asking);
    EXPECT_TRUE(head_of(stranger).starts_with("HTTP/1.1 401 "));
    EXPECT_EQ(workload.asked, 1);
}

TEST_F(FrontTest, IsAProcessThatHasNothingOfTheHost) {
    const std::string place = fmt::format("/proc/{}", front.process());
    const std::string status = read_text(place + "/status");
    const auto has = [&](const std::string& line) {
        EXPECT_NE(status.find(line + "\n"), std::string::npos) << line << "\n" << status;
    };
    has("NoNewPrivs:\t1");
    has("Seccomp:\t2");
    if (::geteuid() != 0) GTEST_SKIP() << "without root it is who we are";
    EXPECT_NE(host_agent::front_user(), 0U);
    for (const char* ids : {"Uid", "Gid"})
        EXPECT_EQ(status.find(std::string(ids) + ":\t0"), status.npos);
    has(fmt::format("Uid:\t{0}\t{0}\t{0}\t{0}", host_agent::front_user()));
    has("Groups:\t ");
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
        has(std::string(set) + ":\t0000000000000000");
    if (why_no_containers().empty()) {
        EXPECT_TRUE(std::filesystem::is_empty(place + "/root/"));
    }
    // Sockets, and where its log goes; of the host's files none that it could change or read.
    for (const auto& file : std::filesystem::directory_iterator(place + "/fd")) {
        const std::string to = std::filesystem::read_symlink(file.path());
        EXPECT_EQ(to.find(folder.path()), to.npos) << to;
    }
}

TEST_F(FrontTest, AnotherProcessHasTheDoorsWhenOneIsKilled) {
    const pid_t first = front.process();
    ASSERT_GT(first, 0);
    ASSERT_EQ(::kill(first, SIGKILL), 0);
    EXPECT_TRUE(support::eventually([&] {
        try {
            return send(request("/", std::string("Bearer ") + key)).status == 201;
        } catch (const http::TransportError&) {
            return false;
        }
    }));
    EXPECT_NE(front.process(), first);
    EXPECT_NE(front.process(), 0);
    EXPECT_EQ(send(request("/", "")).status, 401);
}

// As one does that somebody has taken over.
TEST_F(FrontTest, AProcessThatHangsUpAndLivesOnIsEnded) {
    const pid_t first = front.process();
    ASSERT_GT(first, 0);
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, first, 0)));
    const Descriptor socket(
        static_cast<int>(::syscall(SYS_pidfd_getfd, handle.number(), host_agent::front_socket, 0)));
    if (socket.number() < 0) GTEST_SKIP() << "its descriptors cannot be had here";
    ASSERT_EQ(::kill(first, SIGSTOP), 0);
    ASSERT_EQ(::shutdown(socket.number(), SHUT_RDWR), 0);
    EXPECT_TRUE(support::eventually([&] {
        try {
            return send(request("/", std::string("Bearer ") + key)).status == 201;
        } catch (const http::TransportError&) {
            return false;
        }
    }));
    EXPECT_NE(front.process(), first);
}

TEST_F(FrontTest, ReachesWorkloadsOnLoopbackAndNobodyElse) {
    if (const std::string why = why_no_containers(); !why.empty()) GTEST_SKIP() << why;
    const auto connect = [](const std::string& address, int port) {
        return host_agent::run_tool(
                   {.arguments = {"setpriv", fmt::format("--reuid={}", host_agent::front_user()),
                                  "--clear-groups", program_path("berth-inside"), "connect",
                                  address, std::to_string(port)}})
            .output;
    };
    EXPECT_EQ(connect("127.0.0.1", engine.port()), "connect allowed\n");
    for (const char* address : {"169.254.169.254", "10.0.0.1", "203.0.113.7"})
        EXPECT_EQ(connect(address, 80), "connect ECONNREFUSED\n") << address;
}

TEST(FrontOrderTest, IsReadAsItWasWrittenAndNothingElseIs) {
    const host_agent::FrontOrder order{.port = 40001,
                                       .local_port = 41000,
                                       .shown_sha256 = "ab",
                                       .certificate = "c\nc",
                                       .key = "k"};
    const std::string written = host_agent::write_order(order);
    const auto read = host_agent::read_order(written);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->opens);
    EXPECT_EQ(read->port, 40001);
    EXPECT_EQ(read->local_port, 41000);
    EXPECT_EQ(read->shown_sha256, "ab");
    EXPECT_EQ(read->certificate, "c\nc");
    EXPECT_EQ(read->key, "k");
    const auto closing =
        host_agent::read_order(host_agent::write_order({.opens = false, .port = 5}));
    EXPECT_TRUE(closing && !closing->opens && closing->port == 5);
    for (std::string bad : {"", "open", "open|1|2|", "shut|1|2|||", "open|0|2|||",
                            "open|1|70000|||", "open|1|2||||", "close||||||"}) {
        std::replace(bad.begin(), bad.end(), '|', '\0');
        EXPECT_FALSE(host_agent::read_order(bad)) << bad;
    }
}

}  // namespace
}  // namespace berth::test
