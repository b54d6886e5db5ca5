// What a connection begins with, however it comes.
#include "http/first_bytes.hpp"

#include <gtest/gtest.h>

#include "ends.hpp"

namespace berth::http {
namespace {

using namespace std::chrono_literals;

const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9);

TEST(FirstBytes, AreToldApart) {
    EXPECT_EQ(first_bytes_of(""), FirstBytes::unclear);
    EXPECT_EQ(first_bytes_of("S"), FirstBytes::unclear);
    EXPECT_EQ(first_bytes_of("SSH"), FirstBytes::unclear);
    EXPECT_EQ(first_bytes_of("SSH-"), FirstBytes::ssh);
    EXPECT_EQ(first_bytes_of("SSH-2.0-OpenSSH_9.2"), FirstBytes::ssh);
    EXPECT_EQ(first_bytes_of("SMTP"), FirstBytes::other);
    EXPECT_EQ(first_bytes_of("ssh-"), FirstBytes::other);
    EXPECT_EQ(first_bytes_of("GET / HTTP/1.1"), FirstBytes::other);
    for (std::size_t count = 1; count < 6; ++count)
        EXPECT_EQ(first_bytes_of(hello.substr(0, count)), FirstBytes::unclear) << count;
    EXPECT_EQ(first_bytes_of(hello.substr(0, 6)), FirstBytes::tls);
    EXPECT_EQ(first_bytes_of("\x16\x02"), FirstBytes::other);
    EXPECT_EQ(first_bytes_of("\x16\x03\x05"), FirstBytes::other);
    EXPECT_EQ(first_bytes_of(std::string("\x16\x03\x01\x02\x00\x02", 6)), FirstBytes::other);
    EXPECT_EQ(first_bytes_of(std::string("\0", 1)), FirstBytes::other);
}

struct Looked {
    explicit Looked(Duration silence_max = 200s) : ends(connect_ends()) {
        await_first_bytes(thread.loop(), std::move(ends.inside), silence_max, seen.callback());
    }

    Connected ends;
    Once<FirstSeen> seen;
    LoopThread thread;
};

std::string rest_of(Carrier& carrier, std::size_t bytes) {
    std::string all;
    EXPECT_TRUE(support::eventually([&] {
        char piece[64];
        const Transfer in = carrier.read(piece);
        if (in.status == Transfer::Status::done) all.append(piece, in.bytes);
        return all.size() >= bytes;
    }));
    return all;
}

TEST(FirstBytes, AreGivenAgainWithWhatFollows) {
    Looked looked;
    looked.ends.outside.send("SSH-2.0-client\r\n");
    FirstSeen seen = looked.seen.wait();
    EXPECT_EQ(seen.first, FirstBytes::ssh);
    EXPECT_EQ(rest_of(seen.carrier, 16), "SSH-2.0-client\r\n");
}

TEST(FirstBytes, MayComeOneByOne) {
    Looked looked;
    for (const char byte : hello.substr(0, 6)) looked.ends.outside.send({&byte, 1});
    FirstSeen seen = looked.seen.wait();
    EXPECT_EQ(seen.first, FirstBytes::tls);
    EXPECT_EQ(rest_of(seen.carrier, 6), hello.substr(0, 6));
}

TEST(FirstBytes, OfAnotherKindAreKnownAtOnce) {
    Looked looked;
    looked.ends.outside.send("G");
    EXPECT_EQ(looked.seen.wait().first, FirstBytes::other);
}

TEST(FirstBytes, AreNotWaitedForLongerThanIsSaid) {
    Looked silent(20ms);
    FirstSeen seen = silent.seen.wait();
    EXPECT_EQ(seen.first, FirstBytes::unclear);
    ASSERT_TRUE(seen.carrier.is_open());
    silent.ends.outside.send("late");
    EXPECT_EQ(rest_of(seen.carrier, 4), "late");

    Looked slow(20ms);
    slow.ends.outside.send("SS");
    seen = slow.seen.wait();
    EXPECT_EQ(seen.first, FirstBytes::unclear);
    EXPECT_EQ(rest_of(seen.carrier, 2), "SS");
}

TEST(FirstBytes, OfThoseWhoWentAreNone) {
    Looked finished;
    finished.ends.outside.send("SSH");
    finished.ends.outside.finish_sending();
    FirstSeen seen = finished.seen.wait();
    EXPECT_EQ(seen.first, FirstBytes::unclear);
    EXPECT_TRUE(seen.carrier.is_open());

    Looked gone;
    gone.ends.outside.reset();
    EXPECT_FALSE(gone.seen.wait().carrier.is_open());
}

TEST(FirstBytes, ThatWereReadBeforeCountToo) {
    const LoopThread thread;
    Connected ends = connect_ends();
    ends.inside.put_back("SSH-2.0-x");
    Once<FirstSeen> seen;
    await_first_bytes(thread.loop(), std::move(ends.inside), 200s, seen.callback());
    FirstSeen first = seen.wait();
    EXPECT_EQ(first.first, FirstBytes::ssh);
    EXPECT_EQ(first.carrier.ahead(), "SSH-2.0-x");
}

}  // namespace
}  // namespace berth::http
