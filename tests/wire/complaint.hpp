// What decode() says of an input, as one text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "wire/wire.hpp"

namespace berth {

// Empty when `json` is a T.
template <class T>
std::string complaint(std::string_view json) {
    try {
        wire::decode<T>(json);
        return {};
    } catch (const Problem& problem) {
        EXPECT_EQ(problem.code, Code::invalid_input);
        EXPECT_EQ(problem.status, 422);
        return problem.message;
    }
}

template <class T>
std::string fields_complaint(const wire::TextFields& fields, T* out = nullptr) {
    T value{};
    wire::Errors errors;
    wire::decode_fields(wire::type_of<T>(), fields, &value, "query", errors);
    if (out) *out = value;
    try {
        errors.raise();
        return {};
    } catch (const Problem& problem) {
        return problem.message;
    }
}

}  // namespace berth
