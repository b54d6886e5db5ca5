// Copies of a SQLite database, and whether a database keeps what it has committed.
#pragma once

#include <string>
#include <vector>

#include "db/db.hpp"

namespace berth::db {

// Writes a consistent copy to `to`, also beside the process that has the database: one read
// transaction of SQLite's backup interface. The copy is proved and on the disk when this returns.
// Throws std::runtime_error with one sentence; `to` must not exist, and does not exist then.
void copy_sqlite(const std::string& from, const std::string& to);

// Puts the copy `from` in the place of the database `path`, which nobody may have open. What was
// there is kept beside it, as PATH.replaced. `prepare` gets the new database before it is in place.
struct Restore {
    std::string from;
    std::string path;
    bool replace = false;  // else an existing database is an error
};
void restore_sqlite(const Restore& restore, const std::function<void(Database&)>& prepare);

// The settings of a PostgreSQL server that let it lose or break what it has committed; SQLite is
// always opened so that it does not.
std::vector<std::string> undurable_settings(Database& database);

}  // namespace berth::db
