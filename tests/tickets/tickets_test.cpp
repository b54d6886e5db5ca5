#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "audit/audit.hpp"
#include "base/json_text.hpp"
#include "ledger/ledger.hpp"
#include "support/told.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

constexpr const char* support_mailbox = "help@berth.example";

struct Tickets : ::testing::Test {
    http::Response open(Browser& browser, const std::string& body) {
        return browser.send("POST", "/api/v1/tickets", body, town.harness.new_id());
    }
    std::string opened(Browser& browser, const std::string& text = "where is my money?") {
        const auto answer =
            open(browser, R"({"category":"billing","text":)" + json_quoted(text) + "}");
        EXPECT_EQ(answer.status, 201) << answer.body;
        return member(answer.body, "ticket_id");
    }
    http::Response write(Browser& browser, const std::string& ticket, const std::string& text) {
        return browser.send("POST", "/api/v1/tickets/" + ticket + "/messages",
                            R"({"text":)" + json_quoted(text) + "}", town.harness.new_id());
    }
    http::Response close(Browser& browser, const std::string& ticket) {
        return browser.send("POST", "/api/v1/admin/tickets/" + ticket + "/close",
                            R"({"reason":"nothing is left to do"})", town.harness.new_id());
    }
    Browser admin(const std::string& email = "root@example.org") {
        town.harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, town.harness.clock.now()}, email);
        });
        Browser browser = town.person(email);
        browser.enroll();
        return browser;
    }
    AccountId account(Browser& browser) {
        return {parse_uuid(member(browser.send("GET", "/api/v1/auth/session").body, "account_id"))
                    .value()};
    }
    static Harness::Options options() {
        Harness::Options options;
        options.flags["support-email"] = support_mailbox;
        return options;
    }

    Town town{options()};
    Browser ada = town.person("ada@example.org");
};

TEST_F(Tickets, ATicketIsKeptAndBothSidesAreTold) {
    const auto made = open(ada, R"({"category":"billing","text":"where is my money?",)"
                                R"("payment_reference":"wire 12"})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(member(made.body, "category"), "billing");
    EXPECT_EQ(member(made.body, "text"), "where is my money?");
    EXPECT_EQ(member(made.body, "state"), "open");
    EXPECT_EQ(member(made.body, "payment_reference"), "wire 12");
    EXPECT_EQ(member(made.body, "job_id"), "null");
    const std::string id = member(made.body, "ticket_id");
    EXPECT_NE(town.mail_to("ada@example.org").find(id), std::string::npos);
    EXPECT_NE(town.mail_to(support_mailbox).find("where is my money?"), std::string::npos);
    const auto shown = ada.send("GET", "/api/v1/tickets/" + id);
    EXPECT_EQ(shown.status, 200);
    EXPECT_EQ(member(shown.body, "ticket_id"), id);
    EXPECT_EQ(member(ada.send("GET", "/api/v1/tickets").body, "items.0.ticket_id"), id);
}

// The contract names no longest text: a body has its own bound.
TEST_F(Tickets, ALongTextIsTaken) {
    const std::string text(50'000, 'x');
    const auto shown = ada.send("GET", "/api/v1/tickets/" + opened(ada, text));
    EXPECT_EQ(member(shown.body, "text"), text);
}

TEST_F(Tickets, NoSecretIsKeptMailedOrAnsweredButThePaymentReferenceIsKeptAsItIs) {
    const std::string key(64, 'e');
    const auto made =
        open(ada, R"({"category":"my ark_7Hq2mZ0cV4tR8yB1nK5sW3xE6uJ9","text":"key 0x)" + key +
                      R"(","payment_reference":"0x)" + key + R"("})");
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(member(made.body, "text"), "key 0x[redacted]");
    EXPECT_EQ(member(made.body, "payment_reference"), "0x" + key);
    EXPECT_EQ(made.body.find("V4tR8yB1nK5s"), std::string::npos);
    const std::string id = member(made.body, "ticket_id");
    const auto said = write(ada, id, "the password is hunter2");
    ASSERT_EQ(said.status, 201) << said.body;
    EXPECT_EQ(said.body.find("hunter2"), std::string::npos);
    for (const std::string& mail : town.mails_to(support_mailbox)) {
        EXPECT_EQ(mail.find("V4tR8yB1nK5s"), std::string::npos);
        EXPECT_EQ(mail.find("hunter2"), std::string::npos);
        EXPECT_EQ(mail.find(key), std::string::npos);
    }
}

