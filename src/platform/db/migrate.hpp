// Numbered migrations, each feature counting its own 1, 2, 3. Each runs in one transaction together
// with the row that records it, so a process killed at any point leaves the schema between two
// migrations; several processes may start at once, and a schema that has migrations this program
// does not know is refused.
//
// Column types are written @id, @int, @text and @bytes, and each CREATE TABLE ends in @strict;
// they become the engine's own words (UUID or BLOB, BIGINT or INTEGER, …).
#pragma once

#include <span>
#include <string_view>

#include "db/db.hpp"

namespace berth::db {

struct Migration {
    std::string_view feature;
    int number;  // 1, 2, 3, … of its feature, without gaps
    std::string_view sql;
    // Its number when all features counted together; 0 for what came later. A database of that time
    // is taken over as it is found.
    int formerly = 0;
};

// Brings the schema up to date, in the order of the list; returns how many migrations ran. Throws
// std::runtime_error with one sentence when the database knows more than this program.
int migrate(Database& database, std::span<const Migration> migrations);

struct SchemaState {
    int applied = 0;
    int missing = 0;  // of the given migrations
    int unknown = 0;  // in the database, and none of the given
};
SchemaState schema_state(Database& database, std::span<const Migration> migrations);

}  // namespace berth::db
