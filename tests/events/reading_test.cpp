// Reading: filters that move the place on, audiences, and what is no longer kept.
#include "events/registry.hpp"
#include "events/stream.hpp"

namespace berth::test {
namespace {

using std::chrono::hours;

class Reading : public Streams {
protected:
    events::Stretch read(std::int64_t after, const events::Filter& filter,
                         std::int64_t items_max = 100) {
        return database->read([&](db::Transaction& tx) {
            return events::read_stretch(tx, ada, after, filter, items_max);
        });
    }
    std::int64_t prune(Duration age, std::int64_t rows = 1000) {
        return database->write(
            [&](db::Transaction& tx) { return events::prune(tx, clock.now() - age, rows); });
    }
};

TEST_F(Reading, AFilterMovesThePlaceOn) {
    tell(ada, "a", note_left);
    tell(ada, "b", memo_sent);
    tell(ada, "c", note_hosted);
    const auto memos = read(0, {.types = {"memo.*"}});
    ASSERT_EQ(memos.items.size(), 1U);
    EXPECT_EQ(memos.items[0].sequence.value, 2);
    EXPECT_EQ(memos.through, 3) << "nothing is missing up to there";
    EXPECT_TRUE(read(3, {.types = {"memo.*"}}).items.empty());
    EXPECT_EQ(read(0, {.types = {"note.left", "note.hosted"}}).items.size(), 2U);
    EXPECT_TRUE(read(0, {.types = {"note"}}).items.empty()) << "a part of a word is no type";
}

TEST_F(Reading, APageEndsBeforeWhatItHasNoRoomFor) {
    for (int i = 0; i < 5; ++i) tell(ada, std::to_string(i), i % 2 ? memo_sent : note_left);
    const auto first = read(0, {.types = {"note.left"}}, 2);
    EXPECT_EQ(first.items.size(), 2U);
    EXPECT_EQ(first.through, 3);
    const auto rest = read(first.through, {.types = {"note.left"}}, 2);
    ASSERT_EQ(rest.items.size(), 1U);
    EXPECT_EQ(rest.items[0].sequence.value, 5);
    EXPECT_EQ(rest.through, 5);
}

TEST_F(Reading, EachScopeHearsItsPart) {
    tell(ada, "a", note_left);
    tell(ada, "b", memo_sent);
    tell(ada, "c", note_hosted);
    const auto numbers = [&](events::Hearing hearing) {
        std::string all;
        for (const events::Event& event : read(0, {.hearing = hearing}).items)
            all += std::to_string(event.sequence.value);
        return all;
    };
    EXPECT_EQ(numbers({true, true}), "123");
    EXPECT_EQ(numbers({true, false}), "12");
    EXPECT_EQ(numbers({false, true}), "13");
    EXPECT_EQ(numbers({false, false}), "1");
}

TEST_F(Reading, ASubjectIsOneThing) {
    tell(ada, "a", note_left, "one");
    tell(ada, "b", note_left, "two");
    const auto found = read(0, {.subject_id = "two"});
    ASSERT_EQ(found.items.size(), 1U);
    EXPECT_EQ(found.items[0].subject.id, "two");
}

TEST_F(Reading, TheSameBytesAreMadeOfAnEventEverywhere) {
    tell(ada, "a", note_left, "one");
    const auto found =
        database->read([&](db::Transaction& tx) { return events::find_event(tx, ada, 1).value(); });
    EXPECT_EQ(events::text_of(found.event),
              R"({"event_id":")" + to_string(found.event.event_id) +
                  R"(","sequence":"1","type":"note.left","timestamp":")" + to_rfc3339(clock.now()) +
                  R"(","subject":{"kind":"note","id":"one"},"data":{"text":"a"}})");
}

TEST_F(Reading, WhatIsOldGoesFromTheBeginningTogetherWithItsNumber) {
    for (int i = 0; i < 3; ++i) tell(ada, "old");
    tell(ben, "old");
    clock.advance(hours(48));
    tell(ada, "young");
    EXPECT_EQ(prune(hours(24)), 4);
    EXPECT_EQ(head(ada).oldest, 4);
    EXPECT_EQ(head(ada).newest, 4);
    EXPECT_TRUE(head(ada).reaches(3));
    EXPECT_FALSE(head(ada).reaches(2)) << "number 3 is gone";
    EXPECT_FALSE(head(ada).reaches(5));
    EXPECT_EQ(head(ben).oldest, 2);
    EXPECT_EQ(head(ben).newest, 1);
    EXPECT_TRUE(head(ben).reaches(1)) << "who has everything misses nothing";
    tell(ben, "next");
    EXPECT_EQ(texts(ben), std::vector<std::string>{R"(2 {"text":"next"})"});
    EXPECT_EQ(prune(hours(24)), 0);
}

