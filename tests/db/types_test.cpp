// Values go in and come out unchanged, on both engines.
#include <gtest/gtest.h>

#include <limits>

#include "base/random.hpp"
#include "db/tables.hpp"

namespace berth::test {
namespace {

using db::Blob;
using db::Transaction;

constexpr std::string_view select_thing =
    "SELECT amount, label, data, owner FROM things WHERE number = $1";

TEST(DbTypes, GivesBackWhatWasBound) {
    Tables database;
    SystemRandom random;
    const AccountId owner = AccountId::make(Time{1'700'000'000'000'000}, random);
    const std::string label = "naïve ☃ 𝄞";
    const std::string data("\0\x01\xff\0'\"", 6);
    database->write(
        [&](Transaction& tx) { tx.run(insert_thing, 1, Micro{42}, label, Blob{data}, owner); });
    database->read([&](Transaction& tx) {
        const db::Result result = tx.run(select_thing, 1);
        ASSERT_EQ(result.size(), 1u);
        EXPECT_EQ(result[0].get<Micro>(0), Micro{42});
        EXPECT_EQ(result[0].get<std::string>(1), label);
        EXPECT_EQ(result[0].get<std::string_view>(2), data);
        EXPECT_EQ(result[0].get<AccountId>(3), owner);
        EXPECT_EQ(result[0].get<Uuid>(3), owner.uuid);
        EXPECT_EQ(result[0].get<std::optional<std::string>>(1), label);
    });
}

TEST(DbTypes, KeepsNullApartFromEmpty) {
    Tables database;
    database->write([&](Transaction& tx) {
        tx.run(insert_thing, 1, std::optional<Micro>(), std::optional<std::string>(),
               std::optional<Blob>(), std::optional<AccountId>());
        tx.run(insert_thing, 2, 0, std::string_view(), Blob{}, std::optional<AccountId>());
    });
    database->read([&](Transaction& tx) {
        const db::Result null = tx.run(select_thing, 1);
        for (std::size_t column = 0; column < 4; ++column) EXPECT_TRUE(null[0].is_null(column));
        EXPECT_EQ(null[0].get<std::optional<Micro>>(0), std::nullopt);
        const db::Result empty = tx.run(select_thing, 2);
        EXPECT_EQ(empty[0].get<std::optional<Micro>>(0), Micro{0});
        EXPECT_EQ(empty[0].get<std::optional<std::string>>(1), "");
        EXPECT_EQ(empty[0].get<std::optional<std::string>>(2), "");
        EXPECT_TRUE(empty[0].is_null(3));
    });
}

TEST(DbTypes, HoldsIntegersToTheirExtremes) {
    Tables database;
    const std::int64_t values[] = {0,
                                   1,
                                   -1,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min(),
                                   1'000'000'000'000};
    int number = 0;
    for (const std::int64_t value : values) {
        database.add_counter(++number, value);
        EXPECT_EQ(database.counter(number), value);
    }
}

TEST(DbTypes, RefusesAnIntegerThatOverflows) {
    Tables database;
    database.add_counter(1, std::numeric_limits<std::int64_t>::max());
    database.add_counter(2, std::numeric_limits<std::int64_t>::min());
    const std::pair<int, int> cases[] = {{1, 1}, {2, -1}};
    for (const auto& [number, step] : cases) {
        try {
            database->write([number = number, step = step](Transaction& tx) {
                tx.run(add_to_counter, number, step);
            });
            ADD_FAILURE() << "an overflow was stored";
        } catch (const db::StatementError& error) {
            EXPECT_FALSE(error.constraint());
        }
    }
    EXPECT_THROW(database->read([](Transaction& tx) {
        return tx.run("SELECT value + 1 FROM counters WHERE number = 1");
    }),
                 db::StatementError);
    EXPECT_EQ(database.counter(1), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(database.counter(2), std::numeric_limits<std::int64_t>::min());
}

TEST(DbTypes, BindsByNumberNotByAppearance) {
    Tables database;
    database->write([](Transaction& tx) {
        tx.run("INSERT INTO counters (value, number) VALUES ($2, $1)", 7, 70);
        tx.run("UPDATE counters SET value = value + $3 WHERE value = $2 AND number = $1", 7, 70, 5);
    });
    EXPECT_EQ(database.counter(7), 75);
    database->read([](Transaction& tx) {
        const db::Result result = tx.run(
            "SELECT number FROM counters WHERE number + $2 = $1 AND value > $2 AND value < $1 + 70",
            8, 1);
        EXPECT_EQ(result.size(), 1u);
    });
}

TEST(DbTypes, RefusesTextThatIsNotText) {
    Tables database;
    const std::string bad[] = {std::string("a\0b", 3), "\xff", "\xc3", "\xed\xa0\x80"};
    for (const std::string& text : bad) {
        EXPECT_THROW(database->write([&](Transaction& tx) {
            tx.run(insert_thing, 1, 0, text, Blob{}, Uuid{});
        }),
                     db::StatementError);
    }
}

TEST(DbTypes, RefusesStatementsThatAreNotOneGoodStatement) {
    Tables database;
    const std::string_view bad[] = {
        "SELEC 1",
        "SELECT 1; SELECT 2",
        "SELECT no_such_column FROM counters",
        "SELECT number FROM counters WHERE number = $1",  // no value is given
        "SELECT \"no such column\" FROM counters",
    };
    for (const std::string_view sql : bad) {
        try {
            database->read([&](Transaction& tx) { tx.run(sql); });
            ADD_FAILURE() << sql;
        } catch (const db::StatementError& error) {
            EXPECT_FALSE(error.constraint()) << sql;
        }
    }
}

TEST(DbTypes, CountsAffectedRows) {
    Tables database;
    database->write([](Transaction& tx) {
        for (int i = 1; i <= 3; ++i) EXPECT_EQ(tx.run(insert_counter, i, i).affected, 1);
        EXPECT_EQ(tx.run("UPDATE counters SET value = 9 WHERE number >= 2").affected, 2);
        EXPECT_EQ(tx.run("UPDATE counters SET value = 9 WHERE number > 9").affected, 0);
        EXPECT_EQ(tx.run("SELECT number FROM counters").affected, 0);
        const db::Result changed =
            tx.run("UPDATE counters SET value = value + 1 WHERE number = 3 RETURNING value");
        EXPECT_EQ(changed.affected, 1);
        ASSERT_EQ(changed.size(), 1u);
        EXPECT_EQ(changed[0].get<int>(0), 10);
        EXPECT_EQ(tx.run("INSERT INTO counters (number, value) VALUES (1, 1) "
                         "ON CONFLICT (number) DO NOTHING")
                      .affected,
                  0);
        EXPECT_EQ(tx.run("DELETE FROM counters WHERE number <> 1").affected, 2);
    });
}

TEST(DbTypes, SortsTextByItsBytes) {
    Tables database;
    database->write([](Transaction& tx) {
        int number = 0;
        for (const char* label : {"b", "a", "B", "ä", "_", "Z"})
            tx.run(insert_thing, ++number, 0, label, Blob{}, Uuid{});
    });
    database->read([](Transaction& tx) {
        const db::Result rows = tx.run("SELECT label FROM things ORDER BY label");
        std::string order;
        for (std::size_t i = 0; i < rows.size(); ++i) order += rows[i].get<std::string>(0);
        EXPECT_EQ(order, "BZ_abä");
    });
}

TEST(DbTypes, UsesOneTextWithSeveralTypesOfParameters) {
    Tables database;
    database->read([](Transaction& tx) {
        constexpr std::string_view sql = "SELECT $1";
        EXPECT_EQ(tx.run(sql, 5)[0].get<int>(0), 5);
        EXPECT_EQ(tx.run(sql, "five")[0].get<std::string>(0), "five");
        EXPECT_EQ(tx.run(sql, Blob{"5"})[0].get<std::string>(0), "5");
        EXPECT_EQ(tx.run(sql, 6)[0].get<int>(0), 6);
    });
}

TEST(DbTypes, AColumnThatIsReadAsSomethingElseIsABug) {
    db::Result result;
    result.set_columns(3);
    result.add_integer(1);
    result.add_bytes("text");
    result.add_null();
    EXPECT_THROW(result[0].get<std::string>(0), Bug);
    EXPECT_THROW(result[0].get<int>(1), Bug);
    EXPECT_THROW(result[0].get<int>(2), Bug);
    EXPECT_THROW(result[0].get<int>(3), Bug);
    EXPECT_THROW(result[1].get<int>(0), Bug);
}

}  // namespace
}  // namespace berth::test
