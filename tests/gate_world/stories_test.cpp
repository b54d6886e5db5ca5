// What hosts, renters and operators live through with a gate between them, told with real programs:
// berthd, berth-gate, and berth-agent behind two routers that let nobody in.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "gate_world/world.hpp"
#include "http/tls.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

// Whether anybody takes a connection there, from the network that this thread is in.
bool takes_connections(const std::string& address, std::uint16_t port,
                       std::chrono::milliseconds at_most = 1500ms) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &place.sin_addr);
    int fault = 0;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
        fault = errno;
    if (fault == EINPROGRESS) {
        pollfd looked{socket, POLLOUT, 0};
        fault = ETIMEDOUT;
        socklen_t size = sizeof fault;
        if (::poll(&looked, 1, static_cast<int>(at_most.count())) == 1)
            ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &fault, &size);
    }
    ::close(socket);
    return fault == 0;
}

std::uint16_t port_of(const World::Door& door) {
    return static_cast<std::uint16_t>(std::stoi(door.port));
}

World::Gate& gate_of(World& world, const World::Door& door) {
    return door.host == world.second.address ? world.second : world.first;
}

// Asked again and again by a thread while something happens; counts what was not answered.
class Knocking {
public:
    Knocking(World& world, World::Door door)
        : thread_([this, &world, door = std::move(door)] {
              while (!stops_) {
                  if (!world.answers(door)) ++refused_;
                  ++asked_;
                  ::poll(nullptr, 0, static_cast<int>(knock_every.count()));
              }
          }) {}
    ~Knocking() { stop(); }
    Knocking(const Knocking&) = delete;
    Knocking& operator=(const Knocking&) = delete;

    void stop() {
        stops_ = true;
        if (thread_.joinable()) thread_.join();
    }
    int asked() const { return asked_; }
    int refused() const { return refused_; }

private:
    std::atomic<bool> stops_ = false;
    std::atomic<int> asked_ = 0;
    std::atomic<int> refused_ = 0;
    std::thread thread_;
};

// Asks for more than it ever reads.
class StalledReader {
public:
    explicit StalledReader(const World::Door& door)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_port = htons(port_of(door));
        ::inet_pton(AF_INET, door.host.c_str(), &place.sin_addr);
        const timeval longest{120, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
            return;
        session_.emplace(context_, socket_, http::TlsPeer{door.host, door.tls_key});
        if (session_->shake_hands().status != http::Transfer::Status::done) return;
        const std::string body =
            R"({"model":"bad-endless","messages":[],"stream":true,"delay_ms":0})";
        const auto sent = session_->write(fmt::format(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}:{}\r\nAuthorization: Bearer {}\r\n"
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            door.host, door.port, door.key, body.size(), body));
        std::array<char, 16 * 1024> room;
        auto got = session_->read(room);
        while (got.status == http::Transfer::Status::wants_read)  // tickets came
            got = session_->read(room);
        heard_ =
            sent.status == http::Transfer::Status::done ? std::string(room.data(), got.bytes) : "";
    }
    ~StalledReader() {
        session_.reset();
        ::close(socket_);
    }
    StalledReader(const StalledReader&) = delete;
    StalledReader& operator=(const StalledReader&) = delete;

    // The stream has begun, and nothing of it is read from here on.
    bool stalls() const { return heard_.starts_with("HTTP/1.1 200"); }

private:
    http::TlsContext context_ = http::TlsContext::for_clients();
    int socket_;
    std::optional<http::TlsSession> session_;
    std::string heard_;
};

TEST_F(GateStory, AHostThatKnowsNothingButTheServersAddressIsTestedAndListedByTheGate) {
    const std::string shown = world().get(world().ada, world().machine_place());
    EXPECT_EQ(member(shown, "reach"), "gate") << shown;
    const std::string test = world().get(world().ada, world().machine_place() + "/qualification");
    EXPECT_EQ(member(test, "outcome"), "passed") << test;
    // Nobody gets in but by what the host dialled itself: from the internet there is no way to the
    // provider's customers, and what is seen of them takes no connection.
    const World::Door door = world().door_of(world().running());
    const Inside in(world().networks.internet);
    for (const std::uint16_t port : {std::uint16_t{22}, std::uint16_t{443}, port_of(door)})
        EXPECT_FALSE(takes_connections(Networks::provider_address, port)) << port;
    EXPECT_FALSE(takes_connections("100.64.0.2", 443));
    EXPECT_FALSE(takes_connections("192.168.1.2", port_of(door)));
    EXPECT_TRUE(soon([&] { return takes_connections(door.host, port_of(door)); })) << "the gate's";
}

