// All SQL of closed accounts.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "db/migrate.hpp"

namespace berth::closing {

struct ClosedRow {
    AccountId account_id;
    Time closed_at;
    bool was_suspended = false;  // before it was closed
    std::optional<Time> erase_at = {};
    std::optional<Time> erased_at = {};
};
BOOST_DESCRIBE_STRUCT(ClosedRow, (), (account_id, closed_at, was_suspended, erase_at, erased_at))

std::optional<ClosedRow> find_closed(db::Transaction& tx, AccountId account);
// False when it is closed already.
bool add_closed(db::Transaction& tx, const ClosedRow& row);
// Both are true for the one caller that finds it closed and not erased.
bool remove_closed(db::Transaction& tx, AccountId account);
bool mark_erased(db::Transaction& tx, AccountId account, Time now);
// Those whose time has come, longest due first.
std::vector<AccountId> list_due(db::Transaction& tx, Time now, std::int64_t rows_max);
// Something is in it; when that was first met stays known.
void postpone(db::Transaction& tx, AccountId account, Time now, Time until);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::closing
