// Numbers as JSON text: the shortest spelling that reads back as the same double, laid out as
// ECMAScript does (RFC 8785 section 3.2.2.3), and the strict readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::wire {

void append_number(std::string& out, double finite);

// A JSON number as a double; empty if it is none, or lies outside the range of a double.
std::optional<double> parse_number(std::string_view text);

// "0", or digits without a leading zero and perhaps a minus sign; empty for every other spelling
// (1.0, 1e3, -0) and outside 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace berth::wire
