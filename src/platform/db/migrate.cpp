#include "db/migrate.hpp"

#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace berth::db {
namespace {

constexpr std::string_view create_table =
    "CREATE TABLE IF NOT EXISTS schema_migrations ("
    "feature @text NOT NULL, number @int NOT NULL, PRIMARY KEY (feature, number)) @strict";
constexpr std::string_view column_exists_sqlite =
    "SELECT count(*) FROM pragma_table_info($1) WHERE name = $2";
constexpr std::string_view column_exists_postgres =
    "SELECT count(*) FROM pg_attribute "
    "WHERE attrelid = to_regclass($1) AND CAST(attname AS TEXT) = $2";
constexpr std::string_view select_present = "SELECT feature, number FROM schema_migrations";
constexpr std::string_view insert_applied =
    "INSERT INTO schema_migrations (feature, number) VALUES ($1, $2)";

// The table of the time when all features counted together had no column `feature`.
constexpr std::string_view table_name = "schema_migrations";
constexpr std::string_view former_name = "former_migrations";
constexpr std::string_view select_former = "SELECT number FROM schema_migrations";
constexpr std::string_view select_put_aside = "SELECT number FROM former_migrations";
constexpr std::string_view put_former_aside =
    "ALTER TABLE schema_migrations RENAME TO former_migrations";
constexpr std::string_view drop_former = "DROP TABLE former_migrations";

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

using Applied = std::set<std::pair<std::string, int>>;

enum class Form { none, former, present };
Form form_of(Transaction& tx, Engine engine, std::string_view table) {
    const auto has_column = [&](std::string_view column) {
        const bool sqlite = engine == Engine::sqlite;
        return tx.run(sqlite ? column_exists_sqlite : column_exists_postgres, table, column)[0]
            .get<bool>(0);
    };
    if (has_column("feature")) return Form::present;
    return has_column("number") ? Form::former : Form::none;
}

Applied read_present(Transaction& tx) {
    Applied applied;
    const Result rows = tx.run(select_present);
    for (std::size_t i = 0; i < rows.size(); ++i)
        applied.emplace(rows[i].get<std::string>(0), rows[i].get<int>(1));
    return applied;
}

// What ran, by today's names; a number that has none keeps an empty one.
Applied read_former(Transaction& tx, std::string_view sql, std::span<const Migration> migrations) {
    Applied applied;
    const Result rows = tx.run(sql);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const int number = rows[i].get<int>(0);
        const std::size_t before = applied.size();
        for (const Migration& migration : migrations)
            if (migration.formerly == number) applied.emplace(migration.feature, migration.number);
        if (applied.size() == before) applied.emplace("", number);
    }
    return applied;
}

Applied read_applied(Database& database, std::span<const Migration> migrations) {
    return database.read([&](Transaction& tx) -> Applied {
        switch (form_of(tx, database.engine(), table_name)) {
            case Form::none: return {};
            case Form::former: return read_former(tx, select_former, migrations);
            case Form::present: return read_present(tx);
        }
        throw std::logic_error("a table has one of three forms");
    });
}

bool is_applied(const Applied& applied, const Migration& migration) {
    return applied.contains({std::string(migration.feature), migration.number});
}

// Renaming comes first: of several processes one does it, and the others wait for its outcome and
// then have the table of today in their hands.
void take_over(Database& database, std::span<const Migration> migrations) {
    const std::string create = in_words_of(database.engine(), create_table);
    struct TakenOver {};
    try {
        database.write([&](Transaction& tx) {
            tx.script(put_former_aside);
            if (form_of(tx, database.engine(), former_name) != Form::former) throw TakenOver{};
            const Applied applied = read_former(tx, select_put_aside, migrations);
            tx.script(create);
            for (const auto& [feature, number] : applied) tx.run(insert_applied, feature, number);
            tx.script(drop_former);
        });
    } catch (const TakenOver&) {
        return;
    }
    log(Level::info, "migrations_taken_over");
}

