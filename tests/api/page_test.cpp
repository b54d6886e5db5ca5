// Lists: pages, signed cursors, limits.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

class Pages : public ::testing::Test {
protected:
    void SetUp() override {
        for (int i = 0; i < 45; ++i) {
            harness.clock.advance(std::chrono::milliseconds(1));
            harness.ask({.method = "POST",
                         .target = "/test/deposits",
                         .as = as,
                         .key = harness.new_id(),
                         .body = R"({"amount_micro":")" + std::to_string(i) + "\"}"});
        }
    }
    api::Page<Entry> page(const std::string& query) {
        const auto response = harness.ask({.target = "/test/entries" + query, .as = as});
        EXPECT_EQ(response.status, 200) << response.body;
        return wire::decode<api::Page<Entry>>(response.body, "response");
    }

    Harness harness;
    std::string as = "renter " + harness.new_id();
};

TEST_F(Pages, TwentyByDefaultAndEveryItemOnce) {
    std::vector<std::int64_t> amounts;
    std::string query;
    for (int pages = 1;; ++pages) {
        const auto part = page(query);
        for (const Entry& entry : part.items) amounts.push_back(entry.amount_micro.value.value);
        if (!part.next_cursor.value) {
            EXPECT_EQ(pages, 3);
            break;
        }
        EXPECT_EQ(part.items.size(), 20U);
        query = "?cursor=" + *part.next_cursor.value;
    }
    ASSERT_EQ(amounts.size(), 45U);
    EXPECT_TRUE(std::is_sorted(amounts.begin(), amounts.end()));
}

TEST_F(Pages, ALimitMayChangeBetweenPages) {
    const auto first = page("?limit=3");
    EXPECT_EQ(first.items.size(), 3U);
    const auto second = page("?limit=100&cursor=" + *first.next_cursor.value);
    EXPECT_EQ(second.items.size(), 42U);
    EXPECT_FALSE(second.next_cursor.value);
}

TEST_F(Pages, AFullLastPageHasNoNextCursor) { EXPECT_FALSE(page("?limit=45").next_cursor.value); }

TEST_F(Pages, AnEditedCursorIsRefused) {
    const std::string cursor = *page("?limit=3").next_cursor.value;
    for (std::size_t i = 0; i < cursor.size(); ++i) {
        std::string edited = cursor;
        edited[i] = edited[i] == 'A' ? 'B' : 'A';
        EXPECT_EQ(harness.ask({.target = "/test/entries?cursor=" + edited, .as = as}).status, 422)
            << i;
        EXPECT_EQ(
            harness.ask({.target = "/test/entries?cursor=" + cursor.substr(0, i), .as = as}).status,
            422);
    }
}

TEST_F(Pages, ACursorOfOtherFiltersIsRefused) {
    const std::string cursor = *page("?limit=3").next_cursor.value;
    EXPECT_EQ(harness.ask({.target = "/test/entries?credits_only=true&cursor=" + cursor, .as = as})
                  .status,
              422);
}

TEST(Cursors, AreBoundToTheirListAndSecret) {
    const api::Cursors cursors("secret");
    const std::string sealed = cursors.seal({"jobs", ""}, "last");
    EXPECT_EQ(cursors.open({"jobs", ""}, sealed), "last");
    EXPECT_THROW(cursors.open({"job", "s"}, sealed), Problem);
    EXPECT_THROW(cursors.open({"offers", ""}, sealed), Problem);
    EXPECT_THROW(api::Cursors("other").open({"jobs", ""}, sealed), Problem);
}

}  // namespace
}  // namespace berth::test
