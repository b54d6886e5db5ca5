// Where a host listens, by the name under which the world knows it.
#include "host_agent/core/listening.hpp"

#include <gtest/gtest.h>

namespace berth::host_agent {
namespace {

TEST(Listening, IsWhatThePublicHostMeansAndNoMore) {
    EXPECT_EQ(listen_address("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(listen_address("127.0.0.7"), "127.0.0.7");
    EXPECT_EQ(listen_address("localhost"), "127.0.0.1");
    EXPECT_EQ(listen_address("::1"), "::1");
    EXPECT_EQ(listen_address("[::1]"), "::1");
}

TEST(Listening, IsEverywhereForWhatOnlyARouterHas) {
    EXPECT_EQ(listen_address("203.0.113.9"), "0.0.0.0");
    EXPECT_EQ(listen_address("2001:db8::9"), "::");
    EXPECT_EQ(listen_address("[2001:db8::9]"), "::");
    EXPECT_EQ(listen_address("no-such-host.invalid"), "0.0.0.0");
}

}  // namespace
}  // namespace berth::host_agent
