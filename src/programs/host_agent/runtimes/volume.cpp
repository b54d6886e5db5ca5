#include "host_agent/runtimes/volume.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/tool.hpp"

namespace berth::host_agent {
namespace {

constexpr int loop_tries_max = 100;
constexpr auto unmount_max = std::chrono::seconds(10);
constexpr auto unmount_pause = std::chrono::milliseconds(20);

std::runtime_error failure(const std::string& what) {
    return std::runtime_error(fmt::format("{}: {}", what, ::strerror(errno)));
}

class File {
public:
    File(const std::string& path, int flags)
        : number_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
        if (number_ < 0) throw failure("cannot open " + path);
    }
    ~File() { ::close(number_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int get() const { return number_; }

private:
    int number_;
};

bool is_reserved(int file, std::int64_t bytes) {
    const int failed = ::posix_fallocate(file, 0, bytes);
    if (failed == 0) return true;
    errno = failed;
    if (failed == ENOSPC || failed == EFBIG || failed == EDQUOT) return false;
    throw failure("a volume cannot be made");
}

std::int64_t overwrite(const std::string& path) {
    const File file(path, O_RDWR);
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) throw failure("cannot look at " + path);
    const std::int64_t size = facts.st_size;
    if (size == 0) return 0;
    if (::fallocate(file.get(), FALLOC_FL_ZERO_RANGE, 0, size) != 0) {
        const std::vector<char> zeros(std::size_t{1024} * 1024);
        for (std::int64_t done = 0; done < size;) {
            const auto piece = std::min<std::int64_t>(size - done, std::ssize(zeros));
            const ssize_t count =
                ::pwrite(file.get(), zeros.data(), static_cast<std::size_t>(piece), done);
            if (count < 0) throw failure("the work volume cannot be overwritten");
            done += count;
        }
    }
    if (::fsync(file.get()) != 0) throw failure("the work volume cannot be overwritten");
    return size;
}

// By device and number, since the name by which the kernel knows the file is that of whoever
// attached it. Looking at a device that is just set free is harmless: it goes with our look.
std::optional<std::string> loop_device_of(const std::string& path) {
    struct stat own {};
    if (::stat(path.c_str(), &own) != 0) throw failure("cannot look at " + path);
    for (const auto& entry : std::filesystem::directory_iterator("/sys/block")) {
        const std::string name = entry.path().filename();
        std::error_code ignored;
        if (!name.starts_with("loop") || !std::filesystem::exists(entry.path() / "loop", ignored))
            continue;
        const Descriptor loop(::open(("/dev/" + name).c_str(), O_RDONLY | O_CLOEXEC));
        if (loop.number() < 0 && errno == ENOENT) continue;  // taken away meanwhile
        loop_info64 facts{};
        if (::ioctl(loop.number(), LOOP_GET_STATUS64, &facts) != 0) {
            if (errno == ENXIO) continue;  // set free meanwhile
            throw failure("cannot look at /dev/" + name);
        }
        if (facts.lo_device == own.st_dev && facts.lo_inode == own.st_ino) return "/dev/" + name;
    }
    return std::nullopt;
}

bool try_to_mount(const std::string& device, const std::string& path) {
    return ::mount(device.c_str(), path.c_str(), "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME,
                   "noinit_itable") == 0;
}

// Unmounted here it may still be mounted in another namespace, as sshd's, which writes what it has
// not written yet with its last unmount: over the zeros, if they were there already.
void wait_until_unused(const std::string& path) {
    const auto until = std::chrono::steady_clock::now() + unmount_max;
    while (loop_device_of(path)) {
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error("the work volume is still mounted somewhere else");
        std::this_thread::sleep_for(unmount_pause);
    }
}

}  // namespace

// The kernel frees the loop device by itself with its last user: after the mount, or when we die
// before there is one. A file that still is mounted out of our sight, as in another namespace or by
// who works in a folder that was unmounted lazily, is mounted from the device that it has: by two
// it would be written over.
void mount_filesystem(const std::string& file, const std::string& path) {
    const File control("/dev/loop-control", O_RDWR);
    const File backing(file, O_RDWR);
    if (const auto device = loop_device_of(file); device && try_to_mount(*device, path)) return;
    for (int tries = 0; tries < loop_tries_max; ++tries) {
        const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0) throw failure("no loop device is free");
        const std::string device = fmt::format("/dev/loop{}", number);
        const File loop(device, O_RDWR);
        loop_config config{};
        config.fd = static_cast<__u32>(backing.get());
        config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
        if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) != 0) {
            if (errno == EBUSY) continue;  // somebody else was quicker
            throw failure("the loop device cannot be set up");
        }
        if (!try_to_mount(device, path)) throw failure("a volume cannot be mounted");
        return;
    }
    throw std::runtime_error("no loop device is free");
}

bool make_filesystem(const std::string& file, std::int64_t bytes, int owner) {
    {
        const File made(file, O_RDWR | O_CREAT | O_EXCL);
        if (!is_reserved(made.get(), bytes)) return false;
    }
    run_tool_or_throw(
        {.arguments = {"mkfs.ext4", "-q", "-F", "-m0", "-E",
                       fmt::format("root_owner={0}:{0},lazy_itable_init=1,nodiscard", owner),
                       file}});
    return true;
}

bool is_mount(const std::string& path) {
    struct stat own {};
    struct stat above {};
    return ::stat(path.c_str(), &own) == 0 && ::stat((path + "/..").c_str(), &above) == 0 &&
           own.st_dev != above.st_dev;
}

Volume::Volume(std::string folder) : file_(folder + "/volume"), path_(folder + "/work") {}

void Volume::make(std::int64_t bytes) {
    clean();
    std::filesystem::create_directories(path_);
    if (!make_filesystem(file_, bytes, workload_user))
        throw RuntimeError("DISK_FULL",
                           "the host has not enough disk for the work volume of this job");
    mount_filesystem(file_, path_);
    // mkfs.ext4 makes it, and a renter would take it for a file of his own.
    std::filesystem::remove(path_ + "/lost+found");
}

void Volume::mount() {
    if (!is_mounted()) mount_filesystem(file_, path_);
}

bool Volume::exists() const { return std::filesystem::exists(file_); }

bool Volume::is_mounted() const { return is_mount(path_); }

void Volume::unmount() const {
    const auto until = std::chrono::steady_clock::now() + unmount_max;
    while (is_mounted()) {
        if (::umount2(path_.c_str(), UMOUNT_NOFOLLOW) == 0) continue;
        if (errno != EBUSY || std::chrono::steady_clock::now() > until)
            throw failure("the work volume cannot be unmounted");
        std::this_thread::sleep_for(unmount_pause);
    }
}

std::int64_t Volume::clean() {
    unmount();
    std::int64_t bytes = 0;
    if (exists()) {
        wait_until_unused(file_);
        bytes = overwrite(file_);
        std::filesystem::remove(file_);
    }
    std::filesystem::remove(path_);
    if (exists() || is_mounted()) throw std::runtime_error("the work volume is still there");
    return bytes;
}

}  // namespace berth::host_agent