TEST_F(GateStory, AWholeRentalGoesThroughIt) {
    const std::string job = world().running();
    const World::Door door = world().door_of(job);
    EXPECT_EQ(door.host, gate_of(world(), door).address);
    EXPECT_GE(port_of(door), 20000);
    EXPECT_EQ(door.tls_key.size(), 32U) << "renters can pin the key of the job itself";
    EXPECT_TRUE(world().answers(door));
    // As the relay of the service does it.
    const auto said =
        world().send(world().ben.key, "POST", "/api/v1/jobs/" + job + "/openai/v1/chat/completions",
                     R"({"model":"m","messages":[{"role":"user","content":"x"}],)"
                     R"("max_tokens":3})");
    EXPECT_EQ(said.status, 200) << said.body;
    EXPECT_NE(said.body.find("word1 word2 word3"), std::string::npos) << said.body;

    world().stop(job);
    EXPECT_EQ(member(world().show(job), "end_reason"), "renter_stop");
    EXPECT_GT(world().charged(job), 0);
    EXPECT_TRUE(soon([&] { return !takes_connections(door.host, port_of(door)); }))
        << "a door ends with its job";
    EXPECT_EQ(world().check_books(), "");
}

TEST_F(GateStory, APageIsOpenedThroughItByTheCommandLine) {
    const std::string job = world().running();
    const std::string log = world().folder.path() + "/open.log";
    Process opened({"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=" + world().folder.path(),
                    "BERTH_SERVER=" + world().url, "BERTH_API_KEY=" + world().ben.key,
                    "BERTH_CA_FILE=" + world().folder.path() + "/tls.pem", program_path("berth"),
                    "rentals", "open", job, "--no-browser"},
                   log);
    std::string address;
    ASSERT_TRUE(soon([&] {
        const std::string text = read_text(log);
        const std::size_t at = text.find("http://");
        const std::size_t end = text.find_first_of("\"\n", std::min(at, text.size()));
        address = end == std::string::npos ? "" : text.substr(at, end - at);
        return !address.empty();
    })) << read_text(log);
    const std::size_t mark = address.find("/#");
    const std::string origin = address.substr(0, mark);
    const auto ask = [&](const std::string& path, const std::string& cookie,
                         const std::string& body) {
        http::Outbound request;
        request.method = body.empty() ? "GET" : "POST";
        request.url = "http://127.0.0.1" + origin.substr(origin.rfind(':')) + path;
        request.headers.add("Host", origin.substr(origin.find("//") + 2));
        request.headers.add("Origin", origin);
        if (!cookie.empty()) request.headers.add("Cookie", cookie);
        request.body = body;
        return world().client.send(request);
    };
    const auto entered = ask("/.berth/enter", "", address.substr(mark + 2));
    ASSERT_EQ(entered.status, 204) << entered.body;
    const std::string cookie(entered.headers.find("Set-Cookie").value_or(""));
    const auto page = ask("/v1/models", cookie.substr(0, cookie.find(';')), "");
    EXPECT_EQ(page.status, 200) << page.body;
    EXPECT_NE(page.body.find("\"data\""), std::string::npos) << page.body;
}

TEST_F(GateStory, OpenStreamsOutliveTheirLinkAndNewOnesWaitForTheNext) {
    const World::Door door = world().door_of(world().running());
    Counting stream(world(), door, 120, 100ms);
    ASSERT_TRUE(stream.reaches(5)) << stream.said();
    // No new link can be made, and the one there is breaks.
    const std::string link = fmt::format("ip daddr {} tcp dport 443", door.host);
    world().networks.hinder(link + " ct state new reject with tcp reset");
    const std::string broken = world().networks.host.ask(
        fmt::format("ss -K dst {} dport = :443 2>/dev/null || true", door.host));
    EXPECT_NE(broken.find("ESTAB"), std::string::npos) << "there was no link to break: " << broken;
    auto waiting = std::async(std::launch::async, [&] { return world().answers(door); });
    EXPECT_EQ(waiting.wait_for(1s), std::future_status::timeout) << "it goes by some other way";
    const std::int64_t before = stream.count();
    EXPECT_TRUE(stream.reaches(before + 5)) << "words come though there is no link";
    world().networks.mend();
    // Who waited is served by the next link, unless this machine was so busy that it was too late.
    EXPECT_TRUE(waiting.get() || world().knocks_in(door));
    EXPECT_TRUE(stream.ends_whole()) << stream.said();
}

