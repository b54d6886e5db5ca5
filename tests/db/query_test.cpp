// Rows by type: what is read follows the names of the members.
#include <gtest/gtest.h>

#include "db/migrate.hpp"
#include "db/name_list.hpp"
#include "support/database.hpp"

namespace berth::test {

enum class Mood { calm, STORMY, operator_ };
BOOST_DESCRIBE_ENUM(Mood, calm, STORMY, operator_)

// A text column with a type of its own.
struct Colour {
    std::string name;
};
inline std::string column_text(const Colour& colour) { return "colour:" + colour.name; }
inline bool read_column(std::string_view text, Colour& colour) {
    if (!text.starts_with("colour:")) return false;
    colour.name = text.substr(7);
    return true;
}

struct Bill {
    Uuid bill_id = {};
    Micro charge;
    Micro fee;
    Mood mood{};
    std::optional<Mood> last_mood = {};
    Colour colour;
    std::optional<Colour> other = {};
    std::optional<Time> paid_at = {};
    bool open = false;
};
BOOST_DESCRIBE_STRUCT(Bill, (),
                      (bill_id, charge, fee, mood, last_mood, colour, other, paid_at, open))

// The same row with the two amounts described the other way round.
struct Swapped {
    Micro fee;
    Micro charge;
};
BOOST_DESCRIBE_STRUCT(Swapped, (), (charge, fee))

struct OnlyFee {
    Micro fee;
};
BOOST_DESCRIBE_STRUCT(OnlyFee, (), (fee))

namespace {

constexpr db::Migration bills[] = {{"bills", 1, R"(
    CREATE TABLE bills (
        fee       @int NOT NULL,
        charge    @int NOT NULL,
        bill_id   @id PRIMARY KEY,
        mood      @text NOT NULL,
        last_mood @text,
        colour    @text NOT NULL,
        other     @text,
        paid_at   @int,
        open      @int NOT NULL
    ) @strict
)"}};

const db::Query<Bill> add_bill("INSERT INTO bills ({}) VALUES ({$})");
const db::Query<Bill> all_bills("SELECT {} FROM bills ORDER BY charge");
const db::Query<Swapped> swapped_bills("SELECT {} FROM bills ORDER BY charge");
const db::Query<Swapped> joined_bills(
    "SELECT {b.} FROM bills b JOIN bills c ON b.bill_id = c.bill_id WHERE b.charge = $1");
const db::Query<Bill> save_bill("UPDATE bills SET {=} WHERE bill_id = $1");
const db::Query<OnlyFee> take_bill("DELETE FROM bills WHERE charge = $1 RETURNING {}");
const db::Query<OnlyFee> too_wide("SELECT {}, charge FROM bills");

template <class Text>
concept Fetchable = requires(db::Transaction& tx, Text text) {
    tx.fetch(text);
};
static_assert(Fetchable<db::Query<Bill>>);
static_assert(!Fetchable<const char*> && !Fetchable<std::string_view>,
              "columns are not listed by hand");

struct Rows : ::testing::Test {
    Rows() : database(place.open()) { db::migrate(*database, bills); }

    Bill add(std::int64_t charge, std::int64_t fee) {
        Bill bill{
            .charge = Micro{charge}, .fee = Micro{fee}, .mood = Mood::STORMY, .colour = {"red"}};
        bill.bill_id.bytes.back() = static_cast<char>(charge);
        database->write([&](db::Transaction& tx) { tx.insert(add_bill, bill); });
        return bill;
    }

    TestDatabase place;
    std::unique_ptr<db::Database> database;
};

TEST_F(Rows, AreReadAsTheyWereWritten) {
    Bill full{.charge = Micro{1},
              .fee = Micro{2},
              .mood = Mood::operator_,
              .last_mood = Mood::calm,
              .colour = {"red"},
              .other = Colour{"blue"},
              .paid_at = Time{3},
              .open = true};
    database->write([&](db::Transaction& tx) { tx.insert(add_bill, full); });
    add(5, 6);
    const auto rows = database->read([](db::Transaction& tx) { return tx.fetch(all_bills); });
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].mood, Mood::operator_);
    EXPECT_EQ(rows[0].last_mood, Mood::calm);
    EXPECT_EQ(rows[0].colour.name, "red");
    EXPECT_EQ(rows[0].other.value().name, "blue");
    EXPECT_EQ(rows[0].paid_at, Time{3});
    EXPECT_TRUE(rows[0].open);
    EXPECT_EQ(rows[1].mood, Mood::STORMY);
    EXPECT_FALSE(rows[1].last_mood || rows[1].other || rows[1].paid_at || rows[1].open);
}

TEST_F(Rows, TwoAmountsCannotBeSwappedByTheOrderOfMembersColumnsOrTheTable) {
    add(100, 7);
    database->read([](db::Transaction& tx) {
        const Bill bill = tx.fetch(all_bills).at(0);
        const Swapped other = tx.fetch(swapped_bills).at(0);
        const auto joined = tx.fetch_one(joined_bills, Micro{100});
        EXPECT_EQ(bill.charge, Micro{100});
        EXPECT_EQ(bill.fee, Micro{7});
        EXPECT_EQ(other.charge, Micro{100});
        EXPECT_EQ(other.fee, Micro{7});
        EXPECT_EQ(joined.value().charge, Micro{100});
        EXPECT_EQ(joined.value().fee, Micro{7});
    });
}

TEST_F(Rows, AreSavedByTheirKey) {
    add(100, 7);
    add(101, 7);
    database->write([](db::Transaction& tx) {
        Bill bill = tx.fetch(all_bills).at(0);
        bill.fee = Micro{8};
        bill.paid_at = Time{9};
        EXPECT_EQ(tx.insert(save_bill, bill).affected, 1);
    });
    const auto rows = database->read([](db::Transaction& tx) { return tx.fetch(all_bills); });
    EXPECT_EQ(rows.at(0).charge, Micro{100});
    EXPECT_EQ(rows.at(0).fee, Micro{8});
    EXPECT_EQ(rows.at(0).paid_at, Time{9});
    EXPECT_EQ(rows.at(1).fee, Micro{7});
}

TEST_F(Rows, AnUpdateOrDeleteGivesBackRowsToo) {
    add(100, 7);
    database->write([](db::Transaction& tx) {
        EXPECT_EQ(tx.fetch_one(take_bill, Micro{100}).value().fee, Micro{7});
        EXPECT_FALSE(tx.fetch_one(take_bill, Micro{100}));
    });
}

TEST_F(Rows, AStatementOfOneColumnNeedsNoStruct) {
    add(100, 7);
    add(101, 8);
    database->read([](db::Transaction& tx) {
        EXPECT_EQ(tx.fetch_value<int>("SELECT COUNT(*) FROM bills"), 2);
        EXPECT_EQ(tx.fetch_values<Micro>("SELECT fee FROM bills ORDER BY fee"),
                  (std::vector{Micro{7}, Micro{8}}));
        EXPECT_EQ(tx.fetch_value<Micro>("SELECT fee FROM bills WHERE charge = 5"), std::nullopt);
        EXPECT_EQ(tx.fetch_value<Mood>("SELECT mood FROM bills WHERE charge = 100"), Mood::STORMY);
        EXPECT_EQ(
            tx.fetch_value<std::optional<Time>>("SELECT paid_at FROM bills WHERE charge = 100"),
            std::optional<std::optional<Time>>(std::in_place));
    });
}

TEST_F(Rows, WhatDoesNotFitIsABug) {
    add(100, 7);
    add(101, 8);
    const auto read = [&](auto function) { return [&, function] { database->read(function); }; };
    EXPECT_THROW(read([](db::Transaction& tx) { tx.fetch(too_wide); })(), Bug);
    EXPECT_THROW(
        read([](db::Transaction& tx) { tx.fetch_value<Micro>("SELECT fee FROM bills"); })(), Bug)
        << "two rows where one is wanted";
    EXPECT_THROW(
        read([](db::Transaction& tx) { tx.fetch_values<Mood>("SELECT colour FROM bills"); })(), Bug)
        << "a word that is none of ours";
    EXPECT_THROW(
        read([](db::Transaction& tx) { tx.fetch_values<Colour>("SELECT mood FROM bills"); })(), Bug)
        << "no colour";
    EXPECT_THROW(
        read([](db::Transaction& tx) { tx.fetch_values<Time>("SELECT paid_at FROM bills"); })(),
        Bug)
        << "NULL";
}

TEST(NameLists, SpellValuesAsTheyAreStoredInTheirOrder) {
    EXPECT_EQ(db::name_list(std::array{Mood::STORMY}), "('STORMY')");
    EXPECT_EQ(db::name_list(std::array{Mood::operator_, Mood::calm}), "('operator', 'calm')");
}

TEST(QueryDeathTest, EndsTheProcessAtTheStartOnAMistakeInItsText) {
    for (const char* text : {"SELECT fee FROM bills", "SELECT {fee} FROM bills", "SELECT { FROM",
                             "INSERT INTO bills VALUES ({$})"})
        EXPECT_DEATH(db::Query<OnlyFee>{text}, "") << text;
}

}  // namespace
}  // namespace berth::test
