// The launch profile, each line of it as a workload finds it.
#include "host_agent/runtimes/container_profile.hpp"
#include "host_agent_container/host.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using ProfileTest = ContainerTest;

TEST_F(ProfileTest, EveryLineHoldsFromInside) {
    auto workload = make_workload({"/bin/berth-inside", "profile"});
    start(workload);
    const host_agent::Look look = wait_for_exit(workload);
    EXPECT_EQ(look.exit_code, 0);
    const std::string printed = runtime->log_tail(workload, 65536);
    host_agent::InsideFacts facts = host_agent::read_inside(printed);
    const std::map<std::string, std::string> expected = {
        {"uid", "10001"},
        {"gid", "10001"},
        {"groups", "10001 "},
        {"CapInh", "0000000000000000"},
        {"CapPrm", "0000000000000000"},
        {"CapEff", "0000000000000000"},
        {"CapBnd", "0000000000000000"},
        {"CapAmb", "0000000000000000"},
        {"NoNewPrivs", "1"},
        {"Seccomp", "2"},
        {"writable", "/tmp,/work,/dev/shm"},
        {"tmp_bytes", std::to_string(32 * mebibyte)},
        {"shm_bytes", std::to_string(32 * mebibyte)},
        {"locale", "C.UTF-8"},
        {"unshare_user", "EPERM"},
        {"unshare_mount", "EPERM"},
        {"clone_user", "ENOSYS"},
        {"mount", "EPERM"},
        {"setuid_root", "EPERM"},
        {"message_queue", "EPERM"},
        {"kernel_key", "EPERM"},
        {"bpf", "EPERM"},
        {"userfault", "EPERM"},
        {"kexec", "ENOSYS"},
        {"module", "ENOSYS"},
        {"io_uring", "ENOSYS"},
        {"perf", "EPERM"},
        {"raw_socket", "EPERM"},
        {"packet_socket", "ENOSYS"},
        {"vsock_socket", "ENOSYS"},
        {"cipher_socket", "ENOSYS"},
        {"device_node", "EPERM"},
        {"core_bytes", "0"},
        {"pids_max", "64"},
        {"memory_max", std::to_string(64 * mebibyte)},
        {"cpu_quota_us", "100000"},
        {"first_process", "own"},
        {"interfaces", "lo,eth0"}};
    for (const auto& [name, value] : expected) EXPECT_EQ(facts[name], value) << name;
    EXPECT_EQ(host_agent::broken_profile(facts, workload.limits), std::vector<std::string>{});
    EXPECT_LE(std::stoll(facts["work_bytes"]), workload.limits.work_bytes);
    EXPECT_GE(std::stoll(facts["work_bytes"]), workload.limits.work_bytes * 7 / 10);
}

TEST_F(ProfileTest, TheMachineTestSeesItWithoutAnImage) {
    const auto asserted = runtime->assert_profile({});
    ASSERT_TRUE(asserted);
    EXPECT_TRUE(asserted->holds) << asserted->summary;
    EXPECT_EQ(runtime->present(), std::vector<JobId>{});
}

// Python's multiprocessing, PyTorch's workers and NCCL need both; what they take is the job's own.
TEST_F(ProfileTest, SharedMemoryAndTemporaryFilesArePartsOfTheJobsMemory) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    for (const char* file : {"/dev/shm/large", "/tmp/large"})
        EXPECT_EQ(host_agent::read_inside(inside(started, {"fill", file}))["filled"],
                  std::to_string(32 * mebibyte))
            << file;
    // Both full are more than the job may have: it is ended, and nothing else of the host.
    auto greedy = make_workload(
        {"/bin/sh", "-c",
         "head -c 30000000 /dev/zero > /tmp/a; head -c 30000000 /dev/zero > /dev/shm/b; "
         "exec /bin/berth-inside eat 16000000"});
    start(greedy);
    const host_agent::Look look = wait_for_exit(greedy);
    EXPECT_EQ(look.exit_code, 137);
    EXPECT_TRUE(look.out_of_memory);
    EXPECT_EQ(runtime->look(workload).status, host_agent::Look::Status::running);
}

TEST(BrokenProfileTest, SaysWhatDoesNotHold) {
    const host_agent::Limits limits{.memory_bytes = 1, .cpus = 1, .pids = 2, .work_bytes = 3};
    const auto broken = host_agent::broken_profile(
        host_agent::read_inside("uid 0\nwritable /work,/etc\nunshare_user allowed\n"), limits);
    const auto says = [&](const std::string& sentence) {
        return std::find(broken.begin(), broken.end(), sentence) != broken.end();
    };
    EXPECT_TRUE(says("uid is 0, not 10001"));
    EXPECT_TRUE(says("writable is /work,/etc, not /tmp,/work,/dev/shm"));
    EXPECT_TRUE(says("unshare_user is allowed"));
    EXPECT_TRUE(says("mount is unknown"));
    EXPECT_TRUE(says("memory_max is unknown, not 1"));
}

TEST_F(ProfileTest, ProcessesAndDiskEndWhereTheLimitsSay) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const auto forked = host_agent::read_inside(inside(started, {"fork", "200"}))["forked"];
    EXPECT_GT(std::stoi(forked), 32);
    EXPECT_LT(std::stoi(forked), 64);
    const auto filled = host_agent::read_inside(inside(started, {"fill", "/work/large"}))["filled"];
    EXPECT_GT(std::stoll(filled), 16 * mebibyte);
    EXPECT_LT(std::stoll(filled), 32 * mebibyte);
}

TEST_F(ProfileTest, SecretsReachTheWorkloadAndStandNowhereElse) {
    auto workload = make_workload({"/bin/sh", "-c", "echo got=$BERTH_API_KEY; sleep 100"});
    workload.environment["PLAIN"] = "yes";
    workload.secrets["BERTH_API_KEY"] = "tr0ub4dor-and-three";
    start(workload);
    // What it prints is hidden in the tail, so the file is asked.
    EXPECT_TRUE(support::eventually([&] {
        return read_text(workload.folder + "/log").find("got=tr0ub4dor") != std::string::npos;
    }));
    EXPECT_EQ(runtime->log_tail(workload, 8192), "got=…\n");
    const auto holding =
        host_agent::run_tool({.arguments = {"grep", "-rl", "tr0ub4dor", folder,
                                            "--exclude=config.json", "--exclude=log"}});
    EXPECT_EQ(holding.output, "");
    runtime->clean(workload);
    EXPECT_EQ(host_agent::run_tool({.arguments = {"grep", "-rl", "tr0ub4dor", folder}}).output, "");
}

}  // namespace
}  // namespace berth::test
