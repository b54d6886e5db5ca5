// The address that one signs in by is changed by its owner, with a code from the new one; nobody
// learns whether an address has an account, and nobody takes one over by a session alone.
#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "accounts/allow_list.hpp"
#include "accounts/leaving.hpp"
#include "accounts/operators.hpp"
#include "support/told.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

struct ChangeOfMail : ::testing::Test {
    static constexpr const char* ask_path = "/api/v1/account/email";
    static constexpr const char* confirm_path = "/api/v1/account/email/confirm";

    static std::string naming(const std::string& email) { return R"({"email":")" + email + "\"}"; }
    static std::string proving(const std::string& email, const std::string& code) {
        return R"({"email":")" + email + R"(","code":")" + code + "\"}";
    }
    std::string id_of(Browser& browser) {
        return member(browser.send("GET", "/api/v1/auth/session").body, "account_id");
    }
    // The code that was mailed there after this was asked for.
    std::string asked(Browser& browser, const std::string& email) {
        EXPECT_EQ(browser.step_up("account-sensitive").status, 200);
        const auto answer = browser.send("POST", ask_path, naming(email));
        EXPECT_EQ(answer.status, 202) << answer.body;
        return town.code_to(email);
    }

    Town town;
};

TEST_F(ChangeOfMail, TakesACodeFromTheNewAddressAndTellsBoth) {
    Browser ada = town.person("ada@example.org");
    Browser elsewhere = town.person("ada@example.org");
    const std::string id = id_of(ada);
    asked(ada, "Ada@Example.NET");
    EXPECT_NE(town.mail_to("ada@example.org").find("another address of mail was named"),
              std::string::npos);
    const std::string sent = town.code_to("ada@example.net");
    ASSERT_NE(sent, "");
    const auto done = ada.send("POST", confirm_path, proving("Ada@example.net", sent));
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "email"), "ada@example.net");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/auth/session").body, "email"), "ada@example.net");
    EXPECT_EQ(elsewhere.send("GET", "/api/v1/auth/session").status, 401) << "other sessions end";
    for (const std::string email : {"ada@example.org", "ada@example.net"})
        EXPECT_NE(town.mail_to(email).find("the address of mail was changed"), std::string::npos)
            << email;
    Browser again = town.person("ada@example.net");
    EXPECT_EQ(id_of(again), id);
    Browser stranger = town.person("ada@example.org");
    EXPECT_NE(id_of(stranger), id) << "the old address does not open it any more";
    EXPECT_EQ(error_code(ada.send("POST", confirm_path, proving("ada@example.net", sent))),
              "AUTHORIZATION_INVALID");
    const auto former = town.harness.app->database().read([&](db::Transaction& tx) {
        return accounts::list_former_emails(tx, {parse_uuid(id).value()});
    });
    EXPECT_EQ(former, std::vector<std::string>{"ada@example.org"});
    EXPECT_EQ(
        untold(town.harness.app->database(), {"account.ask_new_email", "account.change_email"}),
        "");
}

TEST_F(ChangeOfMail, NeedsAFreshProofAndTheCodeOfThatAccount) {
    Browser ada = town.person("ada@example.org");
    Browser eve = town.person("eve@example.org");
    const auto bare = ada.send("POST", ask_path, naming("new@example.org"));
    EXPECT_EQ(error_code(bare), "FORBIDDEN");
    EXPECT_EQ(town.mails_to("new@example.org").size(), 0U);
    asked(ada, "new@example.org");
    const std::string code = town.code_to("new@example.org");
    ASSERT_EQ(eve.step_up("account-sensitive").status, 200);
    EXPECT_EQ(error_code(eve.send("POST", confirm_path, proving("new@example.org", code))),
              "AUTHORIZATION_INVALID")
        << "a code is for the account that asked";
    const std::string wrong = code == "000000" ? "000001" : "000000";
    EXPECT_EQ(error_code(ada.send("POST", confirm_path, proving("new@example.org", wrong))),
              "AUTHORIZATION_INVALID");
    EXPECT_EQ(error_code(ada.send("POST", ask_path, naming("ADA@example.org"))), "CONFLICT");
    EXPECT_EQ(ada.send("POST", ask_path, naming("no address")).status, 422);
    town.harness.clock.advance(std::chrono::minutes(6));
    EXPECT_EQ(error_code(ada.send("POST", confirm_path, proving("new@example.org", code))),
              "FORBIDDEN");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/auth/session").body, "email"), "ada@example.org");
}

