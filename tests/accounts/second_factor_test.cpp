// The authenticator, recovery codes and step-up grants.
#include <gtest/gtest.h>

#include <latch>

#include "accounts/accounts.hpp"
#include "accounts/paths.hpp"
#include "crypto/totp.hpp"
#include "support/told.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

const std::string mfa = "/api/v1/auth/mfa";
const std::string step_up = "/api/v1/account/step-up";

class SecondFactor : public ::testing::Test {
protected:
    // A browser that has given the mailed code and is asked for the second factor.
    Browser pending() {
        Browser browser(town);
        browser.origin = ada.origin;
        const auto response = browser.sign_in("ada@example.org");
        EXPECT_EQ(member(response.body, "mfa_required"), "true");
        return browser;
    }
    std::string with_code(const std::string& code) { return R"({"code":")" + code + "\"}"; }

    Town town;
    Browser ada = town.person("ada@example.org");
};

TEST_F(SecondFactor, EnrollingNeedsAStepUpByMailFromTheFirstStepToTheLast) {
    const auto refused = ada.send("POST", "/api/v1/account/mfa/totp");
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(error_code(refused), "FORBIDDEN");
    EXPECT_EQ(refused.headers.find("Berth-Step-Up"), "account-sensitive");
    EXPECT_EQ(ada.send("POST", "/api/v1/wallets/nonce", "", town.harness.new_id())
                  .headers.find("Berth-Step-Up"),
              "wallet");
    Browser stranger = ada;
    stranger.csrf = "";
    EXPECT_FALSE(stranger.send("POST", "/api/v1/account/mfa/totp").headers.find("Berth-Step-Up"))
        << "refused for something else";
    ada.step_up("wallet");
    EXPECT_EQ(ada.send("POST", "/api/v1/account/mfa/totp").status, 403) << "another purpose";
    ada.step_up("account-sensitive");
    const auto begun = ada.send("POST", "/api/v1/account/mfa/totp");
    ASSERT_EQ(begun.status, 201);
    town.harness.clock.advance(5min);
    const std::string secret = crypto::from_base32(member(begun.body, "secret")).value();
    const auto confirm = [&] {
        return ada.send(
            "POST", "/api/v1/account/mfa/totp/confirm",
            R"({"enrollment_id":")" + member(begun.body, "enrollment_id") + R"(","code":")" +
                crypto::totp_code(secret, crypto::totp_step(town.harness.clock.now())) + "\"}");
    };
    EXPECT_EQ(confirm().status, 403) << "the grant is over";
    EXPECT_EQ(member(ada.send("GET", session).body, "mfa_enrolled"), "false");
    ada.step_up("account-sensitive");
    EXPECT_EQ(confirm().status, 200);
}

TEST_F(SecondFactor, TheOwnerHearsOfItByMail) {
    const auto newest = [&] { return town.mail_to("ada@example.org"); };
    ada.enroll();
    EXPECT_NE(newest().find("an authenticator was turned on"), std::string::npos) << newest();
    EXPECT_NE(newest().find("192.0.2.1"), std::string::npos) << "from where";
    ada.send("POST", step_up,
             R"({"purpose":"account-sensitive","code":")" + ada.recovery_codes.at(0) + "\"}");
    EXPECT_NE(newest().find("a recovery code was used"), std::string::npos) << newest();
    EXPECT_EQ(ada.send("DELETE", "/api/v1/account/mfa/totp").status, 204);
    EXPECT_NE(newest().find("the authenticator was removed"), std::string::npos) << newest();
    EXPECT_EQ(untold(town.harness.app->database(),
                     {"account.enable_authenticator", "account.use_recovery_code",
                      "account.remove_authenticator"}),
              "");
}

