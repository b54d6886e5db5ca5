// What a host lacks before it can run containers, and whether they are as they should be.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
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

std::string kept_sentence(const Runtime::ProfileQuestion& question) {
    std::string text = "every line of the launch profile holds from inside; names are found";
    if (!question.address.empty()) text += ", and the server is reached";
    if (!question.gpus.empty())
        text += fmt::format("; {} of the host's cards are there, with driver {}",
                            question.gpus.size(), question.driver_version.value_or("unknown"));
    return text;
}

// What the small program that asks for the cards needs to be started: the C library of the host, as
// we have it ourselves, at its own place. The others are there where a driver wants them.
void copy_libraries(const std::string& root) {
    const std::string folder = folder_of_loaded(read_host_file("/proc/self/maps"), "/libc.so.6");
    if (folder.empty()) throw std::runtime_error("the C library of the host is not found");
    const auto copy = [&](const std::string& file) {
        if (!std::filesystem::exists(file)) return;
        const std::string to = root + file;
        std::filesystem::create_directories(std::filesystem::path(to).parent_path());
        std::filesystem::copy_file(file, to, std::filesystem::copy_options::overwrite_existing);
    };
    for (const char* name : {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                             "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6"})
        copy(folder + "/" + name);
    for (const char* loader : {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"})
        copy(loader);
}

// A root of its own: folders for what is mounted, and our programs.
void make_profile_root(const std::string& root, const std::string& inside_program, bool has_cards) {
    for (const char* folder :
         {"", "/work", "/cache", "/etc", "/run", "/dev", "/proc", "/sys", "/tmp"})
        std::filesystem::create_directory(root + folder);
    const auto add = [&](const std::string& from, const std::string& to) {
        std::filesystem::copy_file(from, root + to);
        ::chmod((root + to).c_str(), 0755);
    };
    add(inside_program, "/berth-inside");
    if (has_cards) {
        add(inside_program + "-cards", "/berth-inside-cards");
        copy_libraries(root);
    }
    // The workload's user goes through them, whatever the agent's umask is.
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
        if (entry.is_directory()) ::chmod(entry.path().c_str(), 0755);
    ::chmod(root.c_str(), 0755);
}

constexpr std::array<const char*, 2> podman_parts = {"netavark", "aardvark-dns"};
bool has_part(const char* part) {
    return std::filesystem::exists(std::string("/usr/lib/podman/") + part);
}

}  // namespace

std::vector<std::string> missing_packages() {
    std::vector<std::string> packages;
    for (const Needed& each : needed)
        if (!has_tool(each.program)) packages.emplace_back(each.package);
    for (const char* part : podman_parts)
        if (!has_part(part)) packages.emplace_back(part);
    return packages;
}

std::vector<std::string> PodmanRuntime::troubles() {
    std::vector<std::string> all;
    if (::geteuid() != 0) all.emplace_back("berth-agent must run as root to start containers");
    for (const Needed& each : needed)
        if (!has_tool(each.program))
            all.push_back(
                fmt::format("{} is missing: install the package {}", each.program, each.package));
    for (const char* part : podman_parts)
        if (!has_part(part))
            all.push_back(fmt::format("podman's {0} is missing: install the package {0}", part));
    if (!std::filesystem::exists(options_.inside_program))
        all.push_back(
            fmt::format("{} is missing: install berth-agent again", options_.inside_program));
    if (!std::filesystem::exists("/dev/loop-control"))
        all.emplace_back("there are no loop devices: modprobe loop");
    if (!options_.is_simulated) cards_.make_nodes();
    if (const std::string trouble = obstacle(); !trouble.empty()) all.push_back(trouble);
    return all;
}

// Of a host with NVIDIA's driver, or what is left of one. Heartbeats wait for it, so that it only
// looks.
std::string PodmanRuntime::obstacle() {
    const bool has_driver =
        std::filesystem::exists("/dev/nvidiactl") || !options_.driver_root.empty();
    return has_driver && !options_.is_simulated ? cards_.trouble() : std::string();
}

// A job like any other, with every card and the network of a job, whose program looks around; it
// needs no image.
std::optional<Runtime::Asserted> PodmanRuntime::assert_profile(const ProfileQuestion& question) {
    SystemRandom random;
    Workload workload;
    workload.job = JobId::make(SystemClock().now(), random);
    workload.folder = profile_folder() + to_string(workload.job);
    workload.image = workload.folder + "/root";
    workload.arguments = {"/berth-inside", "look", question.name,
                          question.address.empty() ? "-" : question.address,
                          std::to_string(question.port)};
    workload.limits = {
        .memory_bytes = 256 * mebibyte, .cpus = 1, .pids = 64, .work_bytes = 16 * mebibyte};
    workload.gpus = question.gpus;
    Asserted out;
    out.remedy = "berth-agent doctor tells what to mend; then ask for the test again";
    try {
        for (const char* folder : {"", "/notice"})
            std::filesystem::create_directory(workload.folder + folder);
        make_profile_root(workload.image, options_.inside_program, !question.gpus.empty());
        start(workload);
        const auto until = std::chrono::steady_clock::now() + profile_max;
        while (look(workload).status == Look::Status::running &&
               std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(ask_every);
        const InsideFacts facts = read_inside(log_tail(workload, 64 * 1024));
        auto broken = broken_profile(facts, workload.limits);
        std::ranges::move(broken_promises(facts, question), std::back_inserter(broken));
        out.holds = broken.empty();
        out.summary =
            broken.empty() ? kept_sentence(question) : fmt::format("{}", fmt::join(broken, "; "));
        if (out.holds) out.remedy.clear();
    } catch (const std::exception& error) {
        out.summary = error.what();
    }
    clean(workload);
    std::filesystem::remove_all(workload.folder);
    return out;
}

}  // namespace berth::host_agent
