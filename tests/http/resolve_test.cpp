// Which addresses a server that dials for strangers may dial.
#include <gtest/gtest.h>

#include <future>

#include "http/resolve.hpp"
#include "support/eventually.hpp"

namespace berth::http {
namespace {

TEST(HttpResolve, KnowsWhatIsNotPublic) {
    for (const char* text : {"0.0.0.0",
                             "10.1.2.3",
                             "100.64.0.1",
                             "100.127.255.255",
                             "127.0.0.1",
                             "127.9.9.9",
                             "169.254.169.254",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.0.0.8",
                             "192.0.2.1",
                             "192.168.1.1",
                             "198.18.0.1",
                             "198.51.100.7",
                             "203.0.113.9",
                             "224.0.0.1",
                             "239.255.255.255",
                             "240.0.0.1",
                             "255.255.255.255",
                             "::",
                             "::1",
                             "::ffff:127.0.0.1",
                             "::ffff:10.0.0.1",
                             "::7f00:1",
                             "64:ff9b::7f00:1",
                             "64:ff9b:1::1",
                             "100::1",
                             "fc00::1",
                             "fd12:3456::1",
                             "fe80::1",
                             "fec0::1",
                             "ff02::1",
                             "2001::1",
                             "2001:db8::1",
                             "2002:7f00:1::",
                             "3fff::1"})
        EXPECT_FALSE(is_public(*parse_address(text))) << text;
    for (const char* text : {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1",
                             "172.32.0.1", "192.0.1.1", "223.255.255.255", "::ffff:8.8.8.8",
                             "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"})
        EXPECT_TRUE(is_public(*parse_address(text))) << text;
}

TEST(HttpResolve, GivesOnlyAddressesThatMayBeDialled) {
    EXPECT_TRUE(resolve("127.0.0.1", Reach::public_only).addresses.empty());
    EXPECT_NE(resolve("127.0.0.1", Reach::public_only).reason, "");
    EXPECT_TRUE(resolve("localhost", Reach::public_only).addresses.empty());
    EXPECT_TRUE(resolve("0x7f.1", Reach::public_only).addresses.empty());
    EXPECT_TRUE(resolve("2130706433", Reach::public_only).addresses.empty());
    const Resolved loopback = resolve("127.0.0.1", Reach::anywhere);
    ASSERT_EQ(loopback.addresses.size(), 1u);
    EXPECT_EQ(to_string(loopback.addresses[0]), "127.0.0.1");
    const Resolved one = resolve("8.8.8.8", Reach::public_only);
    ASSERT_EQ(one.addresses.size(), 1u);
    EXPECT_EQ(to_string(one.addresses[0]), "8.8.8.8");
}

TEST(HttpResolve, SaysWhyANameLeadsNowhere) {
    EXPECT_NE(resolve("no such name", Reach::anywhere).reason, "");
    EXPECT_NE(resolve("", Reach::anywhere).reason, "");
}

// Whoever chose the name also chose the server that is asked for it, and that one may be silent.
TEST(HttpResolve, GoesOnWithoutANameThatTakesTooLong) {
    const auto over = std::make_shared<std::promise<void>>();
    const std::shared_future<void> until = over->get_future().share();
    const auto asked = std::make_shared<std::atomic<int>>(0);
    const Resolver resolver(
        [until, asked](const std::string& host, Reach) {
            ++*asked;
            if (host.starts_with("slow")) until.wait();
            return Resolved{{*parse_address("1.1.1.1")}, {}};
        },
        {.within = std::chrono::milliseconds(50), .at_once = 2});
    const auto is_found = [&](const std::string& host) {
        return !resolver.resolve(host, Reach::public_only).addresses.empty();
    };
    EXPECT_FALSE(is_found("slow-1.example"));
    // One that nobody waits for any more still counts: there are never more than so many threads.
    EXPECT_FALSE(is_found("slow-2.example"));
    const Resolved full = resolver.resolve("quick.example", Reach::public_only);
    EXPECT_TRUE(full.addresses.empty());
    EXPECT_TRUE(full.is_ours) << "nobody was asked";
    EXPECT_EQ(*asked, 2);
    EXPECT_TRUE(is_found("1.1.1.2"));  // no name, and nobody to ask
    EXPECT_FALSE(is_found("127.0.0.1"));
    over->set_value();
    EXPECT_TRUE(support::eventually([&] { return is_found("quick.example"); }));
}

TEST(HttpOwnListeners, AreKnownByAddressAndPort) {
    OwnListeners doors;
    const auto is_own = [&](const char* address, std::int64_t port) {
        return doors.contains(*parse_address(address), port);
    };
    EXPECT_FALSE(is_own("127.0.0.1", 8080));
    doors.add("127.0.0.1", 8080);
    doors.add("0.0.0.0", 9090);
    EXPECT_TRUE(is_own("127.0.0.1", 8080));
    EXPECT_TRUE(is_own("::ffff:127.0.0.1", 8080));
    EXPECT_TRUE(is_own("0.0.0.0", 8080));  // the system takes it for this machine
    EXPECT_FALSE(is_own("127.0.0.1", 8081));
    EXPECT_FALSE(is_own("127.0.0.2", 8080));
    for (const char* here : {"127.0.0.1", "127.9.9.9", "::1", "::"})
        EXPECT_TRUE(is_own(here, 9090)) << here;
    EXPECT_FALSE(is_own("192.0.2.201", 9090));
}

}  // namespace
}  // namespace berth::http
