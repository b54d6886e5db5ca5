// A host for containers in a test: a registry on loopback with a small image in it, a runtime with
// folders of its own, and a job that the test fills in. Everything that a test made is gone after
// it, but the image, which the tests of a program share. Files are made as the packaged service
// makes them: for root alone, unless they are said to be for others.
#pragma once

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/runtimes/container.hpp"
#include "host_agent_container/registry.hpp"
#include "support/process.hpp"

namespace berth::test {

class ContainerTest : public testing::Test {
public:
    static void TearDownTestSuite();

protected:
    void SetUp() override;
    void TearDown() override;

    host_agent::Workload make_workload(std::vector<std::string> arguments);
    // A runtime as a new agent would have it.
    std::unique_ptr<host_agent::PodmanRuntime> make_runtime() const;
    host_agent::Started start(const host_agent::Workload& workload);
    void pull(const host_agent::Workload& workload);
    host_agent::Look wait_for_exit(const host_agent::Workload& workload);
    bool log_has(const host_agent::Workload& workload, const std::string& text);
    // What berth-inside prints when it is run beside the workload, as a shell of the renter would.
    std::string inside(const host_agent::Started& started, std::vector<std::string> words);
    // What is left of a job on the host: mounts, loop devices, tables, networks, containers.
    std::string leftovers(const host_agent::Workload& workload) const;
    // Soon: whoever took a copy of the mounts meanwhile, as another test's `unshare --mount` does,
    // keeps a loop device for as long.
    void expect_nothing_left(const host_agent::Workload& workload) const;

    SystemRandom random;
    std::string registries;   // as --allow-registry has them; the tests' own by default
    std::string driver_root;  // of a driver that is not there
    std::string ssh_address = "127.0.0.1";
    std::int64_t store_bytes = std::int64_t{1} << 48;
    std::int64_t floor_bytes = 0;
    host_agent::Hub hub;  // of weights
    static std::string folder;
    static std::string run;
    std::unique_ptr<host_agent::PodmanRuntime> runtime;
    std::vector<host_agent::Workload> made;
};

constexpr std::int64_t mebibyte = 1024 * 1024;

}  // namespace berth::test
