// How long events are kept.
#pragma once

#include "db/migrate.hpp"

namespace berth::events {

// For the worker: deletes what was told before, from the beginning of each stream, and moves its
// oldest number along. Returns how many rows it deleted, or `rows_max` when there is more to do.
std::int64_t prune(db::Transaction& tx, Time told_before, std::int64_t rows_max);

// For a database that is one from before: numbers that were given since would be given again, to
// other events, and nobody who has read them would notice. All streams go on far above instead,
// with what they hold, so that every reader is told once that its number is not there. Returns by
// how much the numbers rose.
std::int64_t renumber(db::Transaction& tx);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::events
