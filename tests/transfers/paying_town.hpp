// People with money in a town whose chain nobody answers at, and what they send to move it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ledger/ledger.hpp"
#include "support/town.hpp"

namespace berth::test {

inline constexpr const char* somewhere = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
inline constexpr const char* elsewhere = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";

inline std::string wish(const std::string& amount, const std::string& more = "",
                        const std::string& address = somewhere) {
    return R"({"address":")" + address + R"(","amount_micro":")" + amount + "\"" + more + "}";
}
inline std::string code_wish(const std::string& amount, const std::string& kind = "withdrawal",
                             const std::string& more = "", const std::string& address = somewhere) {
    return wish(amount, R"(,"kind":")" + kind + "\"" + more, address);
}
inline std::string with_code(const std::string& code) { return R"(,"code":")" + code + "\""; }

struct PayingTown : ::testing::Test {
    AccountId account(Browser& browser) {
        return {parse_uuid(member(browser.send("GET", "/api/v1/auth/session").body, "account_id"))
                    .value()};
    }
    void deposit(AccountId account, std::int64_t amount) {
        const std::string reference = town.harness.new_id();
        town.harness.app->database().write([&](db::Transaction& tx) {
            ledger::deposit({tx, town.harness.random, town.harness.clock.now()},
                            {account, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }
    Browser person(const std::string& email, std::int64_t amount = 10'000'000) {
        Browser browser = town.person(email);
        deposit(account(browser), amount);
        return browser;
    }
    http::Response post(Browser& browser, const std::string& target, const std::string& body) {
        return browser.send("POST", target, body, town.harness.new_id());
    }
    std::string balance(Browser& browser, const std::string& which = "spendable_micro") {
        return member(browser.send("GET", "/api/v1/billing").body, which);
    }
    // The code in the mail for this wish.
    std::string code_for(Browser& browser, const std::string& email, const std::string& body) {
        const auto sent = browser.send("POST", "/api/v1/withdrawals/code", body);
        EXPECT_EQ(sent.status, 202) << sent.body;
        return town.code_to(email);
    }
    http::Response confirm(const Town::Link& link, const std::string& token = "") {
        return town.harness.ask(
            {.method = "POST",
             .target = "/api/v1/confirmations" + link.path.substr(8),
             .body = R"({"token":")" + (token.empty() ? link.token : token) + "\"}"});
    }
    void save(Browser& browser, const std::string& email, const std::string& address = somewhere) {
        const auto asked = post(browser, "/api/v1/withdrawal-addresses",
                                R"({"address":")" + address + R"(","label":"Cold"})");
        EXPECT_EQ(asked.status, 202) << asked.body;
        EXPECT_EQ(confirm(town.link_to(email)).status, 200);
    }
    PayingTown() : PayingTown(Harness::Options{}) {}
    explicit PayingTown(Harness::Options options) : town(paying(std::move(options))) {}
    struct NotSetUp {};
    explicit PayingTown(NotSetUp) {}
    // A chain that nobody answers at: money is locked, and nothing is sent.
    static Harness::Options paying(Harness::Options options) {
        options.flags["chain-rpc"] = "http://127.0.0.1:1";
        options.flags["allow-unsafe"] = "undurable-db";
        options.treasury_key = std::string(64, '1');
        return options;
    }
    Town town;
};

}  // namespace berth::test
