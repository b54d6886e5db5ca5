// Long texts. Not inlined: where GCC 12 sees the length, it warns of overflows that are not there.
#pragma once

#include <string>

namespace berth::mail {

[[gnu::noinline]] inline std::string repeated(std::size_t count, char c) {
    return std::string(count, c);
}

}  // namespace berth::mail