TEST_F(ChangeOfMail, TellsNobodyWhetherAnAddressHasAnAccount) {
    Browser bob = town.person("bob@example.org");
    const std::size_t before = town.mails_to("bob@example.org").size();
    const std::string sign_in = town.code_to("bob@example.org");
    Browser ada = town.person("ada@example.org");
    EXPECT_EQ(asked(ada, "bob@example.org"), sign_in) << "no further code was mailed";
    EXPECT_EQ(town.mails_to("bob@example.org").size(), before + 1);
    EXPECT_NE(town.mail_to("bob@example.org").find("Nothing was changed"), std::string::npos);
    // An account that is made meanwhile keeps its address.
    const std::string code = asked(ada, "carl@example.org");
    Browser carl = town.person("carl@example.org");
    EXPECT_EQ(error_code(ada.send("POST", confirm_path, proving("carl@example.org", code))),
              "CONFLICT");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/auth/session").body, "email"), "ada@example.org");
    EXPECT_EQ(member(carl.send("GET", "/api/v1/auth/session").body, "email"), "carl@example.org");
}

TEST_F(ChangeOfMail, WaitsWhileTheAccountIsFrozen) {
    Browser ada = town.person("ada@example.org");
    const AccountId id{parse_uuid(id_of(ada)).value()};
    const std::string code = asked(ada, "new@example.org");
    const auto freeze = [&](bool frozen) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            const auto record = accounts::find_record(tx, id).value();
            EXPECT_TRUE(accounts::put_freeze(tx, {id, record.version}, frozen));
        });
    };
    freeze(true);
    EXPECT_EQ(error_code(ada.send("POST", ask_path, naming("other@example.org"))), "CONFLICT");
    EXPECT_EQ(error_code(ada.send("POST", confirm_path, proving("new@example.org", code))),
              "CONFLICT");
    EXPECT_EQ(town.mails_to("other@example.org").size(), 0U);
    freeze(false);
    EXPECT_EQ(ada.send("POST", confirm_path, proving("new@example.org", code)).status, 200);
}

TEST_F(ChangeOfMail, WritesToFiveStrangersAnHour) {
    Browser ada = town.person("ada@example.org");
    ASSERT_EQ(ada.step_up("account-sensitive").status, 200);
    for (int i = 0; i < 6; ++i) {
        const std::string email = "stranger" + std::to_string(i) + "@example.net";
        EXPECT_EQ(ada.send("POST", ask_path, naming(email)).status, i < 5 ? 202 : 429) << i;
        EXPECT_EQ(town.mails_to(email).size(), i < 5 ? 1U : 0U) << i;
    }
}

TEST_F(ChangeOfMail, IsNotKeptFromAnAddressByWhoAsksForItToo) {
    Browser eve = town.person("eve@example.org");
    ASSERT_EQ(eve.step_up("account-sensitive").status, 200);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(eve.send("POST", ask_path, naming("ada@example.net")).status, 202);
        eve.send("POST", confirm_path, proving("ada@example.net", "000000"));
    }
    Browser ada = town.person("ada@example.org");
    const std::string code = asked(ada, "ada@example.net");
    EXPECT_EQ(ada.send("POST", confirm_path, proving("ada@example.net", code)).status, 200);
}

