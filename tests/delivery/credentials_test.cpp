// Streams end with the key, the session or the rights that opened them, and with nobody else's.
#include <future>

#include "accounts/second_factor.hpp"
#include "accounts/sessions.hpp"
#include "accounts/store.hpp"
#include "delivery/readers.hpp"
#include "support/sanitized.hpp"

namespace berth::test {
namespace {

class StreamCredentials : public ReadersTest {
protected:
    static std::string in(const Browser& browser) {
        return fmt::format("Cookie: {}\r\nUser-Agent: {}\r\n", browser.cookie, browser.user_agent);
    }
    EventReader open_with(const std::string& fields) {
        EventReader reader(port(), fields);
        EXPECT_EQ(reader.head().status, 200);
        reader.next_bare();
        return reader;
    }
    static void expect_ended(EventReader& reader) {
        const Dispatched last = reader.next();
        EXPECT_EQ(last.type, "end");
        EXPECT_EQ(last.data, R"({"reason":"credential_ended"})");
        reader.await_end();
    }
    std::string account_of(Browser& browser) {
        return member(browser.send("GET", "/api/v1/auth/session").body, "account_id");
    }
    // The id of the key that was made last.
    std::string newest_key(Browser& browser) {
        return member(browser.send("GET", "/api/v1/account/api-keys").body, "items.0.key_id");
    }

    Browser ann = town.person("ann@example.org");
};

TEST_F(StreamCredentials, ARevokedKeyHearsNothingAfterASecond) {
    const std::string lasting = town.key_of(ann);
    town.harness.clock.advance(1s);  // ids of the same millisecond have no order
    const std::string key = town.key_of(ann);
    const std::string id = newest_key(ann);
    EventReader mine = open_with("Authorization: Bearer " + key + "\r\n");
    EventReader other = open_with("Authorization: Bearer " + lasting + "\r\n");
    ann.step_up("account-sensitive");
    const auto began = std::chrono::steady_clock::now();
    ASSERT_EQ(
        ann.send("DELETE", "/api/v1/account/api-keys/" + id, "", town.harness.new_id()).status,
        204);
    Dispatched event = mine.next();
    while (event.type != "end") event = mine.next();  // that it was revoked may be told before
    EXPECT_LT(std::chrono::steady_clock::now() - began, sanitized ? 10s : 1s);
    mine.await_end();
    EXPECT_EQ(other.next().type, "account.revoke_api_key");
    EXPECT_TRUE(eventually([&] { return streams() == 1; }));
}

// What was revoked is told to the account, and that wakes the page.
TEST_F(StreamCredentials, APageThatWaitsEndsWithItsKey) {
    const std::string key = town.key_of(ann);
    const std::string id = newest_key(ann);
    ann.step_up("account-sensitive");
    const std::string newest = member(town.with_key(key, "GET", "/api/v1/events").body, "newest");
    auto waiting = std::async(std::launch::async, [&] {
        RawSocket socket(port());
        socket.send(
            fmt::format("GET /api/v1/events?after={}&types=rental.*&wait_s=30 HTTP/1.1\r\n"
                        "Host: a\r\nAuthorization: Bearer {}\r\n\r\n",
                        newest, key));
        return socket.receive();
    });
    ASSERT_TRUE(eventually([&] { return town.harness.app->service().notifier().waiting() == 1; }));
    ASSERT_EQ(
        ann.send("DELETE", "/api/v1/account/api-keys/" + id, "", town.harness.new_id()).status,
        204);
    EXPECT_EQ(waiting.get().status, 401);
}

TEST_F(StreamCredentials, ASignOutAndASuspensionEndThem) {
    const std::string key = town.key_of(ann);
    EventReader by_key = open_with("Authorization: Bearer " + key + "\r\n");
    EventReader by_session = open_with(in(ann));
    ASSERT_EQ(ann.send("POST", "/api/v1/auth/sign-out", "{}").status, 204);
    expect_ended(by_session);
    EXPECT_TRUE(by_key.is_quiet());
    Browser again = town.person("ann@example.org");
    town.suspend(account_of(again));
    expect_ended(by_key);
}

TEST_F(StreamCredentials, ASessionThatGuessesTooOftenHearsNothingMore) {
    ann.enroll();
    EventReader reader = open_with(in(ann));
    for (std::int64_t i = 0; i < accounts::factor_failures_max; ++i)
        EXPECT_EQ(ann.send("POST", "/api/v1/account/step-up",
                           R"({"purpose":"account-sensitive","code":"000000"})")
                      .status,
                  403);
    expect_ended(reader);
}

// By its own end, and not because every stream is looked at again once a minute.
TEST_F(StreamCredentials, ASessionEndsItsStreamsWhenItExpires) {
    EventReader reader = open_with(in(ann));
    const auto began = std::chrono::steady_clock::now();
    town.harness.clock.advance(accounts::session_lifetime);
    expect_ended(reader);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

TEST_F(StreamCredentials, AKeyWhoseRightsChangeBeginsAnew) {
    const AccountId account{parse_uuid(account_of(ann)).value()};
    const auto let_host = [&](bool enabled) {
        database().write(
            [&](db::Transaction& tx) { accounts::set_host_capability(tx, account, enabled); });
    };
    let_host(true);
    const std::string key = town.key_of(ann, R"(["renter","host"])");
    EventReader reader = open_with("Authorization: Bearer " + key + "\r\n");
    let_host(false);
    expect_ended(reader);
}

TEST_F(StreamCredentials, NoStreamKeepsAnIdleSessionAlive) {
    EventReader reader = open_with(in(ann));
    town.harness.clock.advance(std::chrono::minutes(31));
    town.harness.app->delivery().hub().identify_all();
    expect_ended(reader);
}

TEST_F(StreamCredentials, OperatorsHaveAStreamOfTheirOwnWhileTheyAreSome) {
    EventReader refused(port(), in(ann), "", "/api/v1/admin/events/stream");
    EXPECT_EQ(refused.head().status, 403);
    ann.enroll();
    const AccountId account{parse_uuid(account_of(ann)).value()};
    database().write(
        [&](db::Transaction& tx) { accounts::set_role(tx, account, accounts::Role::admin); });
    EventReader reader(port(), in(ann), "", "/api/v1/admin/events/stream");
    ASSERT_EQ(reader.head().status, 200);
    reader.next_bare();
    const std::string key = town.key_of(ann);
    ASSERT_EQ(town.with_key(key, "POST", "/api/v1/tickets",
                            R"({"category":"other","text":"Where is my machine?"})")
                  .status,
              201);
    EXPECT_EQ(reader.next().type, "operations.ticket_opened");
    database().write(
        [&](db::Transaction& tx) { accounts::set_role(tx, account, accounts::Role::renter); });
    expect_ended(reader);
}

}  // namespace
}  // namespace berth::test
