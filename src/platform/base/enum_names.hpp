// The one spelling of each enumeration's names, the same on the wire and in the database: the C++
// name of the enumerator, or what a function `std::string_view wire_name(E)` beside the enumeration
// says.
#pragma once

#include <boost/describe.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace berth {

// A name that is a word of C++ carries an underscore there, and only there.
constexpr std::string_view json_name(std::string_view cpp_name) {
    if (cpp_name.ends_with('_')) cpp_name.remove_suffix(1);
    return cpp_name;
}

template <class E>
constexpr std::string_view enumerator_name(E value, std::string_view cpp_name) {
    if constexpr (requires { wire_name(value); }) {
        if (const std::string_view given = wire_name(value); !given.empty()) return given;
    }
    return json_name(cpp_name);
}

struct EnumName {
    std::string_view name;
    std::int64_t value;
};
using EnumNames = std::span<const EnumName>;

template <class E, class List = boost::describe::describe_enumerators<E>>
struct EnumTable;

template <class E, template <class...> class List, class... Each>
struct EnumTable<E, List<Each...>> {
    static constexpr std::array<EnumName, sizeof...(Each)> names{EnumName{
        enumerator_name(Each::value, Each::name), static_cast<std::int64_t>(Each::value)}...};
};

std::string_view find_enum_name(EnumNames names, std::int64_t value);  // empty when there is none
const EnumName* find_enum_value(EnumNames names, std::string_view name);

template <class E>
std::string_view enum_name(E value) {
    return find_enum_name(EnumTable<E>::names, static_cast<std::int64_t>(value));
}

template <class E>
std::optional<E> parse_enum(std::string_view name) {
    const EnumName* found = find_enum_value(EnumTable<E>::names, name);
    return found == nullptr ? std::nullopt : std::optional(static_cast<E>(found->value));
}

}  // namespace berth
