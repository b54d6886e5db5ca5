// The names of some values of an enumeration as a list of SQL, so that a statement and the code
// around it are made from one list:
//
//     inline constexpr std::array open_states{State::waiting, State::running};
//     const std::string count_open_sql =
//         "SELECT COUNT(*) FROM things WHERE state IN " + db::name_list(open_states);
//
// The order is that of the list. An index with a condition is used only where the statement spells
// the condition as the index does, so such a list has the order of its migration.
#pragma once

#include <array>
#include <string>

#include "base/check.hpp"
#include "base/enum_names.hpp"

namespace berth::db {

// ('waiting', 'running')
template <class E, std::size_t count>
std::string name_list(const std::array<E, count>& values) {
    static_assert(count > 0, "a list of SQL has at least one value");
    std::string list;
    for (const E value : values) {
        const std::string_view name = enum_name(value);
        check(!name.empty(), "what is named in SQL is described");
        list += list.empty() ? "('" : ", '";
        list += name;
        list += '\'';
    }
    return list + ")";
}

}  // namespace berth::db
