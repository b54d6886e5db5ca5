#include "host_agent/program/slot_disk.hpp"

#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "host_agent/core/state_folder.hpp"
#include "host_agent/runtimes/volume.hpp"

namespace berth::host_agent {
namespace {

namespace files = std::filesystem;

}  // namespace

bool SlotDisk::exists() const { return files::exists(file()); }

void SlotDisk::open(std::int64_t gibibytes) const {
    const std::int64_t bytes = gibibytes << 30;
    make_state_folder(folder_);
    if (!exists()) {
        // It has its name once it is whole.
        const std::string draft = file() + ".new";
        files::remove(draft);
        const bool is_made = make_filesystem(draft, bytes, 0);
        if (!is_made) files::remove(draft);
        if (!is_made)
            throw std::invalid_argument(
                fmt::format("disk_gib: there is no room for the {} GiB of {}", gibibytes, folder_));
        files::rename(draft, file());
    }
    if (const auto has = static_cast<std::int64_t>(files::file_size(file())); has != bytes)
        throw std::invalid_argument(
            fmt::format("disk_gib: the disk of {} has {} GiB already: it keeps its size until the "
                        "slot is left",
                        folder_, has >> 30));
    if (is_mount(folder_)) return;
    mount_filesystem(file(), folder_);
    files::permissions(folder_, files::perms::owner_all);
}

// The file goes first: an agent that starts meanwhile finds none to mount.
void SlotDisk::remove() const {
    std::error_code ignored;
    files::remove(file(), ignored);
    if (is_mount(folder_) && ::umount2(folder_.c_str(), MNT_DETACH) != 0)
        throw std::runtime_error(fmt::format("{} cannot be unmounted", folder_));
    files::remove(folder_, ignored);
}

}  // namespace berth::host_agent
