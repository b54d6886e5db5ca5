// An operator at work, with people to look after.
#pragma once

#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "ledger/ledger.hpp"
#include "support/town.hpp"

namespace berth::test {

struct Office : ::testing::Test {
    explicit Office(Harness::Options options = {}) : town(std::move(options)) {}

    Browser admin(const std::string& email) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, town.harness.clock.now()}, email);
        });
        Browser browser = town.person(email);
        browser.enroll();
        EXPECT_EQ(browser.step_up("admin-sensitive").status, 200);
        return browser;
    }
    std::string id_of(Browser& browser) {
        return member(browser.send("GET", "/api/v1/auth/session").body, "account_id");
    }
    AccountId account(Browser& browser) { return {parse_uuid(id_of(browser)).value()}; }
    http::Response post(Browser& browser, const std::string& path, const std::string& body) {
        return browser.send("POST", "/api/v1/admin/" + path, body, town.harness.new_id());
    }
    std::string get(Browser& browser, const std::string& path) {
        const auto answer = browser.send("GET", "/api/v1/admin/" + path);
        EXPECT_EQ(answer.status, 200) << answer.body;
        return answer.body;
    }
    std::string version(const std::string& user) {
        return member(get(root, "users/" + user), "version");
    }
    // `wish` is the command without its reason and version.
    http::Response act(Browser& by, const std::string& user, const std::string& wish) {
        return post(by, "users/" + user + "/actions",
                    "{" + wish + R"(,"reason":"for a good reason","expected_version":")" +
                        version(user) + "\"}");
    }
    template <class Function>
    auto book(Function function) {
        town.harness.clock.advance(std::chrono::milliseconds(1));
        return town.harness.app->database().write([&](db::Transaction& tx) {
            return function(ledger::Context{tx, town.harness.random, town.harness.clock.now()});
        });
    }
    // A job that is over, as rentals post it; the fee is ten per cent.
    JobId job(AccountId renter, AccountId host, std::int64_t charge) {
        const auto id = JobId::make(town.harness.clock.now(), town.harness.random);
        const std::string reference = town.harness.new_id();
        book([&](ledger::Context context) {
            ledger::deposit(context, {renter, ledger::Asset::usdc, Micro{charge}, reference});
            ledger::hold(context, {id, renter, host, MachineId{id.uuid}, ledger::Asset::usdc,
                                   Micro{charge}, Micro{3'600'000}, 1000});
            ledger::capture(context, id, {Micro{charge}, charge});
            ledger::release(context, id);
        });
        return id;
    }
    ledger::Balances balances(AccountId who) {
        return town.harness.app->database().read(
            [&](db::Transaction& tx) { return ledger::balances(tx, who, ledger::Asset::usdc); });
    }
    std::int64_t events(const std::string& action) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>("SELECT COUNT(*) FROM audit_events WHERE action = $1",
                                           action)
                .value();
        });
    }

    Town town;
    Browser root = admin("root@example.org");
    Browser ada = town.person("ada@example.org");
};

}  // namespace berth::test
