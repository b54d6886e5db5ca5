#include "catalog/published.hpp"

#include <gtest/gtest.h>

namespace berth::catalog {
namespace {

// Counts how many of it live, and is whole: both halves say the same.
struct Value {
    explicit Value(int number) : first(number), second(number) { ++living; }
    ~Value() {
        first = second = -1;
        --living;
    }
    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;

    int first;
    int second;
    static inline std::atomic<int> living = 0;
};

TEST(CatalogPublished, WhatIsReadStaysUntilItsReadersAreGone) {
    {
        Published<Value> published(std::make_unique<const Value>(1));
        {
            const auto early = published.read();
            published.replace(std::make_unique<const Value>(2));
            published.replace(std::make_unique<const Value>(3));
            EXPECT_EQ(early->first, 1);
            EXPECT_EQ(published.read()->first, 3);
            EXPECT_EQ(Value::living, 2) << "the second had no reader";
            EXPECT_EQ(published.waiting(), 1U);
        }
        published.replace(std::make_unique<const Value>(4));
        EXPECT_EQ(Value::living, 1);
    }
    EXPECT_EQ(Value::living, 0);
}

TEST(CatalogPublished, ReadersOfManyThreadsSeeWholeValuesThatOnlyGrow) {
    constexpr int values = 2000;
    Published<Value> published(std::make_unique<const Value>(0));
    std::atomic<int> faults = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i)
        readers.emplace_back([&] {
            for (int last = 0; last < values;) {
                const auto value = published.read();
                if (value->first != value->second || value->first < last) ++faults;
                last = value->first;
            }
        });
    for (int i = 1; i <= values; ++i) published.replace(std::make_unique<const Value>(i));
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(faults, 0);
    published.replace(std::make_unique<const Value>(values + 1));
    EXPECT_EQ(Value::living, 1);
}

}  // namespace
}  // namespace berth::catalog
