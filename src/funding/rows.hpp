// Reading the words of funding's tables; one that is none of ours is a broken database.
#pragma once

#include <boost/describe.hpp>

#include "base/check.hpp"
#include "ledger/rows.hpp"
#include "funding/store.hpp"

namespace berth::funding {

using ledger::get_asset;

inline crypto::Address get_address(const db::Result::Row& row, std::size_t column) {
    const auto address = crypto::parse_address(row.get<std::string>(column));
    require(address.has_value(), "an address in the database is one");
    return *address;
}

inline chain::Hash get_hash(const db::Result::Row& row, std::size_t column) {
    const auto hash = chain::parse_hash(row.get<std::string>(column));
    require(hash.has_value(), "a transaction hash in the database is one");
    return *hash;
}

// An enumerator whose C++ name is the stored word.
template <class Enum>
Enum get_state(const db::Result::Row& row, std::size_t column) {
    Enum value{};
    const bool known =
        boost::describe::enum_from_string(row.get<std::string>(column).c_str(), value);
    require(known, "a state in the database is one of ours");
    return value;
}

template <class Enum>
std::string_view state_name(Enum value) {
    return boost::describe::enum_to_string(value, "");
}

}  // namespace berth::funding
