// Streams end with the key, the session or the account that asked for them, and with nobody else's.
#include <future>

#include "crypto/hash.hpp"
#include "rental.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

class RelayCredentials : public RentalTest {
protected:
    JobId serve_streams() {
        const JobId job = serve_model();
        engine.set([](RawSocket& socket) {
            socket.send(events_head + chunk("data: 1\n\n"));
            socket.await_end();
        });
        return job;
    }
    RawSocket open_with(JobId job, const std::string& fields) {
        RawSocket socket(town.harness.app->port());
        socket.send(
            fmt::format("POST {}chat/completions HTTP/1.1\r\nHost: a\r\n{}"
                        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                        place(job), fields, stream_body.size(), stream_body));
        EXPECT_EQ(socket.receive(true).status, 200);
        socket.receive_until("data: 1\n\n\r\n");
        return socket;
    }
    RawSocket open_with_key(JobId job, const std::string& key) {
        return open_with(job, "Authorization: Bearer " + key + "\r\n");
    }
    RawSocket open_in(JobId job, const Browser& browser) {
        return open_with(
            job, fmt::format("Cookie: {}\r\nUser-Agent: {}\r\nX-CSRF-Token: {}\r\n"
                             "Origin: {}\r\n",
                             browser.cookie, browser.user_agent, browser.csrf, browser.origin));
    }
    // A renter who is a person, with two keys and a session; everybody rents as `ben`.
    Browser move_in() {
        Browser browser = town.person("renter@example.org");
        const std::string account =
            member(browser.send("GET", "/api/v1/auth/session").body, "account_id");
        ben = {town.key_of(browser), AccountId{parse_uuid(account).value()}};
        fund(ben, 10'000'000);
        return browser;
    }
    static void expect_ended(RawSocket& socket) {
        const std::string last = socket.receive_until("\r\n0\r\n\r\n");
        EXPECT_NE(last.find("UNAUTHENTICATED"), std::string::npos) << last;
    }
    void revoke(const std::string& key) {
        database().write([&](db::Transaction& tx) {
            EXPECT_EQ(tx.run("UPDATE api_keys SET revoked_at = $2 WHERE key_hash = $1",
                             db::Blob{crypto::sha256(key)}, now())
                          .affected,
                      1);
        });
    }
};

TEST_F(RelayCredentials, EndTheirStreamsAndNoOthers) {
    Browser browser = move_in();
    const std::string other_key = town.key_of(browser);
    const JobId job = serve_streams();
    RawSocket by_key = open_with_key(job, ben.key);
    RawSocket by_other_key = open_with_key(job, other_key);
    RawSocket by_session = open_in(job, browser);

    revoke(ben.key);
    expect_ended(by_key);
    EXPECT_EQ(browser.send("POST", "/api/v1/auth/sign-out", "{}").status, 204);
    expect_ended(by_session);
    EXPECT_TRUE(by_other_key.is_quiet());
    EXPECT_TRUE(http::eventually([&] { return town.harness.app->relay().open() == 1; }));
    town.suspend(to_string(ben.account));
    expect_ended(by_other_key);
    EXPECT_TRUE(http::eventually([&] { return is_idle(); }));
}

TEST_F(RelayCredentials, EndByTheirOwnTimeToo) {
    Browser browser = move_in();
    const std::string lasting = town.key_of(browser);
    const JobId job = serve_streams();
    database().write([&](db::Transaction& tx) {
        tx.run("UPDATE api_keys SET expires_at = $2 WHERE key_hash = $1",
               db::Blob{crypto::sha256(ben.key)}, now() + std::chrono::minutes(5));
    });
    RawSocket by_key = open_with_key(job, ben.key);
    RawSocket by_session = open_in(job, browser);
    RawSocket by_lasting_key = open_with_key(job, lasting);
    town.harness.clock.advance(std::chrono::minutes(6));
    expect_ended(by_key);
    EXPECT_TRUE(by_session.is_quiet());
    town.harness.clock.advance(std::chrono::minutes(30));  // and nothing else is done in it
    expect_ended(by_session);
    EXPECT_TRUE(by_lasting_key.is_quiet());
    EXPECT_TRUE(http::eventually([&] { return town.harness.app->relay().open() == 1; }));
}

TEST_F(RelayCredentials, RefuseWhatHasNotBegun) {
    move_in();
    const JobId job = serve_model();
    std::promise<void> asked;
    engine.set([&](RawSocket& socket) {
        asked.set_value();
        socket.await_end();
    });
    RawSocket socket = open(job);
    asked.get_future().wait();
    revoke(ben.key);
    const http::Response head = socket.receive(true);
    EXPECT_EQ(head.status, 401);
    EXPECT_EQ(head.headers.find("WWW-Authenticate"), "Bearer");
    EXPECT_NE(socket.receive_until("\r\n0\r\n\r\n").find("UNAUTHENTICATED"), std::string::npos);
}

}  // namespace
}  // namespace berth::test
