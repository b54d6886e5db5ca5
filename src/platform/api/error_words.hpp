// What the codes of errors mean on every route, and what a client may read with each.
#pragma once

#include <string_view>

#include "base/problem.hpp"

namespace berth::api {

struct ErrorWords {
    std::string_view when;     // as the end of a sentence; a declaration may say it more closely
    std::string_view message;  // one that a client is really sent
};

const ErrorWords& error_words(Code code);

// Of the two that have a status of their own beside the code's.
inline constexpr std::string_view too_many_words = "too many requests; back off and try again";
inline constexpr std::string_view too_large_words = "the body is larger than the route takes";

}  // namespace berth::api
