// Where a host listens, by the name under which the world knows it.
#include "host_agent/core/listening.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace berth::host_agent {
namespace {

TEST(Listening, IsWhatThePublicHostMeansAndNoMore) {
    EXPECT_EQ(listen_address("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(listen_address("127.0.0.7"), "127.0.0.7");
    EXPECT_EQ(listen_address("localhost"), "127.0.0.1");
    EXPECT_EQ(listen_address("Box.localhost."), "127.0.0.1");
    EXPECT_EQ(listen_address("::1"), "::1");
    EXPECT_EQ(listen_address("[::1]"), "::1");
}

TEST(Listening, IsEverywhereForWhatOnlyARouterHas) {
    EXPECT_EQ(listen_address("203.0.113.9"), "0.0.0.0");
    EXPECT_EQ(listen_address("2001:db8::9"), "::");
    EXPECT_EQ(listen_address("[2001:db8::9]"), "::");
}

// Debian writes the host's own name into /etc/hosts as 127.0.1.1; the world knows it by another
// address.
TEST(Listening, IsEverywhereForAName) {
    std::array<char, 256> own{};
    ASSERT_EQ(::gethostname(own.data(), own.size() - 1), 0);
    const std::string name = own.data();
    for (const std::string& each : {name + ".example", std::string("no-such-host.invalid")}) {
        const std::string address = listen_address(each);
        EXPECT_TRUE(address == "0.0.0.0" || address == "::") << each << " " << address;
    }
    if (name != "localhost") {
        EXPECT_EQ(listen_address(name), listen_address("no-such-host.invalid"));
    }
}

}  // namespace
}  // namespace berth::host_agent
