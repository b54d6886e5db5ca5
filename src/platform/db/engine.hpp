// What the two engines share: how a failed statement is remembered, the book of tickets, and the
// rule that transactions do not nest. Only the files of this folder include it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/db.hpp"

namespace berth::db {

void configure_sqlite();  // before anything else of SQLite is used
std::unique_ptr<Database> open_sqlite(const std::string& path, const Options& options);
std::unique_ptr<Database> open_postgres(const std::string& url, const Options& options);

// Why a statement did not succeed. The first failure dooms its transaction: PostgreSQL takes no
// statement after it, and SQLite behaves the same so that a closure means the same on both.
struct Failure {
    enum class Kind {
        none,
        statement,    // refused by the engine: StatementError
        conflict,     // serialization failure or deadlock: the closure runs again
        lost,         // the connection is gone: the closure runs again on another one
        unavailable,  // the engine cannot serve now (disk full, timeout): no sense in insisting
    };

    Kind kind = Kind::none;
    bool constraint = false;
    std::string message;

    explicit operator bool() const { return kind != Kind::none; }
    bool retryable() const { return kind == Kind::conflict || kind == Kind::lost; }
    [[noreturn]] void raise() const;
};

// A transaction that keeps the results of started statements until they are asked for.
class TicketTransaction : public Transaction {
public:
    enum class Mode { write, read };

    TicketTransaction(Changes& changes, Mode mode)
        : changes_(changes),
          mode_(mode),
          changes_before_(mode == Mode::read ? changes.count() : 0) {
        results_.reserve(statements_usual);
    }
    const Failure& failure() const { return failure_; }
    std::uint64_t changes() const override { return changes_before_; }
    void touch(const Uuid& id) override { changes_.touched().note(id); }
    bool has_changes() const { return has_changes_; }  // of what is watched, or may have

protected:
    static constexpr std::size_t statements_usual = 4;

    // Before each statement.
    void judge(std::string_view sql) {
        if (mode_ == Mode::write && !has_changes_) has_changes_ = changes_.concern(sql);
    }

    // The result of a ticket that has been carried out; raises the failure if there is none.
    Result take(Ticket ticket);

    std::vector<std::optional<Result>> results_;  // by ticket number; empty when it failed
    Failure failure_;                             // the first one
    Changes& changes_;
    const Mode mode_;
    const std::uint64_t changes_before_;
    bool has_changes_ = false;
};

// Marks this thread as inside a closure of `database`. Opening a second transaction of the same
// database from within could wait for itself, so it is a bug and ends the process.
class NestingGuard {
public:
    explicit NestingGuard(const void* database) : before_(inside_) { inside_ = database; }
    ~NestingGuard() { inside_ = before_; }
    NestingGuard(const NestingGuard&) = delete;
    NestingGuard& operator=(const NestingGuard&) = delete;

    static void check_outside(const void* database);

private:
    static thread_local const void* inside_;
    const void* before_;
};

}  // namespace berth::db
