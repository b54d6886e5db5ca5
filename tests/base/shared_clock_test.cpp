#include "base/shared_clock.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/folder.hpp"

namespace berth {
namespace {

TEST(SharedClock, OffsetIsSeenByAllAndKept) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/clock";
    EXPECT_THROW(SharedClock(path, SharedClock::Use::read), std::runtime_error);
    {
        SharedClock server(path, SharedClock::Use::move);
        const SharedClock agent(path, SharedClock::Use::read);
        EXPECT_EQ(agent.offset(), Duration{0});
        server.advance(std::chrono::seconds(60));
        EXPECT_EQ(agent.offset(), std::chrono::seconds(60));
        EXPECT_GE(agent.now() - SystemClock().now(), std::chrono::seconds(59));
    }
    const SharedClock again(path, SharedClock::Use::move);
    EXPECT_EQ(again.offset(), std::chrono::seconds(60));
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
    std::ofstream(folder.path() + "/short") << "x";
    EXPECT_THROW(SharedClock(folder.path() + "/short", SharedClock::Use::read), std::runtime_error);
}

}  // namespace
}  // namespace berth