TEST_F(GateStory, AKilledGateComesBackWithTheSameDoors) {
    const std::string job = world().running();
    const World::Door door = world().door_of(job);
    Counting lost(world(), door, 3000, 20ms);
    ASSERT_TRUE(lost.reaches(5)) << lost.said();
    World::Gate& gate = gate_of(world(), door);
    World::kill(gate.process);
    EXPECT_FALSE(lost.ends_whole()) << "its streams are lost, and nobody pretends otherwise";
    EXPECT_FALSE(world().answers(door));
    world().start_gate(gate);
    EXPECT_TRUE(world().knocks_in(door)) << "at the very same place";
    const World::Door after = world().door_of(job);
    EXPECT_EQ(after.host, door.host);
    EXPECT_EQ(after.port, door.port);
    EXPECT_EQ(world().state_of(job), "RUNNING");
}

TEST_F(GateStory, AnUpgradeOfTheGateLosesNeitherAWordNorAStranger) {
    const World::Door door = world().door_of(world().running());
    World::Gate& gate = gate_of(world(), door);
    Counting stream(world(), door, 150, 100ms);
    ASSERT_TRUE(stream.reaches(5)) << stream.said();
    Knocking strangers(world(), door);
    std::unique_ptr<Process> older = std::move(gate.process);
    world().start_gate(gate);
    EXPECT_TRUE(stream.ends_whole()) << stream.said();
    ASSERT_TRUE(soon([&] { return !older->running(); })) << "it has nothing left to do";
    EXPECT_EQ(older->wait(), 0);
    // Those who come after the older is gone are the newer's.
    const int before = strangers.asked();
    EXPECT_TRUE(soon([&] { return strangers.asked() >= before + 5; }));
    strangers.stop();
    EXPECT_EQ(strangers.refused(), 0) << "of " << strangers.asked();
    EXPECT_TRUE(gate.process->running());
}

TEST_F(GateStory, WherePlainCallsAreBlockedTheyGoByTls) {
    const World::Door door = world().door_of(world().running());
    ASSERT_TRUE(world().answers(door));
    world().networks.hinder("tcp dport 80 drop");
    EXPECT_TRUE(world().knocks_in(door)) << "five seconds for the first";
    // It has learnt: the next ones do not wait for a port that never answers.
    EXPECT_TRUE(soon([&] {
        const auto begun = std::chrono::steady_clock::now();
        return world().answers(door) && std::chrono::steady_clock::now() - begun < 4s;
    }));
    Counting stream(world(), door, 20, 10ms);
    EXPECT_TRUE(stream.ends_whole()) << stream.said();
    World::kill(world().agent);  // what it has learnt goes with it
}

TEST_F(GateStory, AStalledReaderOnALongAndLossyLineHoldsUpNobody) {
    const World::Door door = world().door_of(world().running());
    world().networks.line.set_delay(40ms);
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(world().answers(door));
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 80ms) << "the line takes its time";
    world().networks.hinder("numgen random mod 100 < 1 drop");
    const StalledReader stalled(door);
    ASSERT_TRUE(stalled.stalls());
    Counting stream(world(), door, 60, 20ms);
    EXPECT_TRUE(stream.ends_whole()) << stream.said();
    EXPECT_TRUE(world().knocks_in(door));
}

TEST_F(GateStory, WithoutAServerStreamsGoOnAndDoorsStayOpen) {
    const std::string job = world().running();
    const World::Door door = world().door_of(job);
    Counting stream(world(), door, 100, 100ms);
    ASSERT_TRUE(stream.reaches(5)) << stream.said();
    World::kill(world().server);
    EXPECT_TRUE(stream.reaches(stream.count() + 20)) << stream.said();
    EXPECT_TRUE(world().answers(door)) << "a new one, too";
    world().start_server();
    EXPECT_TRUE(stream.ends_whole()) << stream.said();
    EXPECT_EQ(world().state_of(job), "RUNNING") << world().show(job);
    const std::int64_t before = world().charged(job);
    EXPECT_TRUE(soon([&] { return world().charged(job) > before; })) << "the meter runs on";
}

}  // namespace
}  // namespace berth::test