TEST_F(ChangeOfMail, HappensThreeTimesInThirtyDaysAndTellsTheFirstAddressEachTime) {
    Browser ada = town.person("ada@example.org");
    const auto told = [&] {
        int changes = 0;
        for (const std::string& mail : town.mails_to("ada@example.org"))
            if (mail.find("the address of mail was changed") != std::string::npos) ++changes;
        return changes;
    };
    for (int i = 1; i <= 3; ++i) {
        const std::string email = "ada" + std::to_string(i) + "@example.net";
        const std::string code = asked(ada, email);
        ASSERT_EQ(ada.send("POST", confirm_path, proving(email, code)).status, 200) << i;
        EXPECT_EQ(told(), i);
        town.harness.clock.advance(std::chrono::minutes(1));
    }
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
    EXPECT_EQ(error_code(ada.send("POST", ask_path, naming("ada4@example.net"))), "CONFLICT");
    town.harness.clock.advance(std::chrono::hours(24 * 31));
    Browser later = town.person("ada3@example.net");
    asked(later, "ada4@example.net");
}

TEST_F(ChangeOfMail, ToAndFroBetweenTwoAddressesIsCountedToo) {
    Browser ada = town.person("ada@example.org");
    for (const std::string email : {"ada@example.net", "ada@example.com", "ada@example.net"}) {
        const std::string code = asked(ada, email);
        ASSERT_EQ(ada.send("POST", confirm_path, proving(email, code)).status, 200) << email;
        town.harness.clock.advance(std::chrono::minutes(1));
    }
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
    EXPECT_EQ(error_code(ada.send("POST", ask_path, naming("ada@example.com"))), "CONFLICT");
}

TEST_F(ChangeOfMail, FromManyAccountsWritesToOneStrangerTwentyTimesAnHour) {
    for (int i = 0; i < 5; ++i) {
        Browser one = town.person("one" + std::to_string(i) + "@example.org");
        ASSERT_EQ(one.step_up("account-sensitive").status, 200);
        for (int ask = 0; ask < 5; ++ask)
            EXPECT_EQ(one.send("POST", ask_path, naming("stranger@example.net")).status, 202);
    }
    EXPECT_EQ(town.mails_to("stranger@example.net").size(), 20U);
}

TEST_F(ChangeOfMail, NeverPushesTheFirstAddressOutOfThoseThatAreTold) {
    Browser ada = town.person("ada@example.org");
    const AccountId id{parse_uuid(id_of(ada)).value()};
    const auto former = town.harness.app->database().write([&](db::Transaction& tx) {
        for (int i = 0; i < 40; ++i) {
            town.harness.clock.advance(std::chrono::hours(1));
            EXPECT_TRUE(accounts::put_email({tx, town.harness.random, town.harness.clock.now()}, id,
                                            "thief" + std::to_string(i) + "@example.net"));
        }
        return accounts::list_former_emails(tx, id);
    });
    EXPECT_EQ(static_cast<std::int64_t>(former.size()), accounts::former_emails_max);
    EXPECT_EQ(former.front(), "thief38@example.net");
    EXPECT_EQ(former.back(), "ada@example.org");
}

TEST_F(ChangeOfMail, IsForgottenWithThePersonButForWhatIsSomebodyElsesByNow) {
    Browser ada = town.person("ada@example.org");
    const AccountId id{parse_uuid(id_of(ada)).value()};
    town.harness.app->database().write([&](db::Transaction& tx) {
        const db::Context context{tx, town.harness.random, town.harness.clock.now()};
        for (const std::string email : {"ada@example.org", "ada@example.net", "ada@example.com"}) {
            accounts::Allowed row;
            row.allowed_id = accounts::AllowedId::make(context.now, context.random);
            row.value = email;
            row.reason = "a good guest";
            row.added_by = id;
            row.created_at = context.now;
            EXPECT_TRUE(accounts::add_allowed(tx, row));
        }
        EXPECT_TRUE(accounts::put_email(context, id, "ada@example.net"));
        EXPECT_TRUE(accounts::put_email(context, id, "ada@example.com"));
    });
    Browser stranger = town.person("ada@example.net");
    town.harness.app->database().write([&](db::Transaction& tx) {
        accounts::forget_person(tx, accounts::find_record(tx, id).value(),
                                town.harness.clock.now());
        EXPECT_TRUE(accounts::list_former_emails(tx, id).empty());
        const auto left = accounts::list_allowed(tx, {}, 10);
        ASSERT_EQ(left.size(), 1U);
        EXPECT_EQ(left.front().value, "ada@example.net");
    });
}

}  // namespace
}  // namespace berth::test
