// Engines of the host as processes.
#include "agent/process_runtime.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/random.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::agent {
namespace {

TEST(ProcessRuntime, AnEngineThatNeedsMoreMemoryThanItMayIsEndedAndThatIsTold) {
    if (::access("/sys/fs/cgroup/memory", W_OK) != 0 &&
        ::access("/sys/fs/cgroup/memory.max", W_OK) != 0 && ::geteuid() != 0)
        GTEST_SKIP() << "no cgroup can be made here";
    test::TemporaryFolder folder;
    SystemRandom random;
    constexpr std::int64_t mebibyte = 1024 * 1024;
    ProcessRuntime::Setup setup;
    setup.jobs_folder = folder.path();
    setup.program = test::program_path("berth-agent");
    const std::string programs = folder.path() + "/bin";
    std::filesystem::create_directory(programs);
    std::filesystem::copy(test::program_path("berth-inside"), programs + "/eater");
    setup.engines.engines = {
        {"eater", programs + "/eater", {"eat", std::to_string(256 * mebibyte)}, {}, {}}};
    ProcessRuntime runtime(setup);
    Workload workload;
    workload.job = JobId::make(SystemClock().now(), random);
    workload.engine = "eater";
    workload.folder = folder.path() + "/" + to_string(workload.job);
    workload.limits.memory_bytes = 64 * mebibyte;
    std::filesystem::create_directories(workload.folder + "/notice");
    runtime.start(workload);
    Look look;
    ASSERT_TRUE(support::eventually([&] {
        look = runtime.look(workload);
        return look.status == Look::Status::exited;
    })) << runtime.log_tail(workload, 1000);
    EXPECT_TRUE(look.out_of_memory) << runtime.log_tail(workload, 1000);
    EXPECT_EQ(look.exit_code, 137);
    runtime.clean(workload);
    EXPECT_FALSE(std::filesystem::exists("/sys/fs/cgroup/memory/berth-" + to_string(workload.job)));
    EXPECT_FALSE(std::filesystem::exists("/sys/fs/cgroup/berth-" + to_string(workload.job)));
}

}  // namespace
}  // namespace berth::agent
