// One SQLite connection and the transaction on it. Used by one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/engine.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace berth::db {

class SqliteConnection {
public:
    enum class Access { write, read };
    enum class Checkpoint {
        passive,  // copies what no reader holds back, waits for nobody
        restart,  // waits a moment for readers, so that the log can start over
    };

    // Throws Unavailable. Only the one writer may create the file, recover or checkpoint its log.
    SqliteConnection(const std::string& path, Access access);
    ~SqliteConnection();
    SqliteConnection(const SqliteConnection&) = delete;
    SqliteConnection& operator=(const SqliteConnection&) = delete;

    // Runs one statement; what goes wrong is put into `failure` and gives an empty result.
    Result run(std::string_view sql, std::span<const Param> params, Failure& failure);
    void script(std::string_view sql, Failure& failure);

    // False also after SQLite gave the transaction up by itself, as it may on a full disk.
    bool in_transaction() const;
    int log_frames() const { return log_frames_; }  // pages in the write-ahead log
    void checkpoint(Checkpoint mode);

private:
    struct Statement {
        sqlite3_stmt* handle = nullptr;
        std::vector<int> places;  // SQLite's parameter index of $1, $2, …; 0 where it is not used
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };

    Statement* prepare(std::string_view sql, Failure& failure);
    Failure bind(const Statement& statement, std::span<const Param> params);
    Result step(sqlite3_stmt* handle, Failure& failure);
    Failure last_failure() const;
    void forget_statements();
    void close();

    sqlite3* handle_ = nullptr;
    int log_frames_ = 0;
    std::unordered_map<std::string, Statement, TextHash, std::equal_to<>> statements_;
};

// Statements run when they are started; start() and finish() only divide the answer.
class SqliteTransaction final : public TicketTransaction {
public:
    SqliteTransaction(SqliteConnection& connection, Changes& changes, Mode mode)
        : TicketTransaction(changes, mode), connection_(connection) {}

    Result finish(Ticket ticket) override { return take(ticket); }
    void script(std::string_view sql) override;

protected:
    Ticket begin_statement(std::string_view sql, std::span<const Param> params) override;

private:
    SqliteConnection& connection_;
};

}  // namespace berth::db
