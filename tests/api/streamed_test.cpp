// Routes whose answer is written piece by piece, after their transaction.
#include <gtest/gtest.h>

#include "http/server.hpp"
#include "http/source.hpp"
#include "support/harness.hpp"
#include "support/raw_socket.hpp"

namespace berth::test {
namespace {

struct Count {
    wire::Integer<1, 9> to;
};
BOOST_DESCRIBE_STRUCT(Count, (), (to))

// Says the numbers, one piece each.
class Counting final : public http::Source {
public:
    explicit Counting(std::int64_t to) : to_(to) {}

    void start(http::Outlet& outlet) override {
        outlet.begin({.content_type = "text/event-stream"});
        bool room = true;
        for (std::int64_t i = 1; i <= to_; ++i) room = outlet.write(std::to_string(i)) && room;
        EXPECT_TRUE(room);
        outlet.end();
    }
    void on_room() override {}
    void on_gone() override {}

private:
    std::int64_t to_;
};

class StreamedRoutes : public ::testing::Test {
protected:
    StreamedRoutes() {
        router.add({.method = "GET",
                    .path = "/count",
                    .name = "count",
                    .group = "test",
                    .summary = "Counts.",
                    .access = api::Access::renter,
                    .media = {{"text/plain", "A number on each line."}},
                    .errors = {Code::conflict}},
                   [](api::Call& call, const api::Query<Count>& query) {
                       call.tx().run("SELECT 1");
                       if (query->to.value == 9) throw Problem(Code::conflict, "not that far");
                       return api::Streamed{std::make_shared<Counting>(query->to.value)};
                   });
    }
    support::RawSocket ask(const std::string& query) {
        support::RawSocket socket(server.port());
        socket.send("GET /count?" + query +
                    " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer renter " + harness.new_id() +
                    "\r\n\r\n");
        return socket;
    }

    Harness harness;
    api::Router router;
    api::Metrics metrics;
    BankCallers callers;
    api::Service service{{router,
                          harness.app->database(),
                          {.accounts = &callers},
                          harness.clock,
                          harness.random,
                          Bytes(32, 'c'),
                          metrics,
                          harness.app->settings()}};
    http::Server server{{}, service};
};

TEST_F(StreamedRoutes, AnswerInPiecesWithTheHeadersOfEveryAnswer) {
    http::Pool pool(1, 10);
    service.set_pool(&pool);
    server.start();
    support::RawSocket socket = ask("to=3");
    const http::Response head = socket.receive(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.content_type, "text/event-stream");
    EXPECT_EQ(head.headers.find("cache-control"), "private, no-store");
    EXPECT_TRUE(head.headers.find("x-request-id").has_value());
    EXPECT_EQ(socket.receive_until("0\r\n\r\n"), "1\r\n1\r\n1\r\n2\r\n1\r\n3\r\n0\r\n\r\n");
    server.stop();
}

TEST_F(StreamedRoutes, AreRefusedLikeAnyOther) {
    server.start();
    EXPECT_EQ(ask("to=0").receive().status, 422);
    support::RawSocket socket = ask("to=9");
    const http::Response refused = socket.receive();
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(error_code(refused), "CONFLICT");
    server.stop();
}

}  // namespace
}  // namespace berth::test
