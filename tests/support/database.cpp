#include "support/database.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

#include <libpq-fe.h>

#include <fmt/format.h>

namespace berth::test {
namespace {

constexpr const char* sqlite_file = "/test.db";

std::string server_from_environment() {
    const char* value = std::getenv("BERTH_TEST_DB");
    if (value == nullptr || std::string_view(value) == "sqlite") return {};
    return value;
}

// CREATE DATABASE and DROP DATABASE do not work inside a transaction, so not through db/ either.
void command(const std::string& server, const std::string& sql) {
    PGconn* connection = PQconnectdb(server.c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    const bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    const std::string reason = PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
    if (!done) throw std::runtime_error(sql + ": " + reason);
}

// The address with its database replaced: postgres://user@host:1/NAME?parameters
std::string with_name(const std::string& server, const std::string& name) {
    const std::size_t host = server.find("://") + 3;
    const std::size_t slash = std::min(server.find_first_of("/?", host), server.size());
    const std::size_t question = std::min(server.find('?', host), server.size());
    return server.substr(0, slash) + "/" + name + server.substr(question);
}

std::string unique_name() {
    static std::atomic<int> count = 0;
    return fmt::format("berth_test_{}_{}", getpid(), ++count);
}

std::vector<std::string> texts(db::Transaction& tx, const std::string& sql) {
    const db::Result rows = tx.run(sql);
    std::vector<std::string> out;
    for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows[i].get<std::string>(0));
    return out;
}

std::string row_as_text(db::Transaction& tx, db::Engine engine, const std::string& table) {
    if (engine == db::Engine::postgres)
        return fmt::format("SELECT CAST(t AS text) FROM \"{}\" t ORDER BY 1", table);
    std::string columns;
    for (const std::string& column :
         texts(tx, fmt::format("SELECT name FROM pragma_table_info('{}') ORDER BY cid", table)))
        columns += fmt::format("{}quote(\"{}\")", columns.empty() ? "" : " || ',' || ", column);
    return fmt::format("SELECT {} FROM \"{}\" ORDER BY 1", columns, table);
}

}  // namespace

TestDatabase::TestDatabase() : TestDatabase(server_from_environment()) {}

TestDatabase::TestDatabase(const std::string& server) : TestDatabase(server, "template1") {}

TestDatabase::TestDatabase(const DatabaseTemplate& original)
    : TestDatabase(original.database_.server_, original.database_.name_) {
    if (server_.empty())
        std::filesystem::copy_file(original.database_.folder_->path() + sqlite_file,
                                   folder_->path() + sqlite_file);
}

TestDatabase::TestDatabase(const std::string& server, const std::string& original)
    : server_(server) {
    if (server_.empty()) {
        folder_ = std::make_unique<TemporaryFolder>();
        url_ = "sqlite:" + folder_->path() + sqlite_file;
    } else {
        name_ = unique_name();
        command(server_, "CREATE DATABASE " + name_ + " TEMPLATE " + original);
        url_ = with_name(server_, name_);
    }
}

TestDatabase::~TestDatabase() {
    if (server_.empty()) return;
    try {
        command(server_, "DROP DATABASE " + name_ + " WITH (FORCE)");
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
    }
}

std::unique_ptr<TestDatabase> TestDatabase::sqlite() {
    return std::unique_ptr<TestDatabase>(new TestDatabase(""));
}

std::unique_ptr<TestDatabase> TestDatabase::postgres(const std::string& server) {
    return std::unique_ptr<TestDatabase>(new TestDatabase(server));
}

// Closed again, it is one file, and PostgreSQL copies it.
DatabaseTemplate::DatabaseTemplate(const std::function<void(db::Database&)>& prepare) {
    prepare(*database_.open());
}

std::unique_ptr<db::Database> TestDatabase::open(const db::Options& options) const {
    return db::open(url_, options);
}

std::string dump(db::Database& database) {
    const std::string tables =
        database.engine() == db::Engine::sqlite
            ? "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
            : "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    return database.read([&](db::Transaction& tx) {
        std::string out;
        for (const std::string& table : texts(tx, tables)) {
            out += table + "\n";
            for (const std::string& row : texts(tx, row_as_text(tx, database.engine(), table)))
                out += "  " + row + "\n";
        }
        return out;
    });
}

}  // namespace berth::test
