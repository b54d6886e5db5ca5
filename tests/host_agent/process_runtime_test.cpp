// Engines of the host as processes.
#include "host_agent/runtimes/process_runtime.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/random.hpp"
#include "host_agent/runtimes/child_program.hpp"
#include "host_agent/runtimes/container_profile.hpp"
#include "host_agent/runtimes/shim.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::host_agent {
namespace {

// What berth-inside printed once it has ended.
InsideFacts facts_of(ProcessRuntime& runtime, const Workload& workload) {
    EXPECT_TRUE(
        support::eventually([&] { return runtime.look(workload).status == Look::Status::exited; }));
    return read_inside(runtime.log_tail(workload, 65536));
}

void expect_filtered(InsideFacts facts) {
    EXPECT_EQ(facts["Seccomp"], "2");
    EXPECT_EQ(facts["NoNewPrivs"], "1");
    for (const char* attempt :
         {"unshare_user", "unshare_mount", "clone_user", "mount", "message_queue", "kernel_key",
          "bpf", "userfault", "kexec", "module", "trace", "perf"})
        EXPECT_EQ(facts[attempt], "EPERM") << attempt;
    EXPECT_EQ(facts["io_uring"], "ENOSYS");
    for (const char* attempt : {"packet_socket", "vsock_socket", "cipher_socket"})
        EXPECT_EQ(facts[attempt], "EAFNOSUPPORT") << attempt;
}

class ProcessFilter : public testing::Test {
protected:
    ProcessFilter() {
        setup.jobs_folder = folder.path();
        setup.program = test::program_path("berth-agent");
        std::filesystem::create_directory(programs);
        std::filesystem::copy(test::program_path("berth-inside"), programs + "/looker");
        setup.engines.engines = {{"looker", programs + "/looker", {"profile"}, {}, {}}};
        workload.job = JobId::make(SystemClock().now(), random);
        workload.engine = "looker";
        workload.folder = folder.path() + "/" + to_string(workload.job);
        std::filesystem::create_directories(workload.folder + "/notice");
    }
    test::TemporaryFolder folder;
    const std::string programs = folder.path() + "/bin";
    SystemRandom random;
    ProcessRuntime::Setup setup;
    Workload workload;
};

TEST_F(ProcessFilter, HoldsAnEngineInBubblewrap) {
    if (::access("/usr/bin/bwrap", X_OK) != 0) GTEST_SKIP() << "bubblewrap is not installed";
    ProcessRuntime runtime(setup);
    runtime.start(workload);
    expect_filtered(facts_of(runtime, workload));
    runtime.clean(workload);
}

TEST_F(ProcessFilter, HoldsAnEngineWithoutIt) {
    Launch launch;
    launch.folder = workload.folder;
    launch.command = {programs + "/looker", "profile"};
    ASSERT_EQ(run_program({setup.program, "shim"}, wire::encode(launch)).output, "started");
    ProcessRuntime runtime(setup);
    expect_filtered(facts_of(runtime, workload));
}

TEST_F(ProcessFilter, NothingOfATemplateSteersTheProgramsThatStartItsEngine) {
    setup.engines.engines = {{"looker",
                              "/usr/bin/env",
                              {},
                              {},
                              std::map<std::string, std::string>{{"LD_LIBRARY_PATH", "/owners"}}}};
    workload.environment = {{"MODEL_ID", "acme/model"}, {"LD_LIBRARY_PATH", "/evil"},
                            {"LD_DEBUG", "all"},        {"GLIBC_TUNABLES", "glibc.evil=1"},
                            {"GCONV_PATH", "/evil"},    {"PATH", "/evil"}};
    ProcessRuntime runtime(setup);
    runtime.start(workload);
    facts_of(runtime, workload);
    const std::string said = runtime.log_tail(workload, 65536);
    EXPECT_NE(said.find("MODEL_ID=acme/model\n"), std::string::npos) << said;
    EXPECT_NE(said.find("LD_LIBRARY_PATH=/owners\n"), std::string::npos) << said;
    EXPECT_EQ(said.find("evil"), std::string::npos) << said;
    EXPECT_EQ(said.find("LD_DEBUG"), std::string::npos) << said;
    runtime.clean(workload);
}

// A listener that the agent forgot to close in its children, at a number that nothing else has.
class LeftOpen {
public:
    LeftOpen() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        EXPECT_EQ(::dup2(listener_, number), number);
    }
    ~LeftOpen() {
        ::close(number);
        ::close(listener_);
    }
    LeftOpen(const LeftOpen&) = delete;
    LeftOpen& operator=(const LeftOpen&) = delete;

