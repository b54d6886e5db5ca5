#include "base/money.hpp"

#include <charconv>
#include <limits>

#include "base/check.hpp"
#include "base/problem.hpp"

namespace berth {
namespace {

[[noreturn]] void out_of_range() {
    throw Problem(Code::invalid_input, "the amount is larger than the ledger can hold");
}

}  // namespace

Micro operator+(Micro a, Micro b) {
    Micro sum;
    if (__builtin_add_overflow(a.value, b.value, &sum.value)) out_of_range();
    return sum;
}

Micro operator-(Micro a, Micro b) {
    Micro difference;
    if (__builtin_sub_overflow(a.value, b.value, &difference.value)) out_of_range();
    return difference;
}

Micro scale_floor(Micro amount, Ratio ratio) {
    require(amount.value >= 0 && ratio.numerator >= 0, "a scaled amount is never negative");
    require(ratio.denominator > 0, "an amount is divided by a positive number");
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(amount.value) * static_cast<Wide>(ratio.numerator);
    const Wide result = product / static_cast<Wide>(ratio.denominator);
    if (result > static_cast<Wide>(std::numeric_limits<std::int64_t>::max())) out_of_range();
    return {static_cast<std::int64_t>(result)};
}

std::optional<std::int64_t> parse_decimal(std::string_view text) {
    if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
    if (text[0] == '0' && text.size() > 1) return std::nullopt;
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return value;
}

}  // namespace berth
