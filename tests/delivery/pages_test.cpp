// Pages of events: where to go on, filters, waiting, and what is refused.
#include <future>

#include "delivery/readers.hpp"
#include "delivery/settings.hpp"
#include "events/keeping.hpp"

namespace berth::test {
namespace {

class EventPages : public ReadersTest {
protected:
    Person ada = join();

    static std::string numbers(const http::Response& page) {
        std::string all;
        for (int i = 0;; ++i) {
            const std::string number = member(page.body, fmt::format("items.{}.sequence", i));
            if (number.empty()) return all;
            all += number + " ";
        }
    }
};

TEST_F(EventPages, GoOnAtTheirNumber) {
    tell(ada, 3);
    const auto first = page(ada, "limit=2");
    ASSERT_EQ(first.status, 200) << first.body;
    EXPECT_EQ(numbers(first), "1 2 ");
    EXPECT_EQ(member(first.body, "through"), "2");
    EXPECT_EQ(member(first.body, "oldest"), "1");
    EXPECT_EQ(member(first.body, "newest"), "3");
    EXPECT_EQ(numbers(page(ada, "after=2")), "3 ");
    EXPECT_EQ(numbers(page(ada, "limit=2&cursor=" + member(first.body, "next_cursor"))), "3 ");
    const auto last = page(ada, "after=3");
    EXPECT_EQ(numbers(last), "");
    EXPECT_EQ(member(last.body, "through"), "3");
    EXPECT_EQ(member(last.body, "next_cursor"), "null");
}

TEST_F(EventPages, ShowOneAccountItsOwnAlone) {
    const Person ben = join();
    tell(ada, 2);
    EXPECT_EQ(numbers(page(ben)), "");
    EXPECT_EQ(member(page(ben).body, "newest"), "0");
}

TEST_F(EventPages, SayThatTheNumberIsNotKeptOrNotThere) {
    tell(ada, 3);
    town.harness.clock.advance(std::chrono::hours(48));
    tell(ada);
    database().write([&](db::Transaction& tx) {
        return events::prune(tx, town.harness.clock.now() - std::chrono::hours(24), 100);
    });
    EXPECT_EQ(numbers(page(ada, "after=3")), "4 ");
    for (const char* after : {"0", "2", "5", "9223372036854775807"}) {
        const auto refused = page(ada, std::string("after=") + after);
        EXPECT_EQ(refused.status, 409) << after;
        EXPECT_EQ(error_code(refused), "EVENTS_EXPIRED") << refused.body;
        EXPECT_EQ(member(refused.body, "current.oldest"), "4");
        EXPECT_EQ(member(refused.body, "current.newest"), "4");
    }
    EXPECT_EQ(numbers(page(ada)), "4 ") << "without a number, all that is kept";
}

TEST_F(EventPages, NameTheMemberThatIsWrong) {
    const struct {
        const char* query;
        const char* named;
    } cases[] = {
        {"after=-1", "query.after"},
        {"after=x", "query.after"},
        {"after=01", "query.after"},
        {"types=rental", "query.types"},
        {"types=*", "query.types"},
        {"types=ticket.answered,nonsense.*", "query.types"},
        {"types=ticket.answered,,", "query.types"},
        {"types=", "query.types"},
        {"wait_s=31", "query.wait_s"},
        {"limit=0", "query.limit"},
        {"limit=101", "query.limit"},
        {"cursor=made-up", "query.cursor"},
        {"subject=", "query.subject"},
    };
    for (const auto& each : cases) {
        const auto refused = page(ada, each.query);
        EXPECT_EQ(refused.status, 422) << each.query;
        EXPECT_NE(error_message(refused).find(each.named), std::string::npos) << refused.body;
    }
    tell(ada, 3);
    const std::string cursor = member(page(ada, "limit=1").body, "next_cursor");
    EXPECT_EQ(page(ada, "cursor=" + cursor + "&types=ticket.*").status, 422)
        << "a cursor is for its filter";
    EXPECT_EQ(page(ada, "after=1&cursor=" + cursor).status, 422);
}

TEST_F(EventPages, WaitForTheNextEventWithoutAThread) {
    std::vector<std::future<http::Response>> waiting;
    for (int i = 0; i < 10; ++i)
        waiting.push_back(std::async(std::launch::async, [this] {
            RawSocket socket(port());
            socket.send("GET /api/v1/events?after=0&wait_s=30 HTTP/1.1\r\nHost: a\r\n" + as(ada) +
                        "\r\n");
            return socket.receive();
        }));
    ASSERT_TRUE(eventually(
        [&] { return town.harness.app->service().notifier().waiting() == waiting.size(); }));
    tell(ada);
    for (auto& each : waiting) EXPECT_EQ(numbers(each.get()), "1 ");
}

TEST_F(EventPages, AFilterThatLeavesOutAllStillWaitsOn) {
    auto waiting = std::async(std::launch::async, [this] {
        RawSocket socket(port());
        socket.send("GET /api/v1/events?after=0&wait_s=30&subject=wanted HTTP/1.1\r\nHost: a\r\n" +
                    as(ada) + "\r\n");
        return socket.receive();
    });
    ASSERT_TRUE(eventually([&] { return town.harness.app->service().notifier().waiting() == 1; }));
    tell(ada, 1, "other");
    tell(ada, 1, "wanted");
    const auto found = waiting.get();
    EXPECT_EQ(numbers(found), "2 ");
    EXPECT_EQ(member(found.body, "through"), "2");
}

// It would read all of them again with every event that comes.
TEST_F(EventPages, AFilterThatHasLeftOutManyIsAnsweredWithItsPlace) {
    database().write([&](db::Transaction& tx) {
        for (int i = 0; i < 100; ++i)
            events::tell({tx, town.harness.random, town.harness.clock.now()},
                         tickets::ticket_answered, ada.id(), "other",
                         tickets::TicketFacts{tickets::TicketState::answered});
    });
    RawSocket socket(port());
    const auto began = std::chrono::steady_clock::now();
    socket.send("GET /api/v1/events?after=0&wait_s=30&subject=wanted HTTP/1.1\r\nHost: a\r\n" +
                as(ada) + "\r\n");
    const auto found = socket.receive();
    EXPECT_LT(std::chrono::steady_clock::now() - began, 25s) << "it does not wait";
    EXPECT_EQ(numbers(found), "");
    EXPECT_EQ(member(found.body, "through"), "100");
}

TEST_F(EventPages, ChangesOfTheWayInAreTold) {
    Browser person = town.person("ann@example.org");
    const std::string key = town.key_of(person);
    const auto told = town.with_key(key, "GET", "/api/v1/events?types=account.*");
    EXPECT_EQ(member(told.body, "items.0.type"), "account.make_api_key") << told.body;
    EXPECT_TRUE(key.starts_with(member(told.body, "items.0.data.key_prefix")));
    EXPECT_EQ(told.body.find(key), std::string::npos);
}

}  // namespace
}  // namespace berth::test
