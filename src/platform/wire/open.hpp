// Reading what we know of a message that may hold more: what later versions of the other side say,
// and evidence, which is kept as it came.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "wire/wire.hpp"

namespace berth::wire {

// Members that T and the structs within it do not have are passed over. Throws a Problem
// INVALID_INPUT that names the place of everything that is wrong.
template <class T>
T decode_known(std::string_view json, std::string_view place) {
    T value{};
    Errors errors;
    decode(type_of<T>(), json, &value, place, errors, Unknown::pass_over);
    errors.raise();
    return value;
}

// The same; empty when anything is wrong.
template <class T>
std::optional<T> read_known(std::string_view json) {
    T value{};
    Errors errors;
    decode(type_of<T>(), json, &value, "answer", errors, Unknown::pass_over);
    return errors.empty() ? std::optional(std::move(value)) : std::nullopt;
}

}  // namespace berth::wire
