#include "db/migrate.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace berth::db {
namespace {

constexpr std::string_view create_table =
    "CREATE TABLE IF NOT EXISTS schema_migrations ("
    "number @int PRIMARY KEY, name @text NOT NULL) @strict";
constexpr std::string_view table_exists_sqlite =
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'";
constexpr std::string_view table_exists_postgres =
    "SELECT to_regclass('schema_migrations') IS NOT NULL";
constexpr std::string_view select_version =
    "SELECT COALESCE(MAX(number), 0) FROM schema_migrations";
constexpr std::string_view insert_version =
    "INSERT INTO schema_migrations (number, name) VALUES ($1, $2)";

// Besides one pass for each migration: passes lost to other processes or to broken connections.
constexpr std::size_t extra_passes_max = 100;

struct Word {
    std::string_view ours;
    std::string_view sqlite;
    std::string_view postgres;
};

// Text sorts by its bytes on both engines, whatever the locale of the PostgreSQL cluster is.
constexpr Word words[] = {
    {"@id", "BLOB", "UUID"},
    {"@int", "INTEGER", "BIGINT"},
    {"@text", "TEXT", "TEXT COLLATE \"C\""},
    {"@bytes", "BLOB", "BYTEA"},
    {"@strict", "STRICT", ""},
};

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

std::string in_words_of(Engine engine, std::string_view sql) {
    check(count_of(sql, "CREATE TABLE") == count_of(sql, "@strict"),
          "each CREATE TABLE of a migration ends in @strict");
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
    std::string out;
    while (!sql.empty()) {
        const std::size_t at = std::min(sql.find('@'), sql.size());
        out += sql.substr(0, at);
        sql.remove_prefix(at);
        if (sql.empty()) break;
        const std::string_view ours = sql.substr(0, sql.find_first_not_of(letters, 1));
        const auto word = std::find_if(std::begin(words), std::end(words),
                                       [&](const Word& each) { return each.ours == ours; });
        check(word != std::end(words), "a migration uses only the type words there are");
        out += engine == Engine::sqlite ? word->sqlite : word->postgres;
        sql.remove_prefix(ours.size());
    }
    return out;
}

bool table_exists(Database& database) {
    const bool sqlite = database.engine() == Engine::sqlite;
    return database.read([&](Transaction& tx) {
        return tx.run(sqlite ? table_exists_sqlite : table_exists_postgres)[0].get<bool>(0);
    });
}

void ensure_table(Database& database) {
    if (table_exists(database)) return;
    try {
        database.write([&](Transaction& tx) {
            tx.script(in_words_of(database.engine(), create_table));
        });
    } catch (const StatementError&) {
        // PostgreSQL's IF NOT EXISTS fails when another process creates it at the same moment.
        if (!table_exists(database)) throw;
    }
}

// The row comes first: of several processes one inserts it, and the others wait for its outcome
// before they touch the schema. False when another one was quicker.
bool apply(Database& database, const Migration& migration) {
    const std::string sql = in_words_of(database.engine(), migration.sql);
    try {
        database.write([&](Transaction& tx) {
            tx.run(insert_version, migration.number, migration.name);
            tx.script(sql);
        });
    } catch (const StatementError& error) {
        if (error.constraint() && schema_version(database) >= migration.number) return false;
        throw;
    } catch (const OutcomeUnknown&) {
        return schema_version(database) >= migration.number;
    }
    log(Level::info, "migrated", {{"number", migration.number}, {"name", migration.name}});
    return true;
}

}  // namespace

int migrate(Database& database, std::span<const Migration> migrations) {
    for (std::size_t i = 0; i < migrations.size(); ++i)
        check(migrations[i].number == static_cast<int>(i) + 1, "migrations are 1, 2, 3, …");
    ensure_table(database);
    const int last = static_cast<int>(migrations.size());
    int ran = 0;
    for (std::size_t pass = 0; pass < migrations.size() + extra_passes_max; ++pass) {
        const int version = schema_version(database);
        if (version == last) return ran;
        if (version > last)
            throw std::runtime_error(fmt::format(
                "the database has schema {}, but this program knows only up to {}", version, last));
        if (apply(database, migrations[static_cast<std::size_t>(version)])) ++ran;
    }
    throw std::runtime_error("the schema did not come up to date: others keep changing it");
}

int schema_version(Database& database) {
    if (!table_exists(database)) return 0;
    return database.read([](Transaction& tx) { return tx.run(select_version)[0].get<int>(0); });
}

}  // namespace berth::db