TEST_F(Tickets, ATransactionOfTheAccountsOwnRecordsIsKept) {
    const std::string hash = "0x" + std::string(64, 'd');
    const AccountId hers = account(ada);
    town.harness.app->database().write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, "
            "seen_at, updated_at, state, intent_id, account_id) VALUES ($1, 0, 'USDC', '0x', "
            "'0x', 5, 1, 1, 1, 'CLAIMED', NULL, $2)",
            hash, hers);
    });
    const std::string body = R"({"category":"c","text":"paid by )" + hash + "\"}";
    EXPECT_EQ(member(open(ada, body).body, "text"), "paid by " + hash);
    Browser bob = town.person("bob@example.org");
    EXPECT_EQ(member(open(bob, body).body, "text"), "paid by 0x[redacted]");
}

TEST_F(Tickets, AnotherOnesTicketIsNotThere) {
    const std::string id = opened(ada);
    Browser bob = town.person("bob@example.org");
    EXPECT_EQ(bob.send("GET", "/api/v1/tickets/" + id).status, 404);
    EXPECT_EQ(write(bob, id, "hello").status, 404);
    EXPECT_EQ(member(bob.send("GET", "/api/v1/tickets").body, "items.0.ticket_id"), "");
    const std::string hers = "/api/v1/tickets?account_id=" + to_string(account(ada));
    EXPECT_EQ(bob.send("GET", hers).status, 403);
    EXPECT_EQ(ada.send("GET", hers).status, 200);
}

TEST_F(Tickets, ATicketNamesOnlyAJobOfItsOwner) {
    Browser bob = town.person("bob@example.org");
    const auto job = JobId::make(town.harness.clock.now(), town.harness.random);
    const AccountId renter = account(ada);
    town.harness.app->database().write([&](db::Transaction& tx) {
        const db::Context context{tx, town.harness.random, town.harness.clock.now()};
        ledger::deposit(context, {renter, ledger::Asset::usdc, Micro{1000}, "d"});
        ledger::hold(context, {job, renter, AccountId::make(context.now, context.random),
                               MachineId::make(context.now, context.random), ledger::Asset::usdc,
                               Micro{1000}, Micro{1}, 1000});
    });
    const auto about = [](const std::string& id) {
        return R"({"category":"c","text":"t","job_id":")" + id + "\"}";
    };
    EXPECT_EQ(open(ada, about(to_string(job))).status, 201);
    EXPECT_EQ(open(bob, about(to_string(job))).status, 404);
    EXPECT_EQ(open(ada, about(town.harness.new_id())).status, 404);
}

TEST_F(Tickets, BadInputIsToldByMember) {
    for (const char* body :
         {R"({"category":"","text":"t"})", R"({"category":"c","text":""})", R"({"text":"t"})",
          R"({"category":"c"})", R"({"category":"c","text":"t","job_id":"7"})",
          R"({"category":"c","text":"t","urgent":true})"})
        EXPECT_EQ(open(ada, body).status, 422) << body;
}

TEST_F(Tickets, ARepeatedRequestOpensOneTicket) {
    const std::string key = town.harness.new_id();
    const std::string body = R"({"category":"c","text":"t"})";
    const auto first = ada.send("POST", "/api/v1/tickets", body, key);
    const auto again = ada.send("POST", "/api/v1/tickets", body, key);
    EXPECT_EQ(first.body, again.body);
    const auto other = ada.send("POST", "/api/v1/tickets", R"({"category":"c","text":"u"})", key);
    EXPECT_EQ(error_code(other), "IDEMPOTENCY_CONFLICT");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/tickets").body, "items.1.ticket_id"), "");
}

