// Numbers: 1, 2, 3 for each account, in the order of commits, for what was committed and nothing
// else.
#include <algorithm>
#include <atomic>
#include <thread>

#include "base/problem.hpp"
#include "events/stream.hpp"

namespace berth::test {
namespace {

using Lines = std::vector<std::string>;

TEST_F(Streams, CountEachAccountForItself) {
    tell(ada, "a");
    tell(ben, "b");
    tell(ada, "c");
    EXPECT_EQ(texts(ada), (Lines{R"(1 {"text":"a"})", R"(2 {"text":"c"})"}));
    EXPECT_EQ(texts(ben), (Lines{R"(1 {"text":"b"})"}));
    EXPECT_EQ(head(ada).newest, 2);
    EXPECT_EQ(head(AccountId::make(clock.now(), random)).newest, 0);
}

TEST_F(Streams, KeepTheOrderWithinATransaction) {
    database->write([&](db::Transaction& tx) {
        for (const char* text : {"a", "b", "c"}) {
            events::tell(context(tx), note_left, ada, "n", NoteFacts{text});
            events::tell(context(tx), note_left, ben, "n", NoteFacts{text});
        }
    });
    tell(ada, "d");
    const Lines expected{R"(1 {"text":"a"})", R"(2 {"text":"b"})", R"(3 {"text":"c"})"};
    EXPECT_EQ(texts(ben), expected);
    EXPECT_EQ(texts(ada, 3), (Lines{R"(4 {"text":"d"})"}));
}

TEST_F(Streams, GiveNoNumberToWhatWasNotCommitted) {
    EXPECT_THROW(database->write([&](db::Transaction& tx) {
        events::tell(context(tx), note_left, ada, "n", NoteFacts{"lost"});
        throw Problem(Code::conflict, "it is over");
    }),
                 Problem);
    tell(ada, "kept");
    EXPECT_EQ(texts(ada), (Lines{R"(1 {"text":"kept"})"}));
}

TEST_F(Streams, ForgetWhatWasOnlyRehearsed) {
    database->write([&](db::Transaction& tx) {
        events::tell(context(tx), note_left, ada, "n", NoteFacts{"before"});
        tx.rehearse([&] {
            events::tell(context(tx), note_left, ada, "n", NoteFacts{"rehearsed"});
            return 0;
        });
        events::tell(context(tx), note_left, ada, "n", NoteFacts{"after"});
    });
    EXPECT_EQ(texts(ada), (Lines{R"(1 {"text":"before"})", R"(2 {"text":"after"})"}));
}

TEST_F(Streams, WakeAfterTheCommitAndNotWithoutOne) {
    std::vector<std::string> woken;
    const auto listening = database->wakes().listen([&](const WakeKey& key) {
        EXPECT_EQ(key.topic, events::wake_topic);
        woken.push_back(key.name);
    });
    EXPECT_THROW(database->write([&](db::Transaction& tx) {
        events::tell(context(tx), note_left, ada, "n", NoteFacts{"lost"});
        throw Problem(Code::conflict, "it is over");
    }),
                 Problem);
    EXPECT_TRUE(woken.empty());
    tell(ben, "kept");
    EXPECT_EQ(woken, (Lines{to_string(ben)}));
}

TEST_F(Streams, CutWhatIsTooLongAndRefuseNothingForIt) {
    tell(ada, std::string(events::data_bytes_max + 1, 'x'));
    EXPECT_EQ(texts(ada), (Lines{"1 {}"}));
    EXPECT_EQ(events::in_brief(std::string(1000, 'x')).size(), 500U);
    EXPECT_EQ(events::in_brief(std::string(499, 'x') + "é").size(), 499U) << "no half a letter";
}

// Each writer tells both accounts, half of them in the other order: nobody waits in a circle, and
// whoever sees a number sees all before it.
TEST_F(Streams, HaveNoGapForAnyReaderWhileManyWrite) {
    constexpr int writers = 64;
    constexpr int each = 10;
    std::atomic<int> writing{writers};
    std::vector<std::thread> threads;
    for (int w = 0; w < writers; ++w)
        threads.emplace_back([&, w] {
            SeededRandom own(static_cast<std::uint64_t>(w) + 1);
            for (int i = 0; i < each; ++i)
                database->write([&](db::Transaction& tx) {
                    const db::Context mine{tx, own, clock.now()};
                    events::tell(mine, note_left, w % 2 ? ada : ben, "n", NoteFacts{"1"});
                    events::tell(mine, note_left, w % 2 ? ben : ada, "n", NoteFacts{"2"});
                });
            --writing;
        });
    for (int r = 0; r < 3; ++r)
        threads.emplace_back([&] {
            std::int64_t seen = 0;
            bool last_look = false;
            while (!last_look || seen < writers * each) {
                last_look = writing == 0;
                const auto page = database->read(
                    [&](db::Transaction& tx) { return events::read_after(tx, ada, seen, 100); });
                for (const events::Kept& kept : page)
                    ASSERT_EQ(kept.event.sequence.value, ++seen) << "a number was missing";
                if (last_look && page.empty()) break;
            }
            EXPECT_EQ(seen, writers * each);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(head(ada).newest, writers * each);
    EXPECT_EQ(head(ben).newest, writers * each);
}

}  // namespace
}  // namespace berth::test
