// Databases of the time when all features counted their migrations together.
#include <gtest/gtest.h>

#include "server/schema.hpp"
#include "support/database.hpp"

namespace berth::test {
namespace {

constexpr int former_last = 8;

// Makes a database as it was after the former migration `last`.
void make_former(db::Database& database, int last) {
    std::vector<db::Migration> former;
    std::string rows;
    for (const db::Migration& migration : server::schema())
        if (migration.formerly != 0 && migration.formerly <= last) former.push_back(migration);
    for (int i = 1; i <= last; ++i)
        rows += fmt::format("INSERT INTO schema_migrations VALUES ({}, 'any');", i);
    const bool sqlite = database.engine() == db::Engine::sqlite;
    db::migrate(database, former);
    database.write([&](db::Transaction& tx) {
        tx.script(
            fmt::format("DROP TABLE schema_migrations; CREATE TABLE schema_migrations "
                        "(number {} PRIMARY KEY, name TEXT NOT NULL);",
                        sqlite ? "INTEGER" : "BIGINT"));
        tx.script(rows);
    });
}

TEST(Migrations, TakeOverADatabaseAtEachOfTheFormerNumbers) {
    const auto schema = server::schema();
    for (int last = 1; last <= former_last; ++last) {
        const TestDatabase place;
        const auto database = place.open();
        make_former(*database, last);
        const auto later =
            std::count_if(schema.begin(), schema.end(), [&](const db::Migration& migration) {
                return migration.formerly == 0 || migration.formerly > last;
            });
        EXPECT_EQ(db::migrate(*database, schema), later) << "from " << last;
        EXPECT_EQ(db::schema_state(*database, schema).missing, 0);
    }
}

}  // namespace
}  // namespace berth::test
