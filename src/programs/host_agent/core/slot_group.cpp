#include "host_agent/core/slot_group.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <stdexcept>

#include "base/descriptor.hpp"
#include "crypto/hash.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;

constexpr std::int64_t period_us = 100'000;
constexpr const char* usual_root = "/sys/fs/cgroup";
// Version 1 has a tree for each; what podman makes in the others has no bounds of ours.
constexpr const char* bounding_trees[] = {"cpu", "memory", "pids"};
constexpr const char* beside = "/beside";  // version 2 wants processes in leaves alone

// False with errno: the kernel takes what is written in one piece or refuses it.
bool put(const std::string& file, const std::string& text) {
    const Descriptor at(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return at.number() >= 0 &&
           ::write(at.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void put_or_throw(const std::string& file, const std::string& text) {
    if (!put(file, text))
        throw std::runtime_error(fmt::format("the share of the slot cannot be enforced: {} of {}",
                                             ::strerror(errno), file));
}

// Memory and swap together may never be less than memory alone, in between neither.
void bound_memory_of_version_1(const std::string& folder, const std::string& bytes) {
    const std::string with_swap = folder + "/memory.memsw.limit_in_bytes";
    if (!put(folder + "/memory.limit_in_bytes", bytes)) {
        put(with_swap, bytes);
        put_or_throw(folder + "/memory.limit_in_bytes", bytes);
    }
    if (files::exists(with_swap)) put_or_throw(with_swap, bytes);
}

std::optional<std::int64_t> number_in(const std::string& text) {
    std::int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

SlotGroup::SlotGroup(const std::string& state, std::string root)
    : SlotGroup(Named{"berth-slot-" + to_hex(crypto::sha256(state)).substr(0, 8)},
                std::move(root)) {}

SlotGroup::SlotGroup(Named name, std::string root)
    : name_(std::move(name.value)), root_(std::move(root)) {}

SlotGroup SlotGroup::called(const std::string& name) { return SlotGroup(Named{name}, usual_root); }

bool SlotGroup::is_unified() const { return files::exists(root_ + "/cgroup.controllers"); }

std::string SlotGroup::folder(const std::string& controller) const {
    return is_unified() ? root_ + "/" + name_ : fmt::format("{}/{}/{}", root_, controller, name_);
}

std::vector<std::string> SlotGroup::folders() const {
    if (is_unified()) return {folder("")};
    std::vector<std::string> all;
    for (const char* tree : bounding_trees) all.push_back(folder(tree));
    return all;
}

void SlotGroup::make(const Share& share) const {
    const std::string quota = std::to_string(share.cpus.value * period_us);
    const std::string memory = std::to_string(share.memory_gib.value << 30);
    const std::string pids = std::to_string(share.pids.value);
    const std::string controllers = "+cpu +memory +pids";
    if (is_unified()) put_or_throw(root_ + "/cgroup.subtree_control", controllers);
    std::error_code failed;
    for (const std::string& each : folders()) {
        files::create_directory(each, failed);
        if (is_unified()) put_or_throw(each + "/cgroup.subtree_control", controllers);
        files::create_directory(each + beside, failed);
        if (!files::is_directory(each + beside, failed))
            throw std::runtime_error(
                fmt::format("the share of the slot cannot be enforced: {} is not made", each));
    }
    if (is_unified()) {
        put_or_throw(folder("") + "/cpu.max", fmt::format("{} {}", quota, period_us));
        put_or_throw(folder("") + "/memory.max", memory);
        if (files::exists(folder("") + "/memory.swap.max"))
            put_or_throw(folder("") + "/memory.swap.max", "0");
        put_or_throw(folder("") + "/pids.max", pids);
        return;
    }
    put_or_throw(folder("cpu") + "/cpu.cfs_period_us", std::to_string(period_us));
    put_or_throw(folder("cpu") + "/cpu.cfs_quota_us", quota);
    bound_memory_of_version_1(folder("memory"), memory);
    put_or_throw(folder("pids") + "/pids.max", pids);
}

void SlotGroup::take_in(pid_t process) const {
    for (const std::string& each : folders())
        put_or_throw(each + beside + "/cgroup.procs", std::to_string(process));
}

bool SlotGroup::remove() const {
    std::error_code ignored;
    bool is_gone = true;
    std::vector<std::string> all{root_ + "/" + name_};
    for (const auto& tree : files::directory_iterator(root_, ignored))
        all.push_back(tree.path().string() + "/" + name_);  // of version 1, podman's too
    for (const std::string& each : all) {
        if (!files::is_directory(each, ignored)) continue;
        for (const auto& leaf : files::directory_iterator(each, ignored))
            if (leaf.is_directory(ignored)) ::rmdir(leaf.path().c_str());
        is_gone = (::rmdir(each.c_str()) == 0 || errno == ENOENT) && is_gone;
    }
    return is_gone;
}

std::optional<std::int64_t> SlotGroup::memory_bytes() const {
    return number_in(read_host_file(folder("memory") +
                                    (is_unified() ? "/memory.current" : "/memory.usage_in_bytes")));
}

std::optional<std::int64_t> SlotGroup::cpu_us() const {
    if (!is_unified()) {
        const auto nanoseconds = number_in(read_host_file(folder("cpuacct") + "/cpuacct.usage"));
        return nanoseconds ? std::optional(*nanoseconds / 1000) : std::nullopt;
    }
    constexpr std::string_view label = "usage_usec ";
    const std::string text = read_host_file(folder("") + "/cpu.stat");
    const std::size_t at = text.find(label);
    return at == std::string::npos ? std::nullopt : number_in(text.substr(at + label.size()));
}

}  // namespace berth::host_agent
