#include "base/shared_clock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "base/check.hpp"

namespace berth {
namespace {

static_assert(std::atomic<std::int64_t>::is_always_lock_free, "two processes may share it");
constexpr std::size_t file_bytes = sizeof(std::atomic<std::int64_t>);

void* map(const std::string& path, SharedClock::Use use) {
    const bool moves = use == SharedClock::Use::move;
    const int file = ::open(path.c_str(), (moves ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
    if (file < 0) return MAP_FAILED;
    const bool is_whole = moves ? ::ftruncate(file, file_bytes) == 0
                                : ::lseek(file, 0, SEEK_END) == static_cast<off_t>(file_bytes);
    void* const mapped =
        is_whole ? ::mmap(nullptr, file_bytes, moves ? PROT_READ | PROT_WRITE : PROT_READ,
                          MAP_SHARED, file, 0)
                 : MAP_FAILED;
    ::close(file);
    return mapped;
}

}  // namespace

SharedClock::SharedClock(const std::string& path, Use use) : use_(use) {
    void* const mapped = map(path, use);
    if (mapped == MAP_FAILED)
        throw std::runtime_error(
            fmt::format("{}: cannot be used as the clock of a simulation", path));
    micros_ = static_cast<std::atomic<std::int64_t>*>(mapped);
}

SharedClock::~SharedClock() { ::munmap(micros_, file_bytes); }

Time SharedClock::now() const { return SystemClock().now() + offset(); }

Duration SharedClock::offset() const { return Duration{micros_->load()}; }

void SharedClock::advance(Duration span) {
    check(use_ == Use::move && span.count() >= 0, "the clock is moved forwards, by its owner");
    *micros_ += span.count();
}

}  // namespace berth
