// Whether a value is one of a list, such as a state of the states that mean something together.
#pragma once

#include <algorithm>
#include <array>

namespace berth {

template <class T, std::size_t count>
constexpr bool is_one_of(const T& value, const std::array<T, count>& list) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace berth
