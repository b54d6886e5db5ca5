#include "base/random.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>

#include "base/check.hpp"

namespace berth {

Bytes Random::bytes(std::size_t count) {
    Bytes out(count, '\0');
    fill(out);
    return out;
}

std::uint64_t Random::below(std::uint64_t bound) {
    require(bound > 0, "a random number below zero was asked for");
    // Values under 2^64 mod bound would be drawn once too often: draw again.
    const std::uint64_t refused = (0 - bound) % bound;
    std::array<char, 8> raw{};
    for (;;) {
        fill(raw);
        const std::uint64_t value = load_big_endian(raw.data());
        if (value >= refused) return value % bound;
    }
}

void SystemRandom::fill(std::span<char> out) {
    while (!out.empty()) {
        const ssize_t got = getrandom(out.data(), out.size(), 0);
        check(got > 0 || errno == EINTR, "the kernel gives no randomness");
        if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace berth
