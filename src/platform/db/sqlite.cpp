// SQLite as a Database: a lock file, one writer, and read-only readers.
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/check.hpp"
#include "db/file_lock.hpp"
#include "db/pool.hpp"
#include "db/sqlite_connection.hpp"
#include "db/sqlite_writer.hpp"

namespace berth::db {
namespace {

class SqliteDatabase final : public Database {
public:
    SqliteDatabase(const std::string& path, const Options& options)
        : changes_(options.watched), readers_({options.connections_max, options.wait_max}, [path] {
              return std::make_unique<SqliteConnection>(path, SqliteConnection::Access::read);
          }) {
        if (options.read_only) return;
        lock_.emplace(path);
        writer_.emplace(path, options, this, changes_, wakes_);
    }

    Engine engine() const override { return Engine::sqlite; }
    std::uint64_t changes() const override { return changes_.count(); }
    Duration writing_for() const override { return writer_ ? writer_->writing_for() : Duration{}; }
    bool is_touched(const Uuid& id) const override { return changes_.touched().has(id); }

protected:
    void run_write(const Work& work) override {
        NestingGuard::check_outside(this);
        if (!writer_) throw StatementError("the database was opened for reading alone", false);
        writer_->write(work);
    }

    void run_read(const Work& work) override {
        NestingGuard::check_outside(this);
        auto connection = readers_.take();
        SqliteTransaction transaction(*connection, changes_, SqliteTransaction::Mode::read);
        Failure failure;
        connection->run("BEGIN", {}, failure);
        if (failure) failure.raise();
        try {
            const NestingGuard guard(this);
            work(transaction);
            transaction.require_no_batches();
            if (transaction.failure()) transaction.failure().raise();
        } catch (...) {
            end_read(connection);
            throw;
        }
        end_read(connection);
    }

private:
    using Readers = Pool<SqliteConnection>;

    static void end_read(Readers::Lease& connection) {
        Failure failure;
        if (connection->in_transaction()) connection->run("ROLLBACK", {}, failure);
        if (failure) connection.drop();
    }

    // In this order: the lock is taken first and let go last, readers close before the writer. A
    // database that is only read has neither lock nor writer.
    Changes changes_;
    std::optional<FileLock> lock_;
    std::optional<SqliteWriter> writer_;
    Readers readers_;
};

}  // namespace

// SQLite would count its memory under one lock, where all readers meet many times a statement.
void configure_sqlite() {
    static const int configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    check(configured == SQLITE_OK, "nobody used SQLite before");
}

std::unique_ptr<Database> open_sqlite(const std::string& path, const Options& options) {
    configure_sqlite();
    if (path.empty() || path.front() == ':')
        throw std::invalid_argument("sqlite: must be followed by the path of a file");
    // Two names of one file must meet at one lock.
    std::error_code error;
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
    if (error)
        throw std::invalid_argument(
            fmt::format("cannot find the database file {}: {}", path, error.message()));
    try {
        return std::make_unique<SqliteDatabase>(canonical.string(), options);
    } catch (const Unavailable& unavailable) {
        throw std::invalid_argument(unavailable.what());
    }
}

}  // namespace berth::db
