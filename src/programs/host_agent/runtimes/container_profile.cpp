#include "host_agent/runtimes/container_profile.hpp"

#include <fmt/format.h>

#include <sstream>

#include "host_agent/runtimes/container_launch.hpp"

namespace berth::host_agent {

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
    const auto value = [&](const std::string& name) {
        const auto found = facts.find(name);
        return found == facts.end() ? std::string("unknown") : found->second;
    };
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
    must_be("writable", "/work");
    for (const char* option : {"rw", "nosuid", "nodev"}) must_have("mount:/work", option);
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

}  // namespace berth::host_agent
