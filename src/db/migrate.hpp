// Numbered migrations. Each runs in one transaction together with the row that records it, so a
// process killed at any point leaves the schema at a whole number; several processes may start at
// once, and a schema newer than this program knows is refused.
//
// Column types are written @id, @int, @text and @bytes, and each CREATE TABLE ends in @strict;
// they become the engine's own words (UUID or BLOB, BIGINT or INTEGER, …).
#pragma once

#include <span>
#include <string_view>

#include "db/db.hpp"

namespace berth::db {

struct Migration {
    int number;  // 1, 2, 3, … without gaps
    std::string_view name;
    std::string_view sql;
};

// Brings the schema up to the last migration; returns how many ran. Throws std::runtime_error with
// one sentence when the schema is newer.
int migrate(Database& database, std::span<const Migration> migrations);

int schema_version(Database& database);  // 0 for an empty database

}  // namespace berth::db
