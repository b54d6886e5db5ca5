// Operators who help somebody who lost a mailbox or a wallet.
#pragma once

#include "admin/office.hpp"

namespace berth::test {

inline constexpr const char* ada_mail = "ada@example.org";
inline constexpr const char* new_mail = "ada@example.net";

struct Recovered : Office {
    Recovered() = default;
    explicit Recovered(Harness::Options options) : Office(std::move(options)) {}

    static std::string asking(const std::string& account, const std::string& more) {
        return R"({"account_id":")" + account + R"(",)" + more +
               R"(,"reason":"the mailbox is gone","evidence":["ticket 7"]})";
    }
    static std::string to_mail(const std::string& email) { return R"("email":")" + email + "\""; }
    static std::string to_wallet(const crypto::SigningKey& wallet) {
        return R"("wallet":")" + crypto::checksummed(wallet.address()) + "\"";
    }
    std::string opened(const std::string& account, const std::string& more) {
        const auto answer = post(root, "recoveries", asking(account, more));
        EXPECT_EQ(answer.status, 201) << answer.body;
        return member(answer.body, "recovery_id");
    }
    http::Response decide(const std::string& id, const std::string& what) {
        return post(root, "recoveries/" + id + "/" + what, R"({"reason":"nobody objected"})");
    }
    // Sessions do not live as long as a recovery waits.
    void wait(std::chrono::hours hours) {
        town.harness.clock.advance(hours);
        EXPECT_EQ(root.sign_in("root@example.org").status, 200);
        EXPECT_EQ(root.step_up("admin-sensitive").status, 200);
    }
    std::string shown(const std::string& id, const std::string& which) {
        return member(get(root, "recoveries/" + id), which);
    }
    std::string state(const std::string& id) { return shown(id, "state"); }
    std::string token_to(const std::string& email) {
        std::string token;
        for (const std::string& mail : town.mails_to(email))
            if (const auto at = mail.find("#bro_"); at != mail.npos)
                token = mail.substr(at + 1, mail.find_first_of("\r\n", at) - at - 1);
        return token;
    }
    http::Response object(const std::string& id, const std::string& token) {
        return town.harness.ask({.method = "POST",
                                 .target = "/api/v1/recoveries/" + id + "/object",
                                 .body = R"({"token":")" + token + "\"}"});
    }
    // Somebody who reads this mailbox gives the code from it.
    http::Response enter(const std::string& email) {
        Browser browser(town);
        browser.origin = ada.origin;
        return browser.sign_in(email);
    }
    void change_mail(AccountId id, const std::string& email) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            EXPECT_TRUE(accounts::put_email({tx, town.harness.random, town.harness.clock.now()}, id,
                                            email));
        });
    }
};

struct RecoveredByTwo : Recovered {
    RecoveredByTwo() : Recovered(strict()) {}
    static Harness::Options strict() {
        Harness::Options options;
        options.flags["four-eyes"] = "on";
        return options;
    }
    http::Response confirm(const http::Response& asked) {
        EXPECT_EQ(asked.status, 202) << asked.body;
        return post(eve, "pending-actions/" + member(asked.body, "pending_action_id") + "/confirm",
                    R"({"reason":"the ticket shows it"})");
    }
    Browser eve = admin("eve@example.org");
};

}  // namespace berth::test
