#include "wire/number.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.hpp"
#include "base/letters.hpp"

namespace berth::wire {
namespace {

// Takes one or more digits off the front of `text`; false if there is none.
bool skip_digits(std::string_view& text) {
    const std::size_t before = text.size();
    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
    return text.size() != before;
}

// The grammar of RFC 8259. std::from_chars alone would take "inf", "01" and "1.".
bool is_json_number(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    if (text.starts_with('0'))
        text.remove_prefix(1);
    else if (!skip_digits(text))
        return false;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        if (!skip_digits(text)) return false;
    }
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
        if (!skip_digits(text)) return false;
    }
    return text.empty();
}

}  // namespace

void append_number(std::string& out, double finite) {
    require(std::isfinite(finite), "only finite numbers go on the wire");
    if (finite == 0) {
        out += '0';  // also for minus zero
        return;
    }
    std::array<char, 32> scientific{};  // such as -1.2345e+30
    const char* end = std::to_chars(scientific.data(), scientific.data() + scientific.size(),
                                    finite, std::chars_format::scientific)
                          .ptr;
    std::string_view text(scientific.data(), static_cast<std::size_t>(end - scientific.data()));
    if (text[0] == '-') {
        out += '-';
        text.remove_prefix(1);
    }
    const std::size_t e = text.find('e');
    std::string digits(1, text[0]);
    if (e > 1) digits += text.substr(2, e - 2);
    int exponent = 0;
    const char* exponent_begin = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    std::from_chars(exponent_begin, text.data() + text.size(), exponent);

    // In ECMAScript's terms: k digits, and the decimal point after the first n of them.
    const int k = static_cast<int>(digits.size());
    const int n = exponent + 1;
    if (n > 21 || n < -5) {
        out += digits[0];
        if (k > 1) out.append(1, '.').append(digits, 1);
        out.append(n > 0 ? "e+" : "e-").append(std::to_string(std::abs(n - 1)));
    } else if (n <= 0) {
        out.append("0.").append(static_cast<std::size_t>(-n), '0').append(digits);
    } else if (n >= k) {
        out.append(digits).append(static_cast<std::size_t>(n - k), '0');
    } else {
        const auto whole = static_cast<std::size_t>(n);
        out.append(digits, 0, whole).append(1, '.').append(digits, whole);
    }
}

std::optional<double> parse_number(std::string_view text) {
    if (!is_json_number(text)) return std::nullopt;
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::string_view digits = text;
    if (digits.starts_with('-')) digits.remove_prefix(1);
    if (digits.empty() || !is_digit(digits[0])) return std::nullopt;
    if (digits[0] == '0' && text != "0") return std::nullopt;
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return value;
}

}  // namespace berth::wire
