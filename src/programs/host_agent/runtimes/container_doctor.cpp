// What a host lacks before it can run containers, and whether they are as they should be.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "base/random.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/runtimes/container.hpp"
#include "host_agent/runtimes/container_profile.hpp"

namespace berth::host_agent {
namespace {

struct Needed {
    const char* program;
    const char* package;
};
constexpr std::array<Needed, 10> needed = {{{"podman", "podman"},
                                            {"runc", "runc"},
                                            {"nft", "nftables"},
                                            {"iptables", "iptables"},
                                            {"ip", "iproute2"},
                                            {"mkfs.ext4", "e2fsprogs"},
                                            {"sshd", "openssh-server"},
                                            {"ssh-keygen", "openssh-client"},
                                            {"bwrap", "bubblewrap"},
                                            {"setpriv", "util-linux"}}};

constexpr std::int64_t mebibyte = 1024 * 1024;
constexpr auto profile_max = std::chrono::seconds(30);
constexpr auto ask_every = std::chrono::milliseconds(20);

bool has_gpu_specification() {
    for (const char* folder : {"/etc/cdi", "/var/run/cdi"}) {
        std::error_code ignored;
        for (const auto& file : std::filesystem::directory_iterator(folder, ignored))
            if (file.path().filename().string().find("nvidia") != std::string::npos) return true;
    }
    return false;
}

}  // namespace

std::vector<std::string> PodmanRuntime::troubles() {
    std::vector<std::string> all;
    if (::geteuid() != 0) all.emplace_back("berth-agent must run as root to start containers");
    for (const Needed& each : needed)
        if (!has_tool(each.program))
            all.push_back(
                fmt::format("{} is missing: install the package {}", each.program, each.package));
    for (const char* part : {"netavark", "aardvark-dns"})
        if (!std::filesystem::exists(std::string("/usr/lib/podman/") + part))
            all.push_back(fmt::format("podman's {0} is missing: install the package {0}", part));
    if (!std::filesystem::exists(options_.inside_program))
        all.push_back(
            fmt::format("{} is missing: install berth-agent again", options_.inside_program));
    if (!std::filesystem::exists("/dev/loop-control"))
        all.emplace_back("there are no loop devices: modprobe loop");
    if (std::filesystem::exists("/dev/nvidiactl") && !has_gpu_specification())
        all.emplace_back(
            "podman does not know the GPUs: nvidia-ctk cdi generate "
            "--device-name-strategy=uuid --output=/etc/cdi/nvidia.yaml");
    return all;
}

// A job like any other, whose program looks around; it needs no image and no network.
std::optional<Runtime::Asserted> PodmanRuntime::assert_profile() {
    SystemRandom random;
    Workload workload;
    workload.job = JobId::make(SystemClock().now(), random);
    workload.folder = profile_folder() + to_string(workload.job);
    workload.image = workload.folder + "/root";
    workload.arguments = {"/berth-inside", "profile"};
    workload.limits = {
        .memory_bytes = 256 * mebibyte, .cpus = 1, .pids = 64, .work_bytes = 16 * mebibyte};
    Asserted out;
    out.remedy = "berth-agent doctor tells what to mend; then ask for the test again";
    try {
        for (const char* folder : {"", "/notice", "/root", "/root/work", "/root/cache", "/root/etc",
                                   "/root/run", "/root/dev", "/root/proc", "/root/sys"})
            std::filesystem::create_directory(workload.folder + folder);
        std::filesystem::copy_file(options_.inside_program, workload.image + "/berth-inside");
        ::chmod((workload.image + "/berth-inside").c_str(), 0755);
        ::chmod(workload.image.c_str(), 0755);
        start(workload);
        const auto until = std::chrono::steady_clock::now() + profile_max;
        while (look(workload).status == Look::Status::running &&
               std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(ask_every);
        const auto broken =
            broken_profile(read_inside(log_tail(workload, 64 * 1024)), workload.limits);
        out.holds = broken.empty();
        out.summary = broken.empty() ? "every line of the launch profile holds from inside"
                                     : fmt::format("{}", fmt::join(broken, "; "));
        if (out.holds) out.remedy.clear();
    } catch (const std::exception& error) {
        out.summary = error.what();
    }
    clean(workload);
    std::filesystem::remove_all(workload.folder);
    return out;
}

}  // namespace berth::host_agent
