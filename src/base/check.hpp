// check() states what must be true if our own code is right. It is always compiled in and ends the
// process when it fails; it is never used on input (that is what Problem is for).
#pragma once

namespace berth {

[[noreturn]] void check_failed(const char* what, const char* file, int line);

inline void check(bool holds, const char* what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (!holds) [[unlikely]] check_failed(what, file, line);
}

}  // namespace berth
