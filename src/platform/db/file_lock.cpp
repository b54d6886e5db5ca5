#include "db/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "db/db.hpp"

namespace berth::db {
namespace {

// The holder writes its process id into the file; empty while it has not done so yet.
std::string holder_of(int file_descriptor) {
    std::array<char, 20> text{};
    const ssize_t length = pread(file_descriptor, text.data(), text.size(), 0);
    std::string digits;
    for (ssize_t i = 0; i < length && text[static_cast<std::size_t>(i)] != '\n'; ++i)
        digits += text[static_cast<std::size_t>(i)];
    return digits;
}

}  // namespace

FileLock::FileLock(const std::string& database) {
    const std::string path = database + ".lock";
    file_descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file_descriptor_ < 0)
        throw std::invalid_argument(
            fmt::format("cannot open the lock file {}: {}", path, std::strerror(errno)));
    if (flock(file_descriptor_, LOCK_EX | LOCK_NB) != 0) {
        const std::string holder = holder_of(file_descriptor_);
        close(file_descriptor_);
        throw Held(fmt::format("the database file {} is in use by another process{}", database,
                               holder.empty() ? "" : fmt::format(" (process id {})", holder)),
                   static_cast<int>(parse_decimal(holder).value_or(0)));
    }
    // Only a help for the message above; the lock holds without it, even on a full disk.
    const std::string holder = std::to_string(getpid()) + "\n";
    if (ftruncate(file_descriptor_, 0) == 0)
        (void)!pwrite(file_descriptor_, holder.data(), holder.size(), 0);
}

FileLock::~FileLock() {
    // The file stays: removing it would let two later processes lock two different files.
    close(file_descriptor_);
}

}  // namespace berth::db
