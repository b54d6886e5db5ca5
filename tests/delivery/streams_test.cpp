// Streams: nothing is lost, repeated or out of order, whatever becomes of the connection.
#include <atomic>
#include <thread>

#include "delivery/readers.hpp"

namespace berth::test {
namespace {

class EventStreams : public ReadersTest {
protected:
    explicit EventStreams(std::map<std::string, std::string> flags = {})
        : ReadersTest(std::move(flags)) {}

    Person ada = join();
};

TEST_F(EventStreams, BeginNowAndSendTheSameBytesAsAPage) {
    tell(ada, 2);
    EventReader reader = open(ada);
    EXPECT_EQ(reader.last_id, "2") << "its place is told before anything happens";
    tell(ada);
    const Dispatched event = reader.next();
    EXPECT_EQ(event.id, "3");
    EXPECT_EQ(event.type, "ticket.answered");
    const std::string whole = page(ada, "after=2").body;
    EXPECT_NE(whole.find(event.data), std::string::npos) << whole << "\n" << event.data;
}

TEST_F(EventStreams, GoOnWhereTheClientSays) {
    tell(ada, 5);
    EventReader by_query = open(ada, "after=3");
    EXPECT_EQ(by_query.next().id, "4");
    EXPECT_EQ(by_query.next().id, "5");
    EventReader by_header(port(), as(ada) + "Last-Event-ID: 4\r\n", "after=1");
    EXPECT_EQ(by_header.head().status, 200);
    EXPECT_EQ(by_header.next().id, "5") << "the header wins";
}

TEST_F(EventStreams, RefuseByEnvelopesBeforeTheFirstByte) {
    tell(ada, 2);
    const struct {
        std::string fields;
        const char* query;
        int status;
        const char* says;
    } cases[] = {
        {as(ada), "after=9", 409, "EVENTS_EXPIRED"},
        {as(ada) + "Last-Event-ID: x\r\n", "", 422, "header.Last-Event-ID"},
        {as(ada), "types=nonsense", 422, "query.types"},
        {"", "", 401, "UNAUTHENTICATED"},
        {"Authorization: Bearer ark_nonsense\r\n", "", 401, "UNAUTHENTICATED"},
    };
    for (const auto& each : cases) {
        EventReader reader(port(), each.fields, each.query);
        const http::Response refused = reader.refusal();
        EXPECT_EQ(refused.status, each.status) << refused.body;
        EXPECT_NE(refused.body.find(each.says), std::string::npos) << refused.body;
    }
    EXPECT_EQ(streams(), 0U);
}

TEST_F(EventStreams, AHeadRequestHoldsNothingOpen) {
    RawSocket socket(port());
    socket.send("HEAD /api/v1/events/stream HTTP/1.1\r\nHost: a\r\n" + as(ada) + "\r\n");
    EXPECT_EQ(socket.receive(true).status, 404);
    EXPECT_EQ(streams(), 0U);
}

TEST_F(EventStreams, AFilterLetsThePlaceMoveOn) {
    EventReader reader = open(ada, "subject=wanted");
    tell(ada, 3, "other");
    tell(ada, 1, "wanted");
    EXPECT_EQ(reader.next().id, "4");
}

TEST_F(EventStreams, ManyOfOneAccountHearTheSame) {
    std::vector<EventReader> readers;
    readers.reserve(10);
    for (int i = 0; i < 10; ++i) readers.push_back(open(ada, i % 2 ? "types=ticket.*" : ""));
    tell(ada, 5);
    for (EventReader& reader : readers)
        for (int i = 1; i <= 5; ++i) EXPECT_EQ(reader.next().id, std::to_string(i));
}

TEST_F(EventStreams, EndWithALastWordWhenTheServerStops) {
    EventReader reader = open(ada);
    town.harness.app->stop();
    const Dispatched last = reader.next();
    EXPECT_EQ(last.type, "end");
    EXPECT_EQ(last.data, R"({"reason":"server_stops"})");
    reader.await_end();
}

// As if all that was told had become old, or its account had been erased, before it was read.
TEST_F(EventStreams, EndWhenNothingIsLeftOfWhatTheyMissed) {
    EventReader reader = open(ada);
    database().write([&](db::Transaction& tx) {
        tx.run("INSERT INTO event_heads (account_id, oldest, newest) VALUES ($1, 6, 5)", ada.id());
        tx.wake_after_commit(events::wake_key(ada.id()));
    });
    const Dispatched last = reader.next();
    EXPECT_EQ(last.type, "end");
    EXPECT_EQ(last.data, R"({"reason":"events_expired"})");
    reader.await_end();
}

// Events by the thousand while the connection is cut a hundred times, at any byte, and the reader
// moves between stream and page: each number once, rising.
TEST_F(EventStreams, LoseAndRepeatNothingWhileTheConnectionIsCut) {
    constexpr int all = 1000;
    std::thread writer([&] { tell(ada, all); });
    SeededRandom random(7);
    std::int64_t seen = 0;
    int cuts = 0;
    while (seen < all) {
        const std::string place = std::to_string(seen);
        if (random.below(3) == 0) {
            const auto some = page(ada, "limit=7&after=" + place);
            for (int i = 0;; ++i) {
                const std::string number = member(some.body, fmt::format("items.{}.sequence", i));
                if (number.empty()) break;
                ASSERT_EQ(number, std::to_string(++seen));
            }
            continue;
        }
        EventReader reader(port(), as(ada), "after=" + place);
        ASSERT_EQ(reader.head().status, 200);
        const auto wanted = static_cast<std::int64_t>(random.below(8));
        for (std::int64_t i = 0; i < wanted && seen < all; ++i)
            ASSERT_EQ(reader.next().id, std::to_string(++seen));
        ++cuts;  // the reader goes out of scope, whatever was on its way
    }
    writer.join();
    EXPECT_GE(cuts, 100);
    EXPECT_TRUE(eventually([&] { return streams() == 0; }));
}

// One that stops reading costs what is on its way, and delays nobody; when it reads again it has
// missed nothing.
TEST_F(EventStreams, OneThatStopsReadingIsServedFromTheTableLater) {
    EventReader stalled(port(), as(ada), "", "/api/v1/events/stream", {.receive_bytes = 4096});
    EXPECT_EQ(stalled.head().status, 200);
    EventReader quick = open(ada);
    constexpr int all = 2000;
    // Who takes nothing for 30 seconds is cut off: with a commit for each event it might be.
    std::thread writer([&] { tell_together(ada, all); });
    for (int i = 1; i <= all; ++i) ASSERT_EQ(quick.next().id, std::to_string(i));
    writer.join();
    for (int i = 1; i <= all; ++i) ASSERT_EQ(stalled.next().id, std::to_string(i));
}

struct FewStreams : EventStreams {
    FewStreams() : EventStreams({{"event-streams-per-account", "2"}, {"event-streams-max", "3"}}) {}
};

TEST_F(FewStreams, AreRefusedBeyondTheirLimitsAndFreeTheirPlaces) {
    const Person ben = join();
    auto first = std::make_unique<EventReader>(open(ada));
    EventReader second = open(ada);
    EventReader too_many(port(), as(ada));
    EXPECT_EQ(too_many.head().status, 429);
    EventReader third = open(ben);
    EventReader beyond(port(), as(ben));
    EXPECT_EQ(beyond.head().status, 503);
    first.reset();
    ASSERT_TRUE(eventually([&] { return streams() == 2; }));
    tell(ada);
    EXPECT_EQ(open(ada).last_id, "1");
    EXPECT_EQ(second.next().id, "1");
}

}  // namespace
}  // namespace berth::test
