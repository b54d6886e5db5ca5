#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "host_agent_container/host.hpp"

namespace berth::test {

// A job with a way in, and a renter with the clients that renters have.
class SshTest : public ContainerTest {
protected:
    void SetUp() override {
        ContainerTest::SetUp();
        if (IsSkipped()) return;
        keys = folder + "/keys";
        std::filesystem::remove_all(keys);
        std::filesystem::create_directory(keys);
        ::chmod(keys.c_str(), 0700);
        for (const char* name : {"right", "wrong"})
            host_agent::run_tool_or_throw({.arguments = {"ssh-keygen", "-q", "-t", "ed25519", "-N",
                                                         "", "-f", keys + "/" + name}});
        workload = make_workload({"/bin/berth-inside", "wait"});
        workload.limits.pids =
            512;  // sshd runs as the same user of the host, and is counted with it
        workload.ssh_public_key = read_text(keys + "/right.pub");
        workload.ssh_port = free_port();
        workload.secrets["BERTH_API_KEY"] = "given-to-shells-too";
        started = start(workload);
        ASSERT_TRUE(started.ssh_host_key_fingerprint);
    }

    std::vector<std::string> options(const std::string& key) const {
        return {"-F", "none",
                "-i", keys + "/" + key,
                "-o", "IdentitiesOnly=yes",
                "-o", "BatchMode=yes",
                "-o", "StrictHostKeyChecking=accept-new",
                "-o", "UserKnownHostsFile=" + keys + "/known"};
    }
    host_agent::ToolOutcome ssh(std::vector<std::string> words, const std::string& key = "right",
                                const std::string& input = "") const {
        std::vector<std::string> all = {"ssh", "-p", std::to_string(workload.ssh_port)};
        const auto more = options(key);
        all.insert(all.end(), more.begin(), more.end());
        std::vector<std::string> flags;
        while (!words.empty() && words.front().starts_with("-")) {
            all.push_back(words.front());
            words.erase(words.begin());
        }
        all.push_back("renter@127.0.0.1");
        all.insert(all.end(), words.begin(), words.end());
        return host_agent::run_tool({.arguments = all, .input = input});
    }
    host_agent::ToolOutcome files(const std::string& program, std::vector<std::string> words,
                                  const std::string& input = "") const {
        std::vector<std::string> all = {program, "-P", std::to_string(workload.ssh_port)};
        const auto more = options("right");
        all.insert(all.end(), more.begin(), more.end());
        all.insert(all.end(), words.begin(), words.end());
        return host_agent::run_tool({.arguments = all, .input = input});
    }

    // A client that goes on until it is ended.
    std::unique_ptr<Process> client(const std::vector<std::string>& flags,
                                    const std::vector<std::string>& words = {}) const {
        std::vector<std::string> all = {"/usr/bin/ssh", "-p", std::to_string(workload.ssh_port)};
        const auto more = options("right");
        all.insert(all.end(), more.begin(), more.end());
        all.insert(all.end(), flags.begin(), flags.end());
        all.push_back("renter@127.0.0.1");
        all.insert(all.end(), words.begin(), words.end());
        return std::make_unique<Process>(all, keys + "/client.log");
    }

    std::string keys;
    host_agent::Workload workload;
    host_agent::Started started;
};

}  // namespace berth::test