TEST_F(Tickets, AnEleventhTicketInAnHourIsTooMany) {
    for (int i = 0; i < 10; ++i) opened(ada);
    const auto eleventh = open(ada, R"({"category":"c","text":"t"})");
    EXPECT_EQ(eleventh.status, 429);
    EXPECT_EQ(error_code(eleventh), "UNAVAILABLE");
    Browser bob = town.person("bob@example.org");
    opened(bob);
}

TEST_F(Tickets, AnAdminAnswersAndTheOwnerIsTold) {
    const std::string id = opened(ada);
    Browser root = admin();
    EXPECT_EQ(member(root.send("GET", "/api/v1/tickets").body, "items.0.ticket_id"), id);
    const auto answered = write(root, id, "It is on its way.");
    ASSERT_EQ(answered.status, 201) << answered.body;
    EXPECT_EQ(member(answered.body, "state"), "answered");
    EXPECT_EQ(member(answered.body, "messages.0.author"), "support");
    EXPECT_NE(town.mail_to("ada@example.org").find("It is on its way."), std::string::npos);
    town.harness.clock.advance(std::chrono::seconds(1));
    const auto again = write(ada, id, "It has come, thanks.");
    EXPECT_EQ(member(again.body, "state"), "open");
    EXPECT_EQ(member(again.body, "messages.1.author"), "owner");
    EXPECT_NE(town.mail_to(support_mailbox).find("It has come"), std::string::npos);
    EXPECT_EQ(member(root.send("GET", "/api/v1/tickets?state=answered").body, "items.0.state"), "");
    EXPECT_EQ(untold(town.harness.app->database(), {"operations.ticket_opened", "ticket.answered"}),
              "");
}

TEST_F(Tickets, AClosedTicketTakesNoMoreAndItsEndIsAudited) {
    const std::string id = opened(ada);
    Browser root = admin();
    EXPECT_EQ(close(root, id).status, 403) << "without a step-up";
    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    EXPECT_EQ(close(ada, id).status, 403);
    const auto closed = close(root, id);
    ASSERT_EQ(closed.status, 200) << closed.body;
    EXPECT_EQ(member(closed.body, "state"), "closed");
    EXPECT_EQ(close(root, id).status, 409);
    EXPECT_EQ(write(ada, id, "wait").status, 409);
    EXPECT_EQ(write(root, id, "no").status, 409);
    EXPECT_NE(town.mail_to("ada@example.org").find("closed"), std::string::npos);
    const auto events = town.harness.app->database().read([](db::Transaction& tx) {
        EXPECT_TRUE(audit::check_events(tx).sound());
        return tx.fetch_values<std::string>(
            "SELECT target_id FROM audit_events WHERE action = 'close_ticket'");
    });
    EXPECT_EQ(events, std::vector<std::string>{id});
    EXPECT_EQ(untold(town.harness.app->database(), {"ticket.closed"}), "");
}

TEST_F(Tickets, ATicketHasABoundedNumberOfMessages) {
    const std::string id = opened(ada);
    town.harness.set("operations.rate_ticket_messages_per_hour", "1000");
    for (int i = 0; i < 100; ++i) ASSERT_EQ(write(ada, id, "m").status, 201);
    EXPECT_EQ(error_code(write(ada, id, "m")), "CONFLICT");
}

TEST_F(Tickets, PagesGoOnWithoutGapOrRepeat) {
    std::set<std::string> made;
    for (int i = 0; i < 5; ++i) {
        town.harness.clock.advance(std::chrono::seconds(1));
        made.insert(opened(ada));
    }
    std::set<std::string> seen;
    std::string cursor;
    for (int pages = 0; pages < 3; ++pages) {
        const auto page = ada.send(
            "GET", "/api/v1/tickets?limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor));
        for (const char* item : {"items.0.ticket_id", "items.1.ticket_id"}) {
            const std::string id = member(page.body, item);
            EXPECT_TRUE(id.empty() || seen.insert(id).second);
        }
        cursor = member(page.body, "next_cursor");
    }
    EXPECT_EQ(seen, made);
    EXPECT_EQ(cursor, "null");
}

}  // namespace
}  // namespace berth::test
