#include "db/sqlite_connection.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace berth::db {
namespace {

constexpr int busy_max_ms = 5000;
constexpr int checkpoint_wait_max_ms = 100;
constexpr std::size_t sqlite_statements_max = 1000;
constexpr int parameters_max = 1000;

// WAL with FULL: a commit is on the disk before it is acknowledged. The log file is cut back to the
// limit when it starts over. Statement journals of savepoints stay in memory, and up to 16 MiB of
// pages: what many requests change is not read again for each.
constexpr const char* writer_setup =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA cache_size = -16384;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA journal_size_limit = 67108864;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA wal_autocheckpoint = 0;"
    "SELECT count(*) FROM sqlite_schema;";

// A reader keeps up to 8 MiB of pages: a request finds its row there even where thousands of others
// are asked for in between. Mapping the file instead is slower, because every commit unmaps it.
constexpr const char* reader_setup =
    "PRAGMA query_only = ON;"
    "PRAGMA cache_size = -8192;";

Failure statement_failure(std::string message) {
    return {Failure::Kind::statement, false, std::move(message)};
}

// SQLite would make the file for everyone to read; its log and index take over what the file has.
// What cannot be done here fails when SQLite opens the file, with a better reason.
void keep_to_owner(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    (void)!::fchmod(file, 0600);
    ::close(file);
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

}  // namespace

SqliteConnection::SqliteConnection(const std::string& path, Access access) {
    const bool writes = access == Access::write;
    if (writes) keep_to_owner(path);
    const int flags = SQLITE_OPEN_NOMUTEX |
                      (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    Failure failure;
    if (sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
        failure = last_failure();
    } else {
        sqlite3_extended_result_codes(handle_, 1);
        sqlite3_busy_timeout(handle_, busy_max_ms);
        // A name in double quotes that is no column must be an error, as in PostgreSQL.
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
        if (!writes) sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        script(writes ? writer_setup : reader_setup, failure);
    }
    if (failure) {
        close();
        throw Unavailable(fmt::format("cannot open {}: {}", path, failure.message));
    }
    if (writes) {
        const auto hook = [](void* self, sqlite3*, const char*, int frames) {
            static_cast<SqliteConnection*>(self)->log_frames_ = frames;
            return SQLITE_OK;
        };
        sqlite3_wal_hook(handle_, hook, this);
    }
}

SqliteConnection::~SqliteConnection() { close(); }

Result SqliteConnection::run(std::string_view sql, std::span<const Param> params,
                             Failure& failure) {
    const Statement* statement = prepare(sql, failure);
    if (statement == nullptr) return {};
    Result result;
    failure = bind(*statement, params);
    if (!failure) result = step(statement->handle, failure);
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);  // they borrow what `params` points to
    return result;
}

void SqliteConnection::script(std::string_view sql, Failure& failure) {
    const int code = sqlite3_exec(handle_, std::string(sql).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) failure = last_failure();
}

bool SqliteConnection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void SqliteConnection::checkpoint(Checkpoint mode) {
    const bool restart = mode == Checkpoint::restart;
    if (restart) sqlite3_busy_timeout(handle_, checkpoint_wait_max_ms);
    // What it could not do now it does the next time: there is nothing to report.
    sqlite3_wal_checkpoint_v2(handle_, nullptr,
                              restart ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE,
                              nullptr, nullptr);
    if (restart) sqlite3_busy_timeout(handle_, busy_max_ms);
}

SqliteConnection::Statement* SqliteConnection::prepare(std::string_view sql, Failure& failure) {
    if (const auto found = statements_.find(sql); found != statements_.end()) return &found->second;
    if (statements_.size() >= sqlite_statements_max) forget_statements();

    Statement statement;
    const char* tail = nullptr;
    const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement.handle, &tail);
    if (code != SQLITE_OK) {
        failure = last_failure();
        return nullptr;
    }
    const std::size_t used = static_cast<std::size_t>(tail - sql.data());
    if (statement.handle == nullptr || !is_blank(sql.substr(used))) {
        sqlite3_finalize(statement.handle);
        failure = statement_failure("the SQL is not one statement");
        return nullptr;
    }
    // SQLite numbers parameters by first appearance, so `$2, $1` must be bound by name.
    const int count = sqlite3_bind_parameter_count(statement.handle);
    for (int place = 1; place <= count; ++place) {
        const char* name = sqlite3_bind_parameter_name(statement.handle, place);
        int number = 0;
        if (name != nullptr && name[0] == '$')
            std::from_chars(name + 1, name + std::string_view(name).size(), number);
        check(number >= 1 && number <= parameters_max, "parameters are named $1, $2, …");
        const std::size_t index = static_cast<std::size_t>(number) - 1;
        if (statement.places.size() <= index) statement.places.resize(index + 1);
        statement.places[index] = place;
    }
    return &statements_.emplace(std::string(sql), std::move(statement)).first->second;
}

