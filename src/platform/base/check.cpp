#include "base/check.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/log.hpp"
#include "base/log_queue.hpp"

namespace berth {

void check_failed(const char* what, const char* file, int line) {
    log(Level::error, "check_failed", {{"what", what}, {"file", file}, {"line", line}});
    LogQueue::flush();
    std::abort();
}

Bug::Bug(const char* what, const char* file, int line)
    : text_(fmt::format("{} ({}:{})", what, file, line)) {}

}  // namespace berth
