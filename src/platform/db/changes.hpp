// Lets what rows said be remembered for a moment. A database is opened with the columns that
// somebody remembers; every commit of this process that may have changed one of them is counted
// before write() returns. What was read is good while the count is the same and the moment is not
// over: a change is seen at once by the process that made it, and by others within the moment.
//
// A statement is judged by its text: it may change the columns of the table that it writes to and
// names. One that deletes, or is not understood, may change all of them. A needless count costs a
// look at the database, and nothing else.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "db/touched.hpp"

namespace berth::db {

struct Watched {
    std::string_view table;
    std::span<const std::string_view> columns;
};

class Changes {
public:
    explicit Changes(std::vector<Watched> watched) : watched_(std::move(watched)) {}

    // 0 when nothing is watched, and so nothing may be remembered.
    std::uint64_t count() const { return watched_.empty() ? 0 : count_.load(); }
    bool concern(std::string_view sql) const;
    void note() { count_.fetch_add(1); }

    Touched& touched() { return touched_; }
    const Touched& touched() const { return touched_; }

private:
    const std::vector<Watched> watched_;
    std::atomic<std::uint64_t> count_{1};
    Touched touched_;
};

// When something was read.
struct Reading {
    static constexpr Duration good_for = std::chrono::milliseconds(500);

    std::uint64_t changes = 0;  // of the transaction
    Time at;                    // no later than its begin

    // A clock that was set back makes it a reading of the future, which is not good either.
    bool is_good(std::uint64_t changes_now, Time now) const {
        return changes != 0 && changes == changes_now && at <= now && now < at + good_for;
    }
};

}  // namespace berth::db