    static constexpr int number = 77;

private:
    int listener_;
};

TEST_F(ProcessFilter, NothingThatTheAgentHasOpenReachesAnEngineOrItsKeeper) {
    const LeftOpen left_open;
    setup.engines.engines = {
        {"looker", "/usr/bin/sh", {"-c", "echo fd: /proc/self/fd/*; sleep 1000"}, {}, {}}};
    ProcessRuntime runtime(setup);
    runtime.start(workload);
    EXPECT_TRUE(support::eventually(
        [&] { return runtime.log_tail(workload, 65536).find("fd: ") != std::string::npos; }));
    const std::string seen = runtime.log_tail(workload, 65536);
    EXPECT_NE(seen.find("/proc/self/fd/2"), std::string::npos) << seen;
    EXPECT_EQ(seen.find(fmt::format("/proc/self/fd/{}", LeftOpen::number)), std::string::npos)
        << seen;
    const auto keeper =
        wire::decode<ProcessName>(test::read_text(workload.folder + "/process.json"), "file");
    EXPECT_TRUE(std::filesystem::exists(fmt::format("/proc/{}/fd", keeper.pid.value)));
    EXPECT_FALSE(
        std::filesystem::exists(fmt::format("/proc/{}/fd/{}", keeper.pid.value, LeftOpen::number)))
        << "the next agent would find its port taken";
    runtime.clean(workload);
}

TEST_F(ProcessFilter, WhatOnlyContainersCanDoIsRefusedBeforeAnythingIsBegun) {
    ProcessRuntime runtime(setup);
    EXPECT_EQ(runtime.refusal(workload), std::nullopt);
    Workload shell = workload;
    shell.ssh_public_key = "ssh-ed25519 AAAA me";
    EXPECT_EQ(runtime.refusal(shell), "This host gives no SSH.");
    Workload image = workload;
    image.kind = JobKind::custom;
    EXPECT_EQ(runtime.refusal(image), "This host runs models only, and no images.");
    Workload unknown = workload;
    unknown.engine = "tgi";
    EXPECT_EQ(runtime.refusal(unknown), "This host has no engine 'tgi'.");
    EXPECT_FALSE(std::filesystem::exists(workload.folder + "/work"));
}

TEST_F(ProcessFilter, TheEndOfAnEngineIsKnownHoweverLateItIsSeen) {
    ProcessRuntime runtime(setup);
    runtime.start(workload);
    facts_of(runtime, workload);
    const auto since = std::chrono::steady_clock::now();
    std::optional<Duration> ended_ago;
    EXPECT_TRUE(support::eventually([&] {
        ended_ago = ProcessRuntime(setup).look(workload).ended_ago;
        return ended_ago && *ended_ago > std::chrono::milliseconds(300);
    }));
    EXPECT_LT(ended_ago.value_or(Duration{}),
              std::chrono::steady_clock::now() - since + std::chrono::minutes(2));
    // An earlier version did not write it down.
    std::ofstream(workload.folder + "/exit.json") << R"({"exit_code":1,"out_of_memory":false})";
    EXPECT_EQ(runtime.look(workload).exit_code, 1);
    EXPECT_FALSE(runtime.look(workload).ended_ago);
    runtime.clean(workload);
}

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
}  // namespace berth::host_agent
