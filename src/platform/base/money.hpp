// Money is whole micro-units of a settlement asset in 64 bits. Every operation is checked: an
// amount that leaves the range ends the request with a Problem, it never wraps.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

struct Micro {
    std::int64_t value = 0;

    friend auto operator<=>(const Micro&, const Micro&) = default;
    friend Micro operator+(Micro a, Micro b);
    friend Micro operator-(Micro a, Micro b);
    friend Micro operator-(Micro a) { return Micro{} - a; }
    Micro& operator+=(Micro other) { return *this = *this + other; }
    Micro& operator-=(Micro other) { return *this = *this - other; }
};

struct Ratio {
    std::int64_t numerator;
    std::int64_t denominator;
};

// floor(amount * numerator / denominator), with the product in 128 bits. All three are at least
// zero and the denominator is not zero.
Micro scale_floor(Micro amount, Ratio ratio);

// "0" or digits without a leading zero, at most 2^63 - 1: the DecimalString of the wire.
std::optional<std::int64_t> parse_decimal(std::string_view text);

inline std::string to_string(Micro amount) { return std::to_string(amount.value); }

}  // namespace berth
