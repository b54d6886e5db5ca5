// The database as the rest of the program sees it: closures that run inside a transaction, SQL text
// that both engines understand, and rows. No driver type appears here.
//
// Every closure given to write() may run more than once (serialization failure, deadlock), so
// it must have no effect outside its transaction and no network I/O. write() returns only after the
// commit is durable.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/wake.hpp"
#include "db/changes.hpp"
#include "db/query.hpp"
#include "db/wakes.hpp"

namespace berth::db {

// The database cannot be reached, or the write queue is full: nothing was done, try again later.
class Unavailable : public std::exception {
public:
    explicit Unavailable(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

private:
    std::string message_;
};

// The SQLite file belongs to another process.
class Held : public std::invalid_argument {
public:
    Held(const std::string& message, int holder)
        : std::invalid_argument(message), holder_(holder) {}
    int holder() const { return holder_; }  // process id; 0 when it is not known

private:
    int holder_;
};

// The connection broke during COMMIT: the transaction may have happened or not. Whoever catches
// this looks for the effect (the idempotency row); running the closure again could do it twice.
class OutcomeUnknown : public std::exception {
public:
    const char* what() const noexcept override { return "the outcome of a commit is unknown"; }
};

// A statement was refused by the engine: a broken constraint or a mistake in our SQL.
class StatementError : public std::exception {
public:
    StatementError(std::string message, bool constraint)
        : message_(std::move(message)), constraint_(constraint) {}
    const char* what() const noexcept override { return message_.c_str(); }
    bool constraint() const { return constraint_; }  // UNIQUE, CHECK or NOT NULL said no

private:
    std::string message_;
    bool constraint_;
};

class Transaction;

// What a transaction gathers while it runs and writes as its very last statements, when every other
// row that it needs is locked. See Transaction::before_commit.
class Batch {
public:
    virtual ~Batch() = default;
    virtual void write(Transaction& tx) = 0;
    // Batches are written in this order, so that all transactions lock in one order.
    virtual int turn() const { return 0; }
};

// A transaction in progress. SQL is one statement with $1, $2, … and must be text that lives as
// long as the program (named constants next to the feature). After a statement failed, every later
// one fails and write() throws the failure, even if the closure caught it: use ON CONFLICT where a
// conflict is expected.
class Transaction {
public:
    // A statement that was started and not yet waited for.
    struct Ticket {
        std::size_t number;
    };

    virtual ~Transaction() = default;

    template <class... Params>
    Result run(std::string_view sql, const Params&... params) {
        return finish(start(sql, params...));
    }

    // All rows by their type; at most one row; and statements of one column, where no type is
    // needed. See query.hpp.
    template <class Row, class... Params>
    std::vector<Row> fetch(const Query<Row>& query, const Params&... params) {
        return query.rows(run(query.sql(), params...));
    }
    template <class Row, class... Params>
    std::optional<Row> fetch_one(const Query<Row>& query, const Params&... params) {
        return query.row(run(query.sql(), params...));
    }
    template <class T, class... Params>
    std::vector<T> fetch_values(std::string_view sql, const Params&... params) {
        return read_values<T>(run(sql, params...));
    }
    template <class T, class... Params>
    std::optional<T> fetch_value(std::string_view sql, const Params&... params) {
        return read_value<T>(run(sql, params...));
    }
    // Binds every member of the row, in the order of the columns.
    template <class Row>
    Result insert(const Query<Row>& query, const Row& row) {
        return finish(begin_statement(query.sql(), query.params(row)));
    }

    // start() lets several statements that do not need each other's results travel to PostgreSQL
    // in one round trip. Each ticket is finished once, in any order; what is left over is finished
    // before the commit, so that no failure is lost.
    template <class... Params>
    Ticket start(std::string_view sql, const Params&... params) {
        const std::array<Param, sizeof...(Params)> list{Param(params)...};
        return begin_statement(sql, list);
    }
    virtual Result finish(Ticket ticket) = 0;

    // Runs `work` and undoes what it wrote; gives what it returned. Rows that only `work` locked
    // are free again, and what it gathered for the end is forgotten. What it throws ends the
    // transaction like anything else, and is not to be caught within it.
    template <class Function>
    auto rehearse(Function&& work) {
        run("SAVEPOINT rehearsal");
        auto batches = std::exchange(batches_, {});
        auto wakes = std::exchange(wakes_, {});
        auto found = work();
        batches_ = std::move(batches);
        wakes_ = std::move(wakes);
        run("ROLLBACK TO SAVEPOINT rehearsal");
        run("RELEASE SAVEPOINT rehearsal");
        return found;
    }