Failure SqliteConnection::bind(const Statement& statement, std::span<const Param> params) {
    if (params.size() < statement.places.size())
        return statement_failure("the statement has more parameters than values");
    for (std::size_t i = 0; i < statement.places.size(); ++i) {
        const int place = statement.places[i];
        const Param& param = params[i];
        if (place == 0 || param.null) continue;  // what is not bound is NULL
        const std::string_view bytes = param.bytes();
        // A null pointer would bind NULL, and an empty string_view may hold one.
        const char* data = bytes.data() == nullptr ? "" : bytes.data();
        int code = SQLITE_OK;
        switch (param.kind) {
            case Param::Kind::integer:
                code = sqlite3_bind_int64(statement.handle, place, param.integer);
                break;
            case Param::Kind::text:
                // PostgreSQL refuses such text too.
                if (bytes.find('\0') != std::string_view::npos || !utf8_length(bytes))
                    return statement_failure("a text value is not valid UTF-8 without NUL");
                code = sqlite3_bind_text64(statement.handle, place, data, bytes.size(),
                                           SQLITE_STATIC, SQLITE_UTF8);
                break;
            case Param::Kind::blob:
            case Param::Kind::uuid:
                code =
                    sqlite3_bind_blob64(statement.handle, place, data, bytes.size(), SQLITE_STATIC);
                break;
        }
        if (code != SQLITE_OK) return last_failure();
    }
    return {};
}

Result SqliteConnection::step(sqlite3_stmt* handle, Failure& failure) {
    Result result;
    const int columns = sqlite3_column_count(handle);
    result.set_columns(static_cast<std::size_t>(columns));
    const sqlite3_int64 changes_before = sqlite3_total_changes64(handle_);
    int code = sqlite3_step(handle);
    for (; code == SQLITE_ROW; code = sqlite3_step(handle)) {
        for (int column = 0; column < columns; ++column) {
            switch (sqlite3_column_type(handle, column)) {
                case SQLITE_NULL: result.add_null(); break;
                case SQLITE_INTEGER:
                    result.add_integer(sqlite3_column_int64(handle, column));
                    break;
                case SQLITE_FLOAT:
                    // Integers that overflow become REAL in SQLite; they must not pass.
                    failure = statement_failure("a column gave a REAL value");
                    return {};
                default: {
                    const void* data = sqlite3_column_blob(handle, column);
                    const int size = sqlite3_column_bytes(handle, column);
                    result.add_bytes(
                        {static_cast<const char*>(data), static_cast<std::size_t>(size)});
                }
            }
        }
    }
    if (code != SQLITE_DONE) {
        failure = last_failure();
        return {};
    }
    result.affected = sqlite3_total_changes64(handle_) - changes_before;
    return result;
}

Failure SqliteConnection::last_failure() const {
    const int code = sqlite3_extended_errcode(handle_);
    Failure failure{Failure::Kind::statement, false, sqlite3_errmsg(handle_)};
    switch (code & 0xff) {
        case SQLITE_CONSTRAINT:
            // A value of the wrong type, such as an integer that overflowed into REAL, is a
            // mistake in our SQL and no conflict with other data.
            failure.constraint = code != SQLITE_CONSTRAINT_DATATYPE;
            break;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
        case SQLITE_FULL:
        case SQLITE_IOERR:
        case SQLITE_NOMEM:
        case SQLITE_CANTOPEN:
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: failure.kind = Failure::Kind::unavailable; break;
        default: break;
    }
    return failure;
}

void SqliteConnection::forget_statements() {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement.handle);
    statements_.clear();
}

void SqliteConnection::close() {
    forget_statements();
    const int code = sqlite3_close(handle_);
    check(code == SQLITE_OK, "a connection is closed when none of its statements is left");
}

SqliteTransaction::Ticket SqliteTransaction::begin_statement(std::string_view sql,
                                                             std::span<const Param> params) {
    const Ticket ticket{results_.size()};
    results_.emplace_back();
    if (failure_) return ticket;
    judge(sql);
    Result result = connection_.run(sql, params, failure_);
    if (!failure_) results_.back() = std::move(result);
    return ticket;
}

void SqliteTransaction::script(std::string_view sql) {
    judge(sql);
    if (!failure_) connection_.script(sql, failure_);
    if (failure_) failure_.raise();
}

}  // namespace berth::db
