// The request target taken apart: percent-decoding, path parameters and the query string.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/wire.hpp"

namespace berth::api {

inline constexpr std::size_t query_fields_max = 64;

// Empty when the text is not percent-encoded properly or does not decode to UTF-8 without NUL.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

// "a=1&b=2" into fields; what is wrong is added to `errors`.
wire::TextFields parse_query(std::string_view query, wire::Errors& errors);

// A route's path for the log: with the ids that were given, and nothing else of what was, since
// people put secrets into all kinds of places.
std::string loggable_path(std::string_view route_path,
                          const std::vector<std::string_view>& parameters);

}  // namespace berth::api
