// Reading what we know of an object that may hold more: what later versions of the other side say,
// and evidence, which is kept as it came.
#pragma once

#include "wire/wire.hpp"

namespace berth::wire {

// The object without the members that `type` does not have; empty when `json` is no object.
std::optional<std::string> known_members(const Type& type, std::string_view json);

// Throws a Problem INVALID_INPUT that names the place of everything that is wrong.
template <class T>
T decode_known(std::string_view json, std::string_view place) {
    const auto known = known_members(type_of<T>(), json);
    if (!known) {
        Errors errors;
        errors.add(place, "must be an object");
        errors.raise();
    }
    return decode<T>(*known, place);
}

}  // namespace berth::wire