TEST_F(SecondFactor, EnrollingGivesASecretAnUriAndTenRecoveryCodes) {
    ada.step_up("account-sensitive");
    const auto begun = ada.send("POST", "/api/v1/account/mfa/totp");
    ASSERT_EQ(begun.status, 201);
    EXPECT_TRUE(member(begun.body, "otpauth_uri").starts_with("otpauth://totp/")) << begun.body;
    ada.enroll();
    EXPECT_EQ(ada.recovery_codes.size(), 10U);
    EXPECT_EQ(std::set<std::string>(ada.recovery_codes.begin(), ada.recovery_codes.end()).size(),
              10U);
    EXPECT_EQ(member(ada.send("GET", session).body, "mfa_enrolled"), "true");
    EXPECT_EQ(ada.send("POST", "/api/v1/account/mfa/totp").status, 409) << "one at a time";
}

TEST_F(SecondFactor, AnEnrollmentNeedsTheRightCodeInTenMinutes) {
    ada.step_up("account-sensitive");
    const auto begun = ada.send("POST", "/api/v1/account/mfa/totp");
    const std::string id = member(begun.body, "enrollment_id");
    const std::string secret = crypto::from_base32(member(begun.body, "secret")).value();
    const auto confirm = [&](const std::string& code) {
        return ada
            .send("POST", "/api/v1/account/mfa/totp/confirm",
                  R"({"enrollment_id":")" + id + R"(","code":")" + code + "\"}")
            .status;
    };
    const auto now_code = [&] {
        return crypto::totp_code(secret, crypto::totp_step(town.harness.clock.now()));
    };
    EXPECT_EQ(confirm(now_code() == "000000" ? "000001" : "000000"), 403);
    town.harness.clock.advance(10min);
    EXPECT_EQ(confirm(now_code()), 404);
    Browser eve = town.person("eve@example.org");
    EXPECT_EQ(eve.send("POST", "/api/v1/account/mfa/totp/confirm",
                       R"({"enrollment_id":")" + id + R"(","code":"123456"})")
                  .status,
              404);
}

TEST_F(SecondFactor, ASignInIsPendingUntilItIsGiven) {
    ada.enroll();
    Browser browser = pending();
    EXPECT_EQ(member(browser.send("GET", session).body, "mfa_required"), "true");
    EXPECT_EQ(browser.send("GET", "/api/v1/account/api-keys").status, 403);
    EXPECT_EQ(browser.send("POST", "/api/v1/account/mfa/totp").status, 403);
    browser.totp = ada.totp;
    const std::string before = browser.cookie;
    EXPECT_EQ(browser.send("POST", mfa, with_code(browser.code())).status, 200);
    EXPECT_NE(browser.cookie, before) << "the session is rotated";
    EXPECT_EQ(browser.send("GET", "/api/v1/account/api-keys").status, 200);
    Browser old = browser;
    old.cookie = before;
    EXPECT_EQ(old.send("GET", session).status, 401);
}

TEST_F(SecondFactor, APendingSessionEndsAfterTenMinutes) {
    ada.enroll();
    Browser browser = pending();
    town.harness.clock.advance(10min);
    EXPECT_EQ(browser.send("GET", session).status, 401);
}

TEST_F(SecondFactor, OneStepBackIsAcceptedTwoAreNot) {
    ada.enroll();
    const auto code_of = [&](int back) {
        return crypto::totp_code(ada.totp, crypto::totp_step(town.harness.clock.now()) - back);
    };
    town.harness.clock.advance(5min);
    Browser browser = pending();
    EXPECT_EQ(browser.send("POST", mfa, with_code(code_of(2))).status, 403);
    EXPECT_EQ(browser.send("POST", mfa, with_code(code_of(-1))).status, 403);
    EXPECT_EQ(browser.send("POST", mfa, with_code(code_of(1))).status, 200);
}

// Runs `attempt` from many threads at once; how many said yes.
int race(int threads_count, const std::function<bool()>& attempt) {
    std::atomic<int> won{0};
    std::latch together(threads_count);
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_count; ++i)
        threads.emplace_back([&] {
            together.arrive_and_wait();
            if (attempt()) ++won;
        });
    for (std::thread& thread : threads) thread.join();
    return won;
}

