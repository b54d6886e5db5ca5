// Reading the ledger's own words from a row; a word that is none of ours is a broken database.
#pragma once

#include "base/check.hpp"
#include "ledger/journal.hpp"

namespace berth::ledger {

inline Asset get_asset(const db::Result::Row& row, std::size_t column) {
    const auto asset = parse_asset(row.get<std::string>(column));
    require(asset.has_value(), "an asset in the database is one of ours");
    return *asset;
}

inline Pocket get_pocket(const db::Result::Row& row, std::size_t column) {
    const auto pocket = parse_pocket(row.get<std::string>(column));
    require(pocket.has_value(), "a pocket in the database is one of ours");
    return *pocket;
}

inline Kind get_kind(const db::Result::Row& row, std::size_t column) {
    const auto kind = parse_kind(row.get<std::string>(column));
    require(kind.has_value(), "a kind in the database is one of ours");
    return *kind;
}

}  // namespace berth::ledger
