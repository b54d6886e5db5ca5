// How long events are kept.
#pragma once

#include "db/migrate.hpp"

namespace berth::events {

// For the worker: deletes what was told before, from the beginning of each stream, and moves its
// oldest number along. Returns how many rows it deleted.
std::int64_t prune(db::Transaction& tx, Time told_before, std::int64_t rows_max);

// Of an account that is erased. Its numbers go on where they were.
void forget(db::Transaction& tx, AccountId account);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::events
