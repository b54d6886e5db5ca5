#include "host_agent/program/slot_disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>

#include "agent_protocol/durable.hpp"
#include "base/descriptor.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/core/state_folder.hpp"
#include "host_agent/runtimes/volume.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;

constexpr const char* draft_ending = ".new";

// One at a time, of all processes and all slots: two mounts of one file would write over each
// other. It is the folder around them that is locked, which stays when a slot has gone.
class Turn {
public:
    explicit Turn(const std::string& folder)
        : around_(::open(files::path(folder).parent_path().c_str(),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        if (around_.number() < 0 || ::flock(around_.number(), LOCK_EX) != 0)
            throw std::runtime_error(
                fmt::format("the folder around {}: {}", folder, ::strerror(errno)));
    }

private:
    const Descriptor around_;
};

}  // namespace

bool SlotDisk::exists() const { return files::exists(file()); }

void SlotDisk::mount() const {
    if (!exists() || is_mount(folder_)) return;
    const Turn turn(folder_);
    if (exists()) mount_once();
}

void SlotDisk::open(std::int64_t gibibytes) const {
    make_state_folder(files::path(folder_).parent_path().string());
    const Turn turn(folder_);
    if (exists()) {
        mount_once();
        const auto has = static_cast<std::int64_t>(files::file_size(file())) >> 30;
        if (has == gibibytes) return;
        if (files::exists(folder_ + "/identity.json"))
            throw std::invalid_argument(
                fmt::format("disk_gib: the disk of {} has {} GiB already: it keeps its size until "
                            "the slot is left",
                            folder_, has));
        if (is_locked(folder_))
            throw std::invalid_argument(fmt::format(
                "disk_gib: the disk of {} has {} GiB, and is used just now", folder_, has));
        take_away();
    }
    make(gibibytes);
    mount_once();
}

void SlotDisk::make(std::int64_t gibibytes) const {
    // It has its name once it is whole.
    const std::string draft = file() + draft_ending;
    files::remove(draft);
    const auto around = disk_space(files::path(folder_).parent_path().string());
    const bool has_room =
        around && around->free_bytes - (gibibytes << 30) >= disk_floor(around->total_bytes);
    const bool is_made = has_room && make_filesystem(draft, gibibytes << 30, 0);
    if (!is_made) files::remove(draft);
    if (!is_made)
        throw std::invalid_argument(
            fmt::format("disk_gib: there is no room for the {} GiB of {}", gibibytes, folder_));
    files::rename(draft, file());
    agent_protocol::sync_folder(files::path(folder_).parent_path().string());
}

void SlotDisk::mount_once() const {
    make_state_folder(folder_);
    if (is_mount(folder_)) return;
    mount_filesystem(file(), folder_);
    files::permissions(folder_, files::perms::owner_all);
}

// The file goes first: an agent that starts meanwhile finds none to mount.
void SlotDisk::take_away() const {
    std::error_code ignored;
    files::remove(file(), ignored);
    files::remove(file() + draft_ending, ignored);
    while (is_mount(folder_))
        if (::umount2(folder_.c_str(), MNT_DETACH) != 0)
            throw std::runtime_error(fmt::format("{} cannot be unmounted", folder_));
    files::remove(folder_, ignored);
}

void SlotDisk::remove() const {
    if (!exists() && !is_mount(folder_)) return take_away();
    const Turn turn(folder_);
    take_away();
}

}  // namespace berth::host_agent
