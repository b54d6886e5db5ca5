#include "base/check.hpp"

#include <cstdlib>

#include "base/log.hpp"

namespace berth {

void check_failed(const char* what, const char* file, int line) {
    log(Level::error, "check_failed", {{"what", what}, {"file", file}, {"line", line}});
    std::abort();
}

}  // namespace berth
