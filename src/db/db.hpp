// The database as the rest of the program sees it: closures that run inside a transaction, SQL text
// that both engines understand, and rows. No driver type appears here.
//
// Every closure given to write() may run more than once (serialization failure, deadlock), so
// it must have no effect outside its transaction and no network I/O. write() returns only after the
// commit is durable.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/money.hpp"
#include "base/time.hpp"

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

// Raw bytes, where a plain string_view would be taken as text.
struct Blob {
    std::string_view bytes;
};

// One value to bind to $1, $2, …; it borrows what it points to.
struct Param {
    enum class Kind { integer, text, blob, uuid };

    Param(std::integral auto value) : kind(Kind::integer), integer(static_cast<std::int64_t>(value)) {}
    Param(std::string_view value) : kind(Kind::text), bytes(value) {}
    Param(const std::string& value) : kind(Kind::text), bytes(value) {}
    Param(const char* value) : kind(Kind::text), bytes(value) {}
    Param(Blob value) : kind(Kind::blob), bytes(value.bytes) {}
    Param(Micro value) : Param(value.value) {}
    Param(Time value) : Param(value.micros) {}
    Param(const Uuid& value) : kind(Kind::uuid), bytes(value.view()) {}
    template <class Tag>
    Param(const Id<Tag>& value) : Param(value.uuid) {}
    template <class T>
    Param(const std::optional<T>& value) : Param(value ? Param(*value) : Param(T{})) {
        null = !value;
    }

    Kind kind;
    bool null = false;
    std::int64_t integer = 0;
    std::string_view bytes;
};

// What a statement gave back. Values are read by column number with get<T>; asking for another type
// than the column has, or for a value where there is NULL, is a bug and ends the process.
class Result {
public:
    class Row {
    public:
        template <class T>
        T get(std::size_t column) const;
        bool is_null(std::size_t column) const;

    private:
        friend class Result;
        Row(const Result& result, std::size_t row) : result_(&result), row_(row) {}
        std::int64_t integer(std::size_t column) const;
        std::string_view bytes(std::size_t column) const;

        const Result* result_;
        std::size_t row_;
    };

    std::int64_t affected = 0;  // rows changed by INSERT, UPDATE, DELETE
    std::size_t size() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
    bool empty() const { return size() == 0; }
    Row operator[](std::size_t row) const { return {*this, row}; }

    // For the engines: cells are added row by row.
    void set_columns(std::size_t columns);
    void add_null() { cells_.push_back({Cell::Kind::null, 0, 0}); }
    void add_integer(std::int64_t value) { cells_.push_back({Cell::Kind::integer, value, 0}); }
    void add_bytes(std::string_view value);

private:
    struct Cell {
        enum class Kind { null, integer, bytes } kind;
        std::int64_t value;  // the integer, or the offset into arena_
        std::size_t length;
    };
    const Cell& cell(std::size_t row, std::size_t column) const;

    std::size_t columns_ = 0;
    std::vector<Cell> cells_;
    std::string arena_;
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

    // start() lets several statements that do not need each other's results travel to PostgreSQL
    // in one round trip. Each ticket is finished once, in any order; what is left over is finished
    // before the commit, so that no failure is lost.
    template <class... Params>
    Ticket start(std::string_view sql, const Params&... params) {
        const std::array<Param, sizeof...(Params)> list{Param(params)...};
        return begin_statement(sql, list);
    }
    virtual Result finish(Ticket ticket) = 0;

    // Several statements without parameters: migrations.
    virtual void script(std::string_view sql) = 0;

protected:
    virtual Ticket begin_statement(std::string_view sql, std::span<const Param> params) = 0;
};

enum class Engine { sqlite, postgres };

class Database {
public:
    using Work = std::function<void(Transaction&)>;

    virtual ~Database() = default;
    virtual Engine engine() const = 0;

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
    std::size_t write_queue_max = 1024;  // SQLite: closures waiting for the writer
    std::size_t group_max = 64;          // SQLite: closures in one commit
    bool writer_thread = true;           // SQLite: false runs writes on the caller (simulation)
    bool read_only = false;  // SQLite: also beside the process that has the file; write() throws
    std::size_t connections_max = 16;    // PostgreSQL connections; SQLite readers
    Duration wait_max = std::chrono::seconds(5);       // for a free connection
    Duration connect_max = std::chrono::seconds(3);    // for a new connection
    Duration statement_max = std::chrono::seconds(20); // for one statement on PostgreSQL
};

// "sqlite:PATH" or "postgres://…". Throws std::invalid_argument with one sentence if `url` is
// neither, and Held if the SQLite file belongs to another process.
std::unique_ptr<Database> open(const std::string& url, const Options& options = {});

// Value access, defined for every type a column may hold.
template <class T>
T Result::Row::get(std::size_t column) const {
    if constexpr (requires { typename T::value_type; T(std::nullopt); }) {
        if (is_null(column)) return std::nullopt;
        return get<typename T::value_type>(column);
    } else if constexpr (std::same_as<T, bool>) {
        return integer(column) != 0;
    } else if constexpr (std::integral<T>) {
        return static_cast<T>(integer(column));
    } else if constexpr (std::same_as<T, Micro> || std::same_as<T, Time>) {
        return T{integer(column)};
    } else if constexpr (std::same_as<T, Uuid>) {
        return uuid_from_bytes(bytes(column)).value();
    } else if constexpr (requires(T id) { id.uuid; }) {
        return T{get<Uuid>(column)};
    } else {
        return T(bytes(column));
    }
}

}  // namespace berth::db