Form present_form(Database& database) {
    return database.read(
        [&](Transaction& tx) { return form_of(tx, database.engine(), table_name); });
}

void ensure_table(Database& database, std::span<const Migration> migrations) {
    const Form form = present_form(database);
    if (form == Form::present) return;
    try {
        if (form == Form::former) return take_over(database, migrations);
        database.write(
            [&](Transaction& tx) { tx.script(in_words_of(database.engine(), create_table)); });
    } catch (const StatementError&) {
        // Another process does the same at this moment, and one of the two fails on PostgreSQL.
        if (present_form(database) != Form::present) throw;
    }
}

void log_migrated(const Migration& migration) {
    log(Level::info, "migrated", {{"feature", migration.feature}, {"number", migration.number}});
}

// The row comes first: of several processes one inserts it, and the others wait for its outcome
// before they touch the schema. False when another one was quicker.
bool apply(Database& database, const Migration& migration, std::span<const Migration> all) {
    const std::string sql = in_words_of(database.engine(), migration.sql);
    try {
        database.write([&](Transaction& tx) {
            tx.run(insert_applied, migration.feature, migration.number);
            tx.script(sql);
        });
    } catch (const StatementError& error) {
        if (error.constraint() && is_applied(read_applied(database, all), migration)) return false;
        throw;
    } catch (const OutcomeUnknown&) {
        return is_applied(read_applied(database, all), migration);
    }
    log_migrated(migration);
    return true;
}

// A database that has nothing yet gets everything in one transaction: a commit is what a migration
// costs. False when that is not possible, and nothing has happened then: a migration fails, which
// the passes will find, or another process has begun.
bool apply_all(Database& database, std::span<const Migration> migrations) {
    try {
        database.write([&](Transaction& tx) {
            for (const Migration& migration : migrations) {
                tx.run(insert_applied, migration.feature, migration.number);
                tx.script(in_words_of(database.engine(), migration.sql));
            }
        });
    } catch (const StatementError&) {
        return false;
    } catch (const OutcomeUnknown&) {
        return false;  // what the passes will find done they leave alone
    }
    for (const Migration& migration : migrations) log_migrated(migration);
    return true;
}

void check_numbers(std::span<const Migration> migrations) {
    std::map<std::string_view, int> last;
    for (const Migration& migration : migrations)
        check(migration.number == ++last[migration.feature],
              "the migrations of a feature are 1, 2, 3, …");
}

void refuse_unknown(Applied applied, std::span<const Migration> migrations) {
    for (const Migration& migration : migrations)
        applied.erase({std::string(migration.feature), migration.number});
    if (applied.empty()) return;
    throw std::runtime_error(
        fmt::format("the database has migration {} of '{}', which this program does not know",
                    applied.begin()->second, applied.begin()->first));
}

}  // namespace

int migrate(Database& database, std::span<const Migration> migrations) {
    check_numbers(migrations);
    refuse_unknown(read_applied(database, migrations), migrations);
    ensure_table(database, migrations);
    int ran = 0;
    if (migrations.size() > 1 && read_applied(database, migrations).empty() &&
        apply_all(database, migrations))
        ran = static_cast<int>(migrations.size());
    for (std::size_t pass = 0; pass < migrations.size() + extra_passes_max; ++pass) {
        const Applied applied = read_applied(database, migrations);
        refuse_unknown(applied, migrations);
        const auto next = std::find_if(
            migrations.begin(), migrations.end(),
            [&](const Migration& migration) { return !is_applied(applied, migration); });
        if (next == migrations.end()) return ran;
        if (apply(database, *next, migrations)) ++ran;
    }
    throw std::runtime_error("the schema did not come up to date: others keep changing it");
}

SchemaState schema_state(Database& database, std::span<const Migration> migrations) {
    const Applied applied = read_applied(database, migrations);
    SchemaState state;
    for (const Migration& migration : migrations)
        ++(is_applied(applied, migration) ? state.applied : state.missing);
    state.unknown = static_cast<int>(applied.size()) - state.applied;
    return state;
}

}  // namespace berth::db
