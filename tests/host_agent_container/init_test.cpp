// What is started in a container, and what its first process does where SSH is all that a job
// gives.
#include "host_agent/runtimes/volume.hpp"
#include "host_agent_container/host.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using host_agent::Look;

class InitTest : public ContainerTest {
protected:
    host_agent::Workload make_shell(std::vector<std::string> arguments) {
        auto workload = make_workload(std::move(arguments));
        workload.has_init = true;
        return workload;
    }
    static std::string in_container(const host_agent::Started& started, const std::string& script) {
        return host_agent::run_tool(
                   {.arguments = {"runc", "exec", started.container_id, "/bin/sh", "-c", script}})
            .output;
    }
};

TEST_F(InitTest, ACommandReplacesWhatTheImageStarts) {
    auto workload = make_workload({});
    workload.engine = "vllm";
    workload.environment = {{"MODEL_ID", "acme/model"}};
    workload.serves = {{"openai", 8000, free_port()}};
    workload.command = {"/bin/sh", "-c", "echo $0 $1", "given", "--as-is"};
    start(workload);
    EXPECT_EQ(wait_for_exit(workload).exit_code, 0);
    EXPECT_EQ(runtime->log_tail(workload, 8192), "given --as-is\n");
}

// As `docker run -d` of an image whose program is a shell does.
TEST_F(InitTest, AShellThatFindsNoTerminalDoesNotEndARentalBySsh) {
    auto workload = make_shell({"/bin/sh"});
    const host_agent::Started started = start(workload);
    ASSERT_TRUE(log_has(workload, "ended at once"));
    EXPECT_EQ(runtime->look(workload).status, Look::Status::running);
    EXPECT_EQ(in_container(started, "cat /proc/1/comm; id -u"), "podman-init\n10001\n");
    // What loses its parent there is not left as a zombie.
    in_container(started, "(sleep 0.1 &) ; exit 0");
    EXPECT_TRUE(support::eventually([&] {
        return in_container(started, "busybox grep -l '^State:.*zombie' /proc/[0-9]*/status")
            .empty();
    }));
    runtime->stop(workload, std::chrono::seconds(30));
    EXPECT_EQ(runtime->look(workload).status, Look::Status::exited);
    EXPECT_EQ(runtime->look(workload).exit_code, 0);
}

TEST_F(InitTest, WhatEndsWithAFaultEndsTheRental) {
    auto workload = make_shell({"/bin/sh", "-c", "echo broken; exit 3"});
    start(workload);
    EXPECT_EQ(wait_for_exit(workload).exit_code, 3);
    EXPECT_TRUE(log_has(workload, "broken"));
    auto missing = make_shell({"/bin/no-such-program"});
    start(missing);
    EXPECT_EQ(wait_for_exit(missing).exit_code, 127);
    EXPECT_TRUE(log_has(missing, "/bin/no-such-program: No such file"));
}

TEST_F(InitTest, AStopReachesTheProgramAndThoseWhoCameBySsh) {
    auto workload = make_shell(
        {"/bin/sh", "-c",
         "trap 'echo program heard; exit 5' TERM; echo up; while :; do sleep 0.1; done"});
    const host_agent::Started started = start(workload);
    ASSERT_TRUE(log_has(workload, "up"));
    const Process session({"/usr/sbin/runc", "exec", started.container_id, "/bin/sh", "-c",
                           "trap 'echo heard > /work/heard; exit' TERM; echo > /work/there; "
                           "while :; do sleep 0.1; done"},
                          "/dev/null");
    ASSERT_TRUE(support::eventually(
        [&] { return in_container(started, "ls /work").find("there") != std::string::npos; }));
    runtime->stop(workload, std::chrono::seconds(30));
    EXPECT_EQ(runtime->look(workload).exit_code, 5);
    EXPECT_TRUE(log_has(workload, "program heard"));
    EXPECT_EQ(read_text(host_agent::Volume(workload.folder).path() + "/heard"), "heard\n");
}

}  // namespace
}  // namespace berth::test
