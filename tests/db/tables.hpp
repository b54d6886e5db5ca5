// The tables of these tests.
#pragma once

#include <memory>

#include "db/migrate.hpp"
#include "support/database.hpp"

namespace berth::test {

inline constexpr db::Migration tables[] = {{"tables", 1, R"(
    CREATE TABLE things (
        number @int PRIMARY KEY,
        amount @int CHECK (amount >= 0),
        label  @text,
        data   @bytes,
        owner  @id
    ) @strict;
    CREATE TABLE counters (
        number @int PRIMARY KEY,
        value  @int NOT NULL
    ) @strict;
)"}};

inline constexpr std::string_view insert_thing =
    "INSERT INTO things (number, amount, label, data, owner) VALUES ($1, $2, $3, $4, $5)";
inline constexpr std::string_view insert_counter =
    "INSERT INTO counters (number, value) VALUES ($1, $2)";
inline constexpr std::string_view add_to_counter =
    "UPDATE counters SET value = value + $2 WHERE number = $1";
inline constexpr std::string_view select_counter = "SELECT value FROM counters WHERE number = $1";
inline constexpr std::string_view count_counters = "SELECT count(*) FROM counters";

// A database with these tables in it, on the engine of this run or the one given.
struct Tables {
    explicit Tables(const db::Options& options = {})
        : Tables(std::make_unique<TestDatabase>(), options) {}
    Tables(std::unique_ptr<TestDatabase> place, const db::Options& options)
        : place_(std::move(place)), database_(place_->open(options)) {
        db::migrate(*database_, tables);
    }

    db::Database* operator->() { return database_.get(); }
    db::Database& operator*() { return *database_; }
    const std::string& url() const { return place_->url(); }

    std::int64_t counter(int number) {
        return database_->read([&](db::Transaction& tx) {
            return tx.run(select_counter, number)[0].get<std::int64_t>(0);
        });
    }
    std::int64_t counters() {
        return database_->read(
            [](db::Transaction& tx) { return tx.run(count_counters)[0].get<std::int64_t>(0); });
    }
    void add_counter(int number, std::int64_t value) {
        database_->write([&](db::Transaction& tx) { tx.run(insert_counter, number, value); });
    }
    void reopen(const db::Options& options = {}) {
        database_.reset();
        database_ = place_->open(options);
    }

private:
    std::unique_ptr<TestDatabase> place_;
    std::unique_ptr<db::Database> database_;
};

}  // namespace berth::test
