// How the time of some work grows with its input. Sizes are compared with each other, never with a
// clock: the processor time of this thread, the best of several runs, as a ratio.
#pragma once

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "support/sanitized.hpp"

namespace berth::test {

// For sixteen times the input, linear work takes about 16 times as long and quadratic work 256
// times. What lies between is for the memory: a longer input leaves one cache after the other, and
// the kernel clears the pages that it is copied to.
inline constexpr double linear_growth_max = 64;

inline double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The compiler leaves out work whose answer nobody looks at.
template <class Work>
void keep_result(const std::string& input, const Work& work) {
    if constexpr (std::is_void_v<decltype(work(input))>) {
        work(input);
    } else {
        const auto made = work(input);
        asm volatile("" : : "r"(&made) : "memory");
    }
}

template <class Work>
double best_seconds(const std::string& input, const Work& work) {
    constexpr int runs = sanitized ? 3 : 9;
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < runs; ++i) {
        const double began = thread_seconds();
        keep_result(input, work);
        best = std::min(best, thread_seconds() - began);
    }
    return best;
}

// `text` again and again, up to `bytes`.
inline std::string repeated(std::string_view text, std::size_t bytes) {
    std::string out;
    out.reserve(bytes + text.size());
    while (out.size() + text.size() <= bytes) out += text;
    return out;
}

// `make` gives an input of about so many bytes.
template <class Make, class Work>
void expect_linear(std::string_view name, std::size_t bytes_max, const Make& make,
                   const Work& work) {
    constexpr int goes = sanitized ? 1 : 5;
    const std::string sixteenth = make(bytes_max / 16);
    const std::string all = make(bytes_max);
    double small = std::numeric_limits<double>::max();
    double large = std::numeric_limits<double>::max();
    // Neighbours take the caches from the longer input first; what is quadratic stays so.
    for (int go = 0; go < goes && (go == 0 || large / small >= linear_growth_max); ++go) {
        small = std::min(small, best_seconds(sixteenth, work));
        large = std::min(large, best_seconds(all, work));
    }
    // What a sanitizer adds grows with the memory that is touched, not with the work.
    if (sanitized) return;
    EXPECT_LT(large / small, linear_growth_max)
        << name << ": " << small << " s for a sixteenth, " << large << " s for all";
}

}  // namespace berth::test
