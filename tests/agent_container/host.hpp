// A host for containers in a test: a registry on loopback with a small image in it, a runtime with
// folders of its own, and a job that the test fills in. Everything that a test made is gone after
// it, but the image, which the tests of a program share.
#pragma once

#include <gtest/gtest.h>

#include "agent/container.hpp"
#include "agent/container_tool.hpp"
#include "agent_container/registry.hpp"
#include "base/random.hpp"
#include "support/process.hpp"

namespace berth::test {

class ContainerTest : public testing::Test {
public:
    static void TearDownTestSuite();

protected:
    void SetUp() override;
    void TearDown() override;

    agent::Workload make_workload(std::vector<std::string> arguments);
    // A runtime as a new agent would have it.
    std::unique_ptr<agent::PodmanRuntime> make_runtime() const;
    agent::Started start(const agent::Workload& workload);
    void pull(const agent::Workload& workload);
    agent::Look wait_for_exit(const agent::Workload& workload);
    bool log_has(const agent::Workload& workload, const std::string& text);
    // What berth-inside prints when it is run beside the workload, as a shell of the renter would.
    std::string inside(const agent::Started& started, std::vector<std::string> words);
    // What is left of a job on the host: mounts, loop devices, tables, networks, containers.
    std::string leftovers(const agent::Workload& workload) const;
    // Soon: whoever took a copy of the mounts meanwhile, as another test's `unshare --mount` does,
    // keeps a loop device for as long.
    void expect_nothing_left(const agent::Workload& workload) const;

    SystemRandom random;
    static std::string folder;
    static std::string run;
    std::unique_ptr<agent::PodmanRuntime> runtime;
    std::vector<agent::Workload> made;
};

constexpr std::int64_t mebibyte = 1024 * 1024;

}  // namespace berth::test
