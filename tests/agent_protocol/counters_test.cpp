#include "agent_protocol/counters.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/folder.hpp"

namespace berth::agent_protocol {
namespace {

const JobId job{*parse_uuid("01920000-0000-7000-8000-0000000000a1")};
const JobId other{*parse_uuid("01920000-0000-7000-8000-0000000000a2")};

class CountersOnDisk : public testing::Test {
protected:
    test::TemporaryFolder folder;
    const std::string path = folder.path() + "/counters.json";
};

TEST_F(CountersOnDisk, OnlyRise) {
    Counters counters(path);
    EXPECT_EQ(counters.take_fence(3), std::nullopt);
    EXPECT_EQ(counters.take_fence(3), std::nullopt);
    EXPECT_EQ(counters.take_fence(2), Code::stale_fence);
    EXPECT_EQ(counters.take_lease(job, 5), std::nullopt);
    EXPECT_EQ(counters.take_lease(job, 4), Code::lease_seq_replay);
    EXPECT_EQ(counters.take_lease(other, 1), std::nullopt);
    EXPECT_EQ(counters.take_budget(job, 2, Micro{100}), std::nullopt);
    EXPECT_EQ(counters.take_budget(job, 2, Micro{100}), std::nullopt);
    EXPECT_EQ(counters.take_budget(job, 2, Micro{200}), Code::budget_funding_mismatch);
    EXPECT_EQ(counters.take_budget(job, 1, Micro{100}), Code::budget_version_older);
    EXPECT_EQ(counters.fence(), 3);
    EXPECT_EQ(counters.job(job)->lease_seq, 5);
    EXPECT_EQ(counters.job(job)->budget_micro, Micro{100});
}

TEST_F(CountersOnDisk, RiseByBoundedSteps) {
    Counters counters(path);
    EXPECT_EQ(counters.take_fence(7), std::nullopt);
    for (const std::int64_t far :
         {7 + fence_step_max + 1, std::numeric_limits<std::int64_t>::max()}) {
        EXPECT_EQ(counters.take_fence(far), Code::conflict);
        EXPECT_EQ(counters.refused_fence(), far);
        EXPECT_EQ(counters.fence(), 7);
    }
    EXPECT_EQ(counters.take_fence(7 + fence_step_max), std::nullopt);
    EXPECT_EQ(counters.refused_fence(), std::nullopt);
    EXPECT_EQ(Counters(path).fence(), 7 + fence_step_max);
}

TEST_F(CountersOnDisk, CanBeGivenTheServersFenceAndKeepTheirJobs) {
    {
        Counters counters(path);
        counters.take_fence(70'000);
        counters.take_lease(job, 5);
    }
    mend_fence(path, 3);
    Counters mended(path);
    EXPECT_EQ(mended.fence(), 3);
    EXPECT_EQ(mended.take_lease(job, 4), Code::lease_seq_replay);
    // A file that nobody can read is written anew.
    std::ofstream(path) << "{";
    EXPECT_THROW(Counters{path}, StateLost);
    mend_fence(path, 9'000'000);
    EXPECT_EQ(Counters(path).fence(), 9'000'000);
}

TEST_F(CountersOnDisk, SurviveARestart) {
    {
        Counters counters(path);
        counters.take_fence(9);
        counters.take_lease(job, 5);
        counters.take_budget(job, 2, Micro{100});
        counters.take_lease(other, 8);
        counters.forget(other);
    }
    Counters again(path);
    EXPECT_EQ(again.take_fence(8), Code::stale_fence);
    EXPECT_EQ(again.take_lease(job, 4), Code::lease_seq_replay);
    EXPECT_EQ(again.take_budget(job, 2, Micro{99}), Code::budget_funding_mismatch);
    EXPECT_FALSE(again.job(other));
}

TEST_F(CountersOnDisk, AreWholeWheneverTheAgentIsKilled) {
    for (int round = 0; round < 10; ++round) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            Counters counters(path);
            for (std::int64_t fence = counters.fence() + 1;; ++fence) {
                counters.take_fence(fence);
                if (::write(ends[1], &fence, sizeof(fence)) < 0) ::_exit(1);
            }
        }
        ::close(ends[1]);
        std::int64_t told = 0;
        for (int i = 0; i <= round; ++i)
            ASSERT_EQ(::read(ends[0], &told, sizeof(told)), static_cast<ssize_t>(sizeof(told)));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ::close(ends[0]);
        EXPECT_GE(Counters(path).fence(), told);
    }
}

TEST_F(CountersOnDisk, ThatAreDamagedStopTheAgent) {
    for (const std::string text : {"", "{", R"({"format":2,"fence":"1","jobs":[]})",
                                   R"({"format":1,"fence":"-1","jobs":[]})"}) {
        std::ofstream(path) << text;
        EXPECT_THROW(Counters{path}, StateLost) << text;
    }
}

TEST_F(CountersOnDisk, ThatCannotBeWrittenStopTheAgent) {
    Counters counters(folder.path() + "/nowhere/counters.json");
    EXPECT_THROW(counters.take_fence(1), StateLost);
}

// A number that found no room on the disk is written when it comes again, and was not known before.
TEST_F(CountersOnDisk, AreNotTakenBeforeTheyAreWritten) {
    const std::string late = folder.path() + "/late";
    Counters counters(late + "/counters.json");
    EXPECT_THROW(counters.take_fence(3), StateLost);
    EXPECT_THROW(counters.take_lease(job, 5), StateLost);
    EXPECT_THROW(counters.take_budget(job, 2, Micro{100}), StateLost);
    EXPECT_EQ(counters.fence(), 0);
    EXPECT_FALSE(counters.job(job));
    std::filesystem::create_directory(late);
    EXPECT_EQ(counters.take_fence(3), std::nullopt);
    EXPECT_EQ(counters.take_lease(job, 5), std::nullopt);
    EXPECT_EQ(counters.take_budget(job, 2, Micro{100}), std::nullopt);
    const Counters again(late + "/counters.json");
    EXPECT_EQ(again.fence(), 3);
    ASSERT_TRUE(again.job(job));
    EXPECT_EQ(again.job(job)->lease_seq, 5);
    EXPECT_EQ(again.job(job)->budget_version, 2);
}

}  // namespace
}  // namespace berth::agent_protocol
