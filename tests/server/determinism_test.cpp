// With time, randomness and transport injected, a run can be repeated to the byte: the same
// requests give the same answers and leave the same database.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

struct Trace {
    std::string answers;
    std::string records;
};

std::string flat(const http::Response& response) {
    std::string out = std::to_string(response.status) + "\n";
    for (const auto& field : response.headers) out += field.name + ": " + field.value + "\n";
    return out + response.body + "\n";
}

// A few hundred requests, good and bad, with time passing and background work in between.
Trace run_once(std::uint64_t seed, bool writer_thread) {
    const auto file = TestDatabase::sqlite();
    Harness::Options options;
    options.db = file->url();
    options.overrides.db.writer_thread = writer_thread;
    Harness harness(std::move(options));
    SeededRandom choices(seed);
    std::vector<std::string> accounts;
    std::string key;
    for (int i = 0; i < 5; ++i) accounts.push_back(harness.new_id());

    Trace trace;
    for (int step = 0; step < 400; ++step) {
        harness.clock.advance(Duration{static_cast<std::int64_t>(choices.below(30'000'000))});
        const std::string me = accounts[choices.below(accounts.size())];
        const std::string amount = std::to_string(choices.below(1000));
        if (choices.below(4) != 0) key = harness.new_id();  // else a replay or a conflict
        Ask ask;
        switch (choices.below(5)) {
            case 0:
                ask = {.method = "POST",
                       .target = "/test/deposits",
                       .as = "renter " + me,
                       .key = key,
                       .body = R"({"amount_micro":")" + amount + "\"}"};
                break;
            case 1:
                ask = {.method = "POST",
                       .target = "/test/transfers",
                       .as = "renter " + me,
                       .key = key,
                       .body = R"({"amount_micro":")" + amount + R"(","to":")" +
                               accounts[choices.below(accounts.size())] + "\"}"};
                break;
            case 2: ask = {.target = "/test/entries?limit=3", .as = "renter " + me}; break;
            case 3: ask = {.target = "/test/accounts/" + amount, .as = "renter " + me}; break;
            default: ask = {.target = "/api/v1/status"}; break;
        }
        trace.answers += flat(harness.ask(ask));
        if (step % 50 == 0) harness.app->worker().run_one();
    }
    trace.records = dump(harness.app->database());
    return trace;
}

TEST(SqliteOnlyDeterminism, TheSameRunGivesTheSameAnswersAndRecords) {
    const Trace first = run_once(7, true);
    const Trace second = run_once(7, true);
    EXPECT_EQ(first.answers, second.answers);
    EXPECT_EQ(first.records, second.records);
    EXPECT_GT(first.records.size(), 10'000U);
}

TEST(SqliteOnlyDeterminism, OneThreadGivesTheSameAsTheWriterThread) {
    const Trace threaded = run_once(8, true);
    const Trace alone = run_once(8, false);
    EXPECT_EQ(threaded.answers, alone.answers);
    EXPECT_EQ(threaded.records, alone.records);
}

TEST(SqliteOnlyDeterminism, AnotherSeedGivesAnotherRun) {
    EXPECT_NE(run_once(9, false).answers, run_once(10, false).answers);
}

}  // namespace
}  // namespace berth::test
