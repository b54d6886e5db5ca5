// Reading the words of transfers' tables; one that is none of ours is a broken database.
#pragma once

#include <boost/describe.hpp>

#include "base/check.hpp"
#include "ledger/rows.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

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

// The first eleven columns of every query for transfers.
inline TransferRow read_transfer(const db::Result::Row& row) {
    TransferRow transfer;
    transfer.id = row.get<TransferId>(0);
    transfer.kind = get_state<TransferKind>(row, 1);
    transfer.account = row.get<AccountId>(2);
    transfer.asset = get_asset(row, 3);
    transfer.amount = row.get<Micro>(4);
    transfer.address = get_address(row, 5);
    transfer.address_id = row.get<AddressId>(6);
    transfer.state = get_state<TransferState>(row, 7);
    transfer.tx_hash = row.get<std::optional<std::string>>(8);
    transfer.created_at = row.get<Time>(9);
    transfer.updated_at = row.get<Time>(10);
    return transfer;
}

template <class Row, class Read>
std::vector<Row> read_all(const db::Result& rows, Read read) {
    std::vector<Row> list;
    for (std::size_t i = 0; i < rows.size(); ++i) list.push_back(read(rows[i]));
    return list;
}

}  // namespace berth::transfers