TEST_F(Reading, OldOnesGoInPasses) {
    for (int i = 0; i < 5; ++i) tell(ada, "old");
    clock.advance(hours(48));
    EXPECT_EQ(prune(hours(24), 2), 2);
    EXPECT_EQ(head(ada).oldest, 3);
    EXPECT_EQ(prune(hours(24), 10), 3);
    EXPECT_EQ(head(ada).oldest, 6);
}

TEST_F(Reading, ManyStreamsAreShortenedAFewAtATime) {
    std::vector<AccountId> all;
    database->write([&](db::Transaction& tx) {
        for (int i = 0; i < 150; ++i) {
            all.push_back(AccountId::make(clock.now(), random));
            events::tell(context(tx), note_left, all.back(), "n1", NoteFacts{"old"});
        }
    });
    clock.advance(hours(48));
    int passes = 1;
    while (prune(hours(24)) == 1000) ++passes;
    EXPECT_EQ(passes, 3);
    for (const AccountId& account : all) EXPECT_EQ(head(account).oldest, 2);
}

TEST_F(Reading, ARestoredDatabaseGivesNoNumberTwice) {
    tell(ada, "a");
    tell(ada, "b");
    const std::int64_t by =
        database->write([](db::Transaction& tx) { return events::renumber(tx); });
    EXPECT_EQ(head(ada).oldest, by + 1);
    EXPECT_EQ(head(ada).newest, by + 2);
    EXPECT_FALSE(head(ada).reaches(2)) << "who has read what is lost is told so";
    EXPECT_FALSE(head(ada).reaches(40));
    EXPECT_EQ(texts(ada, by + 1),
              std::vector<std::string>{std::to_string(by + 2) + R"( {"text":"b"})"});
    tell(ada, "c");
    EXPECT_EQ(head(ada).newest, by + 3);
}

// Of two servers one may be a little ahead.
TEST_F(Reading, AnOlderOneBehindAYoungerOneWaitsForIt) {
    tell(ada, "ahead");
    clock.advance(-hours(2));
    tell(ada, "behind");
    clock.advance(hours(25));
    EXPECT_EQ(prune(hours(24)), 0) << "the first is young enough";
    clock.advance(hours(2));
    EXPECT_EQ(prune(hours(24)), 2);
}

TEST_F(Reading, AnErasedAccountKeepsItsNumbers) {
    tell(ada, "a");
    tell(ada, "b");
    database->write([&](db::Transaction& tx) {
        events::tell(context(tx), note_left, ada, "n1", NoteFacts{"on the way out"});
        events::forget(tx, ada);
        events::tell(context(tx), note_left, ada, "n1", NoteFacts{"and afterwards"});
    });
    EXPECT_TRUE(texts(ada).empty());
    EXPECT_EQ(head(ada).oldest, 3);
    EXPECT_EQ(head(ada).newest, 2);
    tell(ada, "c");
    EXPECT_EQ(texts(ada), std::vector<std::string>{R"(3 {"text":"c"})"});
}

TEST_F(Reading, TellsWhoWasToldLately) {
    tell(ada, "a");
    clock.advance(hours(1));
    tell(ben, "b");
    tell(ben, "c");
    const auto told = database->read([&](db::Transaction& tx) {
        return events::told_since(tx, clock.now() - std::chrono::minutes(1));
    });
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].account_id, ben);
    EXPECT_EQ(told[0].newest, 2);
    const std::vector<AccountId> both{ada, ben, AccountId::make(clock.now(), random)};
    const auto heads =
        database->read([&](db::Transaction& tx) { return events::heads_of(tx, both); });
    ASSERT_EQ(heads.size(), 2U);
    EXPECT_EQ(heads[0].newest, 1);
    EXPECT_EQ(heads[1].newest, 2);
}

TEST(EventRegistry, KnowsWhatAFilterMeans) {
    events::Registry registry;
    const std::vector<events::DeclaredKind> kinds{note_left, memo_sent};
    registry.add(kinds);
    EXPECT_TRUE(registry.means_any("note.left"));
    EXPECT_TRUE(registry.means_any("memo.*"));
    EXPECT_FALSE(registry.means_any("memo"));
    EXPECT_FALSE(registry.means_any("*"));
    EXPECT_EQ(registry.find("memo.sent")->audience, events::Audience::renter);
}

}  // namespace
}  // namespace berth::test
