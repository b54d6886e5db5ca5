#include "host_agent/runtimes/container_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "host_agent/runtimes/container_launch.hpp"

namespace berth::host_agent {
namespace {

std::string fact(const InsideFacts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("unknown") : found->second;
}

std::set<std::string> listed(const std::string& text) {
    std::set<std::string> all;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');)
        if (!word.empty()) all.insert(word);
    return all;
}

}  // namespace

InsideFacts read_inside(const std::string& printed) {
    InsideFacts facts;
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space != std::string::npos) facts[line.substr(0, space)] = line.substr(space + 1);
    }
    return facts;
}

std::vector<std::string> broken_profile(const InsideFacts& facts, const Limits& limits) {
    std::vector<std::string> broken;
    const auto value = [&](const std::string& name) { return fact(facts, name); };
    const auto must_be = [&](const std::string& name, const std::string& wanted) {
        if (value(name) != wanted)
            broken.push_back(fmt::format("{} is {}, not {}", name, value(name), wanted));
    };
    const auto must_have = [&](const std::string& name, const std::string& wanted) {
        if (fmt::format(",{},", value(name)).find("," + wanted + ",") == std::string::npos)
            broken.push_back(fmt::format("{} is {} without {}", name, value(name), wanted));
    };
    must_be("uid", std::to_string(workload_user));
    must_be("gid", std::to_string(workload_user));
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
        must_be(set, "0000000000000000");
    must_be("NoNewPrivs", "1");
    must_be("Seccomp", "2");
    must_be("writable", "/tmp,/work,/dev/shm");
    for (const char* mount : {"mount:/work", "mount:/tmp", "mount:/dev/shm"})
        for (const char* option : {"rw", "nosuid", "nodev"}) must_have(mount, option);
    for (const char* memory : {"tmp_bytes", "shm_bytes"})
        must_be(memory, std::to_string(limits.memory_bytes / 2));
    for (const char* mount : {"mount:/cache", "mount:/work/.berth"})
        for (const char* option : {"ro", "nosuid", "nodev", "noexec"}) must_have(mount, option);
    for (const char* attempt :
         {"unshare_user", "unshare_mount", "clone_user", "mount", "setuid_root", "message_queue",
          "kernel_key", "bpf", "userfault", "kexec", "module", "io_uring", "perf", "raw_socket",
          "packet_socket", "vsock_socket", "cipher_socket", "device_node"})
        if (value(attempt) == "allowed" || value(attempt) == "unknown")
            broken.push_back(fmt::format("{} is {}", attempt, value(attempt)));
    must_be("core_bytes", "0");
    must_be("pids_max", std::to_string(limits.pids));
    must_be("memory_max", std::to_string(limits.memory_bytes));
    if (value("cpu_quota_us") == "-1" || value("cpu_quota_us") == "unknown")
        broken.emplace_back("the processors are not limited");
    must_be("first_process", "own");
    must_be("interfaces", "lo,eth0");
    return broken;
}

std::vector<std::string> broken_promises(const InsideFacts& facts,
                                         const Runtime::ProfileQuestion& question) {
    std::vector<std::string> broken;
    const std::string name = fact(facts, "resolve");
    const bool has_address = question.name != Runtime::ProfileQuestion{}.name;
    if (name != "found" && (has_address || name != "answered"))
        broken.push_back(fmt::format("a job cannot look up names: {} for {}", name, question.name));
    if (!question.address.empty() && fact(facts, "connect") != "allowed")
        broken.push_back(fmt::format("a job cannot connect to {}:{}: {}", question.address,
                                     question.port, fact(facts, "connect")));
    if (question.gpus.empty()) return broken;
    if (fact(facts, "nvml") != "ready") {
        broken.push_back("the driver's library in a container: " + fact(facts, "nvml"));
        return broken;
    }
    if (question.driver_version && fact(facts, "driver") != *question.driver_version)
        broken.push_back(fmt::format("the driver in a container is {}, and the host's is {}",
                                     fact(facts, "driver"), *question.driver_version));
    std::set<std::string> wanted;
    for (const GpuName& gpu : question.gpus) wanted.insert(gpu.uuid);
    if (listed(fact(facts, "cards")) != wanted)
        broken.push_back(fmt::format("a container has other cards than the host offers: {}",
                                     fact(facts, "cards")));
    if (fact(facts, "mig") != "none")
        broken.push_back(
            fmt::format("MIG is on for {}, and parts of cards are not rented out: "
                        "nvidia-smi -mig 0 turns it off",
                        fact(facts, "mig")));
    return broken;
}

}  // namespace berth::host_agent