TEST_F(SecondFactor, ACodeStepsUpOnceHoweverManyTryAtOnce) {
    ada.enroll();
    const std::string body = R"({"purpose":"wallet","code":")" + ada.code() + "\"}";
    EXPECT_EQ(race(20,
                   [&] {
                       Browser copy = ada;
                       return copy.send("POST", step_up, body).status == 200;
                   }),
              1);
}

TEST_F(SecondFactor, AStepIsUsedOnceUnderAThousandParallelTries) {
    ada.enroll();
    const AccountId account{
        parse_uuid(member(ada.send("GET", session).body, "account_id")).value()};
    const std::int64_t step = crypto::totp_step(town.harness.clock.now()) + 1;
    std::atomic<int> used{0};
    race(20, [&] {
        for (int i = 0; i < 50; ++i)
            used += town.harness.app->database().write(
                [&](db::Transaction& tx) { return accounts::use_totp_step(tx, account, step); });
        return true;
    });
    EXPECT_EQ(used, 1);
}

TEST_F(SecondFactor, FiveWrongCodesEndTheSession) {
    ada.enroll();
    Browser browser = pending();
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(browser.send("POST", mfa, with_code("00000" + std::to_string(i))).status, 403);
    EXPECT_EQ(browser.send("POST", mfa, with_code("000009")).status, 401);
}

TEST_F(SecondFactor, RightCodesUseUpNoTries) {
    ada.enroll();
    for (int i = 1; i <= 5; ++i) {
        const std::string address = "0x000000000000000000000000000000000000000" + std::to_string(i);
        const auto saved =
            ada.send("POST", "/api/v1/withdrawal-addresses",
                     R"({"address":")" + address + R"(","code":")" + ada.code() + "\"}",
                     town.harness.new_id());
        ASSERT_EQ(saved.status, 202) << saved.body;
    }
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
}

// Requests that were let in together get no more guesses than one after the other would.
TEST_F(SecondFactor, ACrowdOfGuessesGetsNoMoreTriesThanOneGuesser) {
    ada.enroll();
    Browser browser = pending();
    const std::string right =
        crypto::totp_code(ada.totp, crypto::totp_step(town.harness.clock.now()) + 1);
    town.harness.clock.advance(30s);
    std::atomic<int> refused{0};
    race(24, [&] {
        Browser copy = browser;
        if (copy.send("POST", mfa, with_code(right == "999999" ? "999998" : "999999")).status ==
            403)
            ++refused;
        return true;
    });
    EXPECT_EQ(refused, 5);
    EXPECT_EQ(browser.send("POST", mfa, with_code(right)).status, 401);
    Browser next = pending();
    EXPECT_EQ(next.send("POST", mfa, with_code(right)).status, 200) << "the step was not spent";
}

TEST_F(SecondFactor, ARecoveryCodeWorksOnce) {
    ada.enroll();
    const std::string code = ada.recovery_codes.at(3);
    EXPECT_EQ(pending().send("POST", mfa, with_code(code)).status, 200);
    EXPECT_EQ(pending().send("POST", mfa, with_code(code)).status, 403);
    EXPECT_EQ(pending().send("POST", mfa, with_code(ada.recovery_codes.at(4))).status, 200);
}

TEST_F(SecondFactor, EnrollingEndsSessionsOpenedWithoutIt) {
    Browser other = town.person("ada@example.org");
    ada.enroll();
    EXPECT_EQ(other.send("GET", session).status, 401);
    EXPECT_EQ(ada.send("GET", session).status, 200);
}

TEST_F(SecondFactor, RemovingItNeedsAStepUp) {
    ada.enroll();
    town.harness.clock.advance(5min);  // the enrollment had a step-up of its own
    EXPECT_EQ(ada.send("DELETE", "/api/v1/account/mfa/totp").status, 403);
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
    EXPECT_EQ(ada.send("DELETE", "/api/v1/account/mfa/totp").status, 204);
    EXPECT_EQ(ada.send("DELETE", "/api/v1/account/mfa/totp").status, 404);
    EXPECT_EQ(member(town.person("ada@example.org").send("GET", session).body, "mfa_enrolled"),
              "false");
}