    // The batch of this type, made when it is first asked for. Its write() runs once, after the
    // closure and before the commit; a closure that runs again gathers anew.
    template <class SomeBatch>
    SomeBatch& before_commit() {
        for (const auto& each : batches_)
            if (auto* found = dynamic_cast<SomeBatch*>(each.get())) return *found;
        batches_.push_back(std::make_unique<SomeBatch>());
        return static_cast<SomeBatch&>(*batches_.back());
    }
    // For who ends transactions: writes what was gathered.
    void write_batches() {
        std::sort(batches_.begin(), batches_.end(),
                  [](const auto& a, const auto& b) { return a->turn() < b->turn(); });
        for (std::size_t i = 0; i < batches_.size(); ++i) batches_[i]->write(*this);
        batches_.clear();
    }

    // Of a transaction that only reads, which would lose it.
    void require_no_batches() const {
        require(batches_.empty(), "what is written at the end is gathered where one writes");
    }

    // Wakes who waits for the key, in this process, once the transaction is committed.
    void wake_after_commit(WakeKey key) {
        for (const WakeKey& each : wakes_)
            if (each.topic == key.topic && each.name == key.name) return;
        wakes_.push_back(std::move(key));
    }
    const std::vector<WakeKey>& wakes() const { return wakes_; }

    // Several statements without parameters: migrations.
    virtual void script(std::string_view sql) = 0;

    // The count of changes before this read anything; 0 when what it reads may not be remembered.
    virtual std::uint64_t changes() const = 0;

    // The row of this id is changed here: who remembers it looks at the database for a while.
    virtual void touch(const Uuid& id) = 0;

protected:
    virtual Ticket begin_statement(std::string_view sql, std::span<const Param> params) = 0;

private:
    std::vector<std::unique_ptr<Batch>> batches_;
    std::vector<WakeKey> wakes_;
};

// What an operation inside a transaction is given.
struct Context {
    Transaction& tx;
    Random& random;
    Time now;
};

enum class Engine { sqlite, postgres };

class Database {
public:
    using Work = std::function<void(Transaction&)>;

    virtual ~Database() = default;
    virtual Engine engine() const = 0;
    // Commits of this process that may have changed what the options say is watched.
    virtual std::uint64_t changes() const = 0;
    // Whether a transaction of this process touched the id within the last seconds.
    virtual bool is_touched(const Uuid& id) const = 0;
    // Who is told of keys that were to be woken after a commit.
    Wakes& wakes() { return wakes_; }
    // For how long the one writer, where there is one, has been at what it writes now: until it is
    // done nobody else writes.
    virtual Duration writing_for() const { return {}; }

    // Runs `work` and commits, durably. What `work` throws undoes it and comes out here.
    template <class Function>
    auto write(Function&& function) {
        return call(&Database::run_write, std::forward<Function>(function));
    }
    // A consistent view; a statement that writes fails.
    template <class Function>
    auto read(Function&& function) {
        return call(&Database::run_read, std::forward<Function>(function));
    }

protected:
    virtual void run_write(const Work& work) = 0;
    virtual void run_read(const Work& work) = 0;

    // In front of the engines' own members, which use it to their end.
    Wakes wakes_;

private:
    template <class Function>
    auto call(void (Database::*run)(const Work&), Function&& function) {
        using Value = std::invoke_result_t<Function&, Transaction&>;
        if constexpr (std::is_void_v<Value>) {
            (this->*run)([&](Transaction& tx) { function(tx); });
        } else {
            std::optional<Value> value;
            (this->*run)([&](Transaction& tx) { value.emplace(function(tx)); });
            return std::move(*value);
        }
    }
};

struct Options {
    std::size_t write_queue_max = 1024;                  // SQLite: closures waiting for the writer
    Duration write_wait_max = std::chrono::seconds(10);  // SQLite: for the writer to begin with one
    std::size_t group_max = 64;                          // SQLite: closures in one commit
    bool writer_thread = true;  // SQLite: false runs writes on the caller (simulation)
    bool read_only = false;     // SQLite: also beside the process that has the file; write() throws
    std::size_t connections_max = 16;                   // PostgreSQL connections; SQLite readers
    Duration wait_max = std::chrono::seconds(5);        // for a free connection
    Duration connect_max = std::chrono::seconds(3);     // for a new connection
    Duration statement_max = std::chrono::seconds(20);  // for one statement on PostgreSQL
    std::vector<Watched> watched = {};                  // what somebody remembers
};

// "sqlite:PATH" or "postgres://…". Throws std::invalid_argument with one sentence if `url` is
// neither, and Held if the SQLite file belongs to another process.
std::unique_ptr<Database> open(const std::string& url, const Options& options = {});

}  // namespace berth::db
