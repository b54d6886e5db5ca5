// Ports that are opened and closed while the program runs, also by two processes at once.
#include "http/ports.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "ends.hpp"
#include "few_descriptors.hpp"

namespace berth::http {
namespace {

using support::eventually;
using support::RawSocket;

// Ports on a loop of their own, with those who came in.
class Doorway {
public:
    explicit Doorway(std::string address = "127.0.0.1") {
        run([&] {
            ports_ = std::make_unique<Ports>(thread_.loop(), std::move(address),
                                             [this](Visitor visitor) { take(std::move(visitor)); });
        });
    }
    ~Doorway() {
        run([&] { ports_.reset(); });
    }
    Doorway(const Doorway&) = delete;
    Doorway& operator=(const Doorway&) = delete;

    // On the loop's thread; gives what it threw, if it did.
    std::string run(const std::function<void()>& work) {
        std::promise<std::string> done;
        thread_.loop()->post([&] {
            try {
                work();
                done.set_value("");
            } catch (const std::runtime_error& error) {
                done.set_value(error.what());
            }
        });
        return done.get_future().get();
    }
    std::uint16_t open(std::uint16_t port = 0) {
        std::uint16_t taken = 0;
        const std::string refusal = run([&] { taken = ports_->open(port); });
        if (!refusal.empty()) throw std::runtime_error(refusal);
        return taken;
    }
    void close(std::uint16_t port) {
        run([&] { ports_->close(port); });
    }
    bool is_open(std::uint16_t port) {
        bool open = false;
        run([&] { open = ports_->is_open(port); });
        return open;
    }
    std::size_t visitors() {
        const std::lock_guard lock(mutex_);
        return visitors_.size();
    }
    Visitor await_visitor() {
        EXPECT_TRUE(eventually([&] { return visitors() > 0; }));
        const std::lock_guard lock(mutex_);
        Visitor first = std::move(visitors_.front());
        visitors_.pop_front();
        return first;
    }
    const std::shared_ptr<Loop>& loop() const { return thread_.loop(); }
    std::atomic<bool> closes_after_one = false;

private:
    void take(Visitor visitor) {
        if (closes_after_one) ports_->close(visitor.port);
        const std::lock_guard lock(mutex_);
        visitors_.push_back(std::move(visitor));
    }

    std::mutex mutex_;
    std::deque<Visitor> visitors_;
    std::unique_ptr<Ports> ports_;
    LoopThread thread_;
};

bool is_refused(std::uint16_t port) {
    try {
        const RawSocket socket(port);
        return false;
    } catch (const std::runtime_error&) {
        return true;
    }
}

TEST(Ports, GiveThoseWhoComeInWithTheirAddressAndPort) {
    Doorway doorway;
    const std::uint16_t first = doorway.open();
    const std::uint16_t second = doorway.open();
    EXPECT_NE(first, second);
    RawSocket guest(second);
    guest.send("hello");
    Visitor visitor = doorway.await_visitor();
    EXPECT_EQ(visitor.port, second);
    EXPECT_EQ(to_string(visitor.peer), "127.0.0.1");
    EXPECT_EQ(visitor.peer, visitor.carrier.peer());
    std::string got(5, '\0');
    EXPECT_TRUE(
        eventually([&] { return visitor.carrier.read(got).status == Transfer::Status::done; }));
    EXPECT_EQ(got, "hello");
    EXPECT_EQ(visitor.carrier.write("bye").bytes, 3u);
    EXPECT_EQ(guest.receive_until("bye"), "bye");
}

TEST(Ports, AClosedPortRefusesAndThoseInsideStay) {
    Doorway doorway;
    const std::uint16_t port = doorway.open();
    RawSocket guest(port);
    Visitor visitor = doorway.await_visitor();
    doorway.close(port);
    EXPECT_FALSE(doorway.is_open(port));
    EXPECT_TRUE(is_refused(port));
    EXPECT_EQ(visitor.carrier.write("x").status, Transfer::Status::done);
    EXPECT_EQ(guest.receive_until("x"), "x");
    EXPECT_EQ(doorway.open(port), port);
    EXPECT_FALSE(is_refused(port));
    doorway.close(port);
    doorway.close(port);  // harmless
}

TEST(Ports, MayBeClosedFromInsideTheirOwnCallback) {
    Doorway doorway;
    doorway.closes_after_one = true;
    const std::uint16_t port = doorway.open();
    const RawSocket guest(port);
    static_cast<void>(doorway.await_visitor());
    EXPECT_FALSE(doorway.is_open(port));
}

TEST(Ports, SayWhyAPortCannotBeHad) {
    const Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    ASSERT_EQ(::bind(other.number(), address, size), 0);
    ASSERT_EQ(::listen(other.number(), 1), 0);
    ASSERT_EQ(::getsockname(other.number(), address, &size), 0);
    Doorway doorway;
    EXPECT_THROW(doorway.open(ntohs(place.sin_port)), std::runtime_error);
    Doorway nowhere("not an address");
    EXPECT_THROW(nowhere.open(), std::runtime_error);
}

TEST(Ports, ListenOnIpv6AndIpv4Together) {
    Doorway doorway("::");
    const std::uint16_t port = doorway.open();
    const RawSocket guest(port);
    EXPECT_EQ(to_string(doorway.await_visitor().peer), "127.0.0.1");
}

// As an older and a newer process do during an upgrade.
TEST(Ports, OfTwoHoldersTheNewerIsAskedAndNobodyIsLost) {
    auto older = std::make_unique<Doorway>();
    const std::uint16_t port = older->open();
    {
        const RawSocket before(port);
        static_cast<void>(older->await_visitor());
    }
    Doorway newer;
    EXPECT_EQ(newer.open(port), port);
    std::vector<RawSocket> guests;
    for (int i = 0; i < 40; ++i) guests.emplace_back(port);
    EXPECT_TRUE(eventually([&] { return newer.visitors() + older->visitors() == 40; }));
    EXPECT_EQ(newer.visitors(), 40u);
    older.reset();
    for (int i = 0; i < 40; ++i) guests.emplace_back(port);
    EXPECT_TRUE(eventually([&] { return newer.visitors() == 80; }));
    for (const RawSocket& guest : guests) EXPECT_TRUE(guest.is_quiet());
}

TEST(Ports, WaitWhenThereAreNoDescriptorsAndGoOnAfterwards) {
    Doorway doorway;
    const std::uint16_t port = doorway.open();
    std::promise<void> waited;  // what the pause will need is not needed for the first time then
    doorway.loop()->after(std::chrono::milliseconds(1), [&] { waited.set_value(); });
    waited.get_future().wait();
    std::optional<RawSocket> guest;
    {
        const FewDescriptors few(1);
        guest.emplace(port);                                         // takes the last one
        for (int turns = 0; turns < 3; ++turns) doorway.run([] {});  // it has looked by then
        EXPECT_EQ(doorway.visitors(), 0u);
    }
    const Visitor visitor = doorway.await_visitor();
    EXPECT_EQ(visitor.port, port);
    EXPECT_TRUE(guest->is_quiet());
    const RawSocket another(port);
    EXPECT_EQ(doorway.await_visitor().port, port);
}

}  // namespace
}  // namespace berth::http