TEST_F(SecondFactor, ASecondFactorThatNobodyAwaitsIsAConflict) {
    EXPECT_EQ(ada.send("POST", mfa, with_code("123456")).status, 409);
}

class StepUp : public SecondFactor {};

TEST_F(StepUp, GrantsOnePurposeForFiveMinutesInThisSession) {
    Browser other = town.person("ada@example.org");
    const auto grant = ada.step_up("account-sensitive");
    ASSERT_EQ(grant.status, 200) << grant.body;
    EXPECT_EQ(member(grant.body, "purpose"), "account-sensitive");
    const std::string body = R"({"name":"k","scopes":["renter"]})";
    const std::string keys = "/api/v1/account/api-keys";
    EXPECT_EQ(ada.send("POST", keys, body, town.harness.new_id()).status, 201);
    EXPECT_EQ(other.send("POST", keys, body, town.harness.new_id()).status, 403);
    EXPECT_EQ(ada.send("POST", "/api/v1/wallets/nonce", "", town.harness.new_id()).status, 403)
        << "that is another purpose";
    town.harness.clock.advance(5min);
    EXPECT_EQ(ada.send("POST", keys, body, town.harness.new_id()).status, 403);
}

TEST_F(StepUp, RotatesTheSession) {
    Browser old = ada;
    ada.step_up("wallet");
    EXPECT_NE(ada.cookie, old.cookie);
    EXPECT_NE(ada.csrf, old.csrf);
    EXPECT_EQ(old.send("GET", session).status, 401);
}

TEST_F(StepUp, ACodeIsBoundToTheSessionThatAskedForIt) {
    Browser other = town.person("ada@example.org");
    ada.send("POST", "/api/v1/account/step-up/code");
    const std::string body =
        R"({"purpose":"wallet","code":")" + town.code_to("ada@example.org") + "\"}";
    EXPECT_EQ(other.send("POST", step_up, body).status, 403);
}

TEST_F(StepUp, ASignInCodeIsNoStepUpCode) {
    Browser(town).send("POST", "/api/v1/auth/email/start", R"({"email":"ada@example.org"})");
    const std::string body =
        R"({"purpose":"wallet","code":")" + town.code_to("ada@example.org") + "\"}";
    EXPECT_EQ(ada.send("POST", step_up, body).status, 403);
}

TEST_F(StepUp, AdminSensitiveTakesTheAuthenticatorOnly) {
    EXPECT_EQ(ada.step_up("admin-sensitive").status, 403);
    ada.enroll();
    EXPECT_EQ(ada.step_up("admin-sensitive").status, 200);
}

TEST_F(StepUp, AccountsWithAnAuthenticatorGetNoMailedCode) {
    ada.enroll();
    EXPECT_EQ(ada.send("POST", "/api/v1/account/step-up/code").status, 409);
}

TEST_F(StepUp, ARecoveryCodeLetsAnAuthenticatorThatWasLostBeReplaced) {
    ada.enroll();
    const auto with_recovery = [&](const std::string& purpose, std::size_t n) {
        return ada
            .send("POST", step_up,
                  R"({"purpose":")" + purpose + R"(","code":")" + ada.recovery_codes.at(n) + "\"}")
            .status;
    };
    EXPECT_EQ(with_recovery("admin-sensitive", 0), 403);
    EXPECT_EQ(with_recovery("account-sensitive", 0), 200);
    EXPECT_EQ(with_recovery("account-sensitive", 0), 403) << "once";
    EXPECT_EQ(ada.send("DELETE", "/api/v1/account/mfa/totp").status, 204);
    EXPECT_EQ(ada.send("POST", "/api/v1/account/mfa/totp").status, 201);
}

TEST_F(StepUp, CodesAreCountedApartFromSignInCodes) {
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(ada.send("POST", "/api/v1/account/step-up/code").status, 202);
    EXPECT_EQ(ada.send("POST", "/api/v1/account/step-up/code").status, 429);
    EXPECT_EQ(Browser(town)
                  .send("POST", "/api/v1/auth/email/start", R"({"email":"ada@example.org"})")
                  .status,
              202);
}

}  // namespace
}  // namespace berth::test
