// A fresh, empty database for each test. BERTH_TEST_DB chooses the engine: unset or "sqlite" gives
// a SQLite file in a temporary folder; the postgres:// address of a maintenance database gives a
// new database on that server, dropped at the end.
//
// Suites named SqliteOnly… and PostgresOnly… are about one engine: they call sqlite() or make a
// PostgresCluster of their own, so they pass in either run, and ctest leaves out the other
// engine's (`ctest -E '^PostgresOnly'` and `ctest -E '^SqliteOnly'`).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "db/db.hpp"
#include "support/folder.hpp"

namespace berth::test {

class DatabaseTemplate;

class TestDatabase {
public:
    TestDatabase();
    explicit TestDatabase(const DatabaseTemplate& original);  // begins as a copy of it
    ~TestDatabase();
    TestDatabase(const TestDatabase&) = delete;
    TestDatabase& operator=(const TestDatabase&) = delete;

    static std::unique_ptr<TestDatabase> sqlite();
    // On the server with this maintenance database.
    static std::unique_ptr<TestDatabase> postgres(const std::string& server);

    const std::string& url() const { return url_; }
    // Where many race on a loaded machine the last of them waits long for a connection, so that
    // the default bound is not the service's.
    std::unique_ptr<db::Database> open(const db::Options& options = {
                                           .wait_max = std::chrono::seconds(60)}) const;

private:
    explicit TestDatabase(const std::string& server);  // empty: SQLite
    TestDatabase(const std::string& server, const std::string& original);

    std::string server_;
    std::string name_;
    std::unique_ptr<TemporaryFolder> folder_;
    std::string url_;
};

// A database that others begin as copies of: migrating takes longer than most tests do.
class DatabaseTemplate {
public:
    explicit DatabaseTemplate(const std::function<void(db::Database&)>& prepare);

private:
    friend class TestDatabase;
    TestDatabase database_;
};

// Every row of every table as text, in an order that does not depend on how it came there.
std::string dump(db::Database& database);

}  // namespace berth::test
