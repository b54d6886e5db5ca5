// Accounts whose owners leave: closed when they are empty, exported whole, erased where the books
// allow it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "admin/office.hpp"
#include "audit/audit.hpp"
#include "closing/closing.hpp"
#include "support/machines.hpp"
#include "transfers/addresses.hpp"

namespace berth::test {
namespace {

struct Closing : Office {
    explicit Closing(Harness::Options options = {}) : Office(std::move(options)) {}

    http::Response close(Browser& browser, const std::string& body = "{}") {
        EXPECT_EQ(browser.step_up("account-sensitive").status, 200);
        return browser.send("POST", "/api/v1/account/close", body, town.harness.new_id());
    }
    http::Response decide(const std::string& user, const std::string& word,
                          const std::string& more = "") {
        return post(root, "users/" + user + "/" + word,
                    R"({"reason":"for a good reason","expected_version":")" + version(user) + "\"" +
                        more + "}");
    }
    http::Response freeze(const std::string& user, bool frozen) {
        return root.send("PUT", "/api/v1/admin/users/" + user + "/freeze",
                         std::string(R"({"frozen":)") + (frozen ? "true" : "false") +
                             R"(,"reason":"for a good reason","expected_version":")" +
                             version(user) + "\"}",
                         town.harness.new_id());
    }
    std::string recovery_of(const std::string& user) {
        const auto opened = post(root, "recoveries",
                                 R"({"account_id":")" + user +
                                     R"(","email":"ada@example.net","reason":"Ada lost it",)"
                                     R"("evidence":["ticket 7"]})");
        EXPECT_EQ(opened.status, 201) << opened.body;
        return member(opened.body, "recovery_id");
    }
    std::string obstacles(const std::string& user) {
        std::string codes;
        const std::string state = get(root, "users/" + user + "/closing");
        for (int i = 0;; ++i) {
            const std::string code = member(state, "obstacles." + std::to_string(i) + ".code");
            if (code.empty()) return codes;
            codes += (codes.empty() ? "" : " ") + code;
        }
    }
    void deposit(AccountId who, std::int64_t amount) {
        const std::string reference = town.harness.new_id();
        book([&](ledger::Context context) {
            ledger::deposit(context, {who, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }
    void withdraw(AccountId who, std::int64_t amount) {
        book([&](ledger::Context context) {
            const auto id = ledger::TransferId::make(context.now, context.random);
            ledger::lock(context,
                         {id, who, ledger::Asset::usdc, Micro{amount}, ledger::Source::withdrawal});
            ledger::settle(context, id);
        });
    }
    int start(const std::string& email) {
        Browser browser(town);
        browser.origin = ada.origin;
        return browser.sign_in(email).status;
    }
    void later(Duration span) {
        town.harness.clock.advance(span);
        town.run_tasks();
    }
    // Somebody who signs in again after a long time.
    void come_back() {
        root.sign_in("root@example.org");
        EXPECT_EQ(root.step_up("admin-sensitive").status, 200);
    }
    std::int64_t rows(const std::string& what) {
        static std::set<std::string> texts;  // statements live as long as the program
        const std::string& sql = *texts.insert("SELECT COUNT(*) FROM " + what).first;
        return town.harness.app->database().read(
            [&](db::Transaction& tx) { return tx.fetch_value<std::int64_t>(sql).value(); });
    }
};

TEST_F(Closing, AnEmptyAccountIsClosedAndNobodyGetsInAnyMore) {
    const std::string key = town.key_of(ada);
    const std::string id = id_of(ada);
    const auto done = close(ada);
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "erase_at"), "null");
    EXPECT_EQ(ada.send("GET", "/api/v1/auth/session").status, 401);
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 401);
    EXPECT_NE(town.mail_to("ada@example.org").find("The account is closed"), std::string::npos);
    EXPECT_EQ(start("ada@example.org"), 401);
    EXPECT_EQ(events("close_account"), 1);
    EXPECT_NE(member(get(root, "users/" + id + "/closing"), "closed_at"), "null");
    // Ending the suspension is not the way back.
    EXPECT_EQ(act(root, id, R"("action":"set_suspension","suspended":false)").status, 409);
    EXPECT_EQ(decide(id, "reopen").status, 200);
    EXPECT_EQ(start("ada@example.org"), 200);
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 401) << "keys stay revoked";
    EXPECT_EQ(decide(id, "reopen").status, 409);
}

TEST_F(Closing, WhatIsInTheAccountComesOutFirst) {
    const AccountId id = account(ada);
    deposit(id, 700);
    EXPECT_EQ(obstacles(to_string(id)), "BALANCE");
    const auto refused = close(ada);
    EXPECT_EQ(refused.status, 409);
    EXPECT_NE(error_message(refused).find("700 micro-units of USDC"), std::string::npos);
    EXPECT_EQ(ada.send("GET", "/api/v1/auth/session").status, 200);
    withdraw(id, 700);
    EXPECT_EQ(obstacles(to_string(id)), "");
    EXPECT_EQ(close(ada).status, 200);
}

TEST_F(Closing, EveryPocketAndEveryTieIsAnObstacle) {
    Browser bob = town.person("bob@example.org");
    const AccountId renter = account(ada);
    const AccountId host = account(bob);
    const JobId over = job(renter, host, 10'000);
    EXPECT_EQ(obstacles(to_string(host)), "BALANCE") << "earnings";
    book([&](ledger::Context context) {
        const auto id = ledger::TransferId::make(context.now, context.random);
        ledger::lock(context,
                     {id, host, ledger::Asset::usdc, Micro{9'000}, ledger::Source::payout});
    });
    EXPECT_EQ(obstacles(to_string(host)), "TRANSFERS");
    book([&](ledger::Context context) {
        ledger::refund(context, {ledger::RefundId::make(context.now, context.random), over,
                                 Micro{1'000}, ledger::Bearer::host_debt});
    });
    EXPECT_EQ(obstacles(to_string(host)), "TRANSFERS DEBT");
    EXPECT_EQ(obstacles(to_string(renter)), "BALANCE") << "the refund";
    enrolled(town.harness, host);
    EXPECT_EQ(obstacles(to_string(host)), "TRANSFERS DEBT MACHINES");
    EXPECT_EQ(obstacles(id_of(root)), "OPERATOR");
    EXPECT_EQ(close(root).status, 409);
    EXPECT_EQ(decide(to_string(host), "close").status, 409);
}

TEST_F(Closing, NeitherSideOfAnOpenDisputeLeaves) {
    Browser bob = town.person("bob@example.org");
    const AccountId renter = account(ada);
    const AccountId host = account(bob);
    const JobId over = job(renter, host, 10'000);
    book([&](ledger::Context context) {
        const auto id = ledger::TransferId::make(context.now, context.random);
        ledger::lock(context,
                     {id, host, ledger::Asset::usdc, Micro{9'000}, ledger::Source::payout});
        ledger::settle(context, id);
    });
    EXPECT_EQ(obstacles(to_string(host)), "");
    const auto opened = post(root, "disputes",
                             R"({"job_id":")" + to_string(over) +
                                 R"(","amount_micro":"10000","reason":"it did not run",)"
                                 R"("evidence":["ticket 7"]})");
    ASSERT_EQ(opened.status, 201) << opened.body;
    EXPECT_EQ(balances(host).escrow, Micro{}) << "nothing was left to be held";
    EXPECT_EQ(obstacles(to_string(host)), "DISPUTES");
    EXPECT_EQ(obstacles(to_string(renter)), "DISPUTES");
    EXPECT_EQ(close(bob, R"({"erase":true})").status, 409);
    post(root, "disputes/" + member(opened.body, "dispute_id") + "/close",
         R"({"outcome":"rejected","reason":"it ran"})");
    EXPECT_EQ(obstacles(to_string(host)), "");
}

TEST_F(Closing, WhoeverIsLookedIntoDoesNotLeave) {
    const std::string id = id_of(ada);
    ASSERT_EQ(freeze(id, true).status, 200);
    EXPECT_EQ(obstacles(id), "FROZEN");
    EXPECT_EQ(close(ada, R"({"erase":true})").status, 409);
    ASSERT_EQ(freeze(id, false).status, 200);
    ASSERT_EQ(close(ada, R"({"erase":true})").status, 200);
    ASSERT_EQ(freeze(id, true).status, 200);
    later(std::chrono::hours(24 * 31));
    EXPECT_EQ(events("erase_account"), 0);
}

TEST_F(Closing, ARecoveryThatWaitsIsOverWhenTheAccountIsClosed) {
    const std::string path = "recoveries/" + recovery_of(id_of(ada));
    ASSERT_EQ(close(ada).status, 200);
    EXPECT_EQ(member(get(root, path), "state"), "cancelled");
    later(std::chrono::hours(24 * 8));
    come_back();
    EXPECT_EQ(post(root, path + "/complete", R"({"reason":"nobody objected"})").status, 409);
}

TEST_F(Closing, ATokenForAMachineGoesWithTheAccount) {
    const auto made = ada.send("POST", "/api/v1/hosts/enrollments", R"({"tier":"container"})",
                               town.harness.new_id());
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(rows("machine_enrollments"), 1);
    ASSERT_EQ(close(ada).status, 200);
    EXPECT_EQ(rows("machine_enrollments"), 0);
}

TEST_F(Closing, OfTwoAtOnceOneCloses) {
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
    std::array<int, 2> statuses{};
    {
        std::vector<std::jthread> threads;
        for (int& status : statuses)
            threads.emplace_back([this, &status] {
                Browser browser = ada;
                status =
                    browser
                        .send("POST", "/api/v1/account/close", "{}",
                              to_string(make_uuid(town.harness.clock.now(), town.harness.random)))
                        .status;
            });
    }
    EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 200), 1)
        << statuses[0] << " " << statuses[1];
    EXPECT_EQ(events("close_account"), 1);
}

TEST_F(Closing, AfterTheWaitTheOwnerIsForgottenAndTheBooksStay) {
    const AccountId id = account(ada);
    const std::string text = to_string(id);
    town.key_of(ada);
    deposit(id, 700);
    withdraw(id, 700);
    const auto ticket =
        ada.send("POST", "/api/v1/tickets", R"({"category":"billing","text":"call me, I am Ada"})",
                 town.harness.new_id());
    ASSERT_EQ(ticket.status, 201) << ticket.body;
    const std::int64_t entries = rows("ledger_entries");
    const std::int64_t networks = rows("sign_in_networks");
    const auto done = close(ada, R"({"erase":true})");
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_NE(member(done.body, "erase_at"), "null");
    later(std::chrono::hours(24 * 29));
    EXPECT_EQ(events("erase_account"), 0);
    later(std::chrono::hours(25));
    EXPECT_EQ(events("erase_account"), 1);
    EXPECT_NE(town.mail_to("ada@example.org").find("Your account was erased"), std::string::npos);
    EXPECT_EQ(rows("accounts WHERE email = 'ada@example.org'"), 0);
    EXPECT_EQ(rows("sign_in_networks"), networks - 1);
    EXPECT_EQ(rows("tickets WHERE text <> 'erased'"), 0);
    EXPECT_EQ(rows("ledger_entries"), entries);
    town.harness.app->database().read(
        [](db::Transaction& tx) { EXPECT_TRUE(audit::check_events(tx).sound()); });
    come_back();
    EXPECT_NE(member(get(root, "users/" + text + "/closing"), "erased_at"), "null");
    EXPECT_EQ(decide(text, "reopen").status, 409);
    EXPECT_EQ(decide(text, "erase").status, 409);
    // Operators still act on the number, and no mail goes to nobody.
    town.run_tasks();
    const std::size_t sent = town.transport->sent().size();
    EXPECT_EQ(act(root, text, R"("action":"revoke_sessions")").status, 200);
    town.run_tasks();
    EXPECT_EQ(town.transport->sent().size(), sent);
    // The mailbox is free again, for somebody new.
    Browser again = town.person("ada@example.org");
    EXPECT_NE(id_of(again), text);
}

TEST_F(Closing, WhatOthersWroteOfTheOwnerIsForgottenToo) {
    const AccountId id = account(ada);
    const auto noted =
        post(root, "users/" + to_string(id) + "/notes", R"({"text":"Ada called from Turin"})");
    ASSERT_EQ(noted.status, 201) << noted.body;
    EXPECT_EQ(rows("audit_changes WHERE after LIKE '%Turin%'"), 0) << "that record is for ever";
    recovery_of(to_string(id));
    book([&](ledger::Context context) {
        transfers::save_own_address(
            context, id,
            crypto::parse_address("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed").value());
    });
    ASSERT_EQ(close(ada, R"({"erase":true})").status, 200);
    book([&](ledger::Context context) {
        EXPECT_TRUE(accounts::put_email(context, id, "ada@example.com"));
    });
    EXPECT_EQ(rows("former_emails"), 1);
    later(std::chrono::hours(24 * 31));
    ASSERT_EQ(events("erase_account"), 1);
    EXPECT_EQ(rows("former_emails"), 0);
    EXPECT_EQ(rows("account_notes"), 0);
    EXPECT_EQ(rows("recoveries"), 1);
    EXPECT_EQ(rows("recoveries WHERE email LIKE '%ada%' OR reason <> 'erased'"), 0);
    EXPECT_EQ(rows("withdrawal_addresses"), 0);
    EXPECT_EQ(events("remove_address"), 1);
}

TEST_F(Closing, WhatCameMeanwhilePutsTheErasureOff) {
    const AccountId id = account(ada);
    ASSERT_EQ(close(ada, R"({"erase":true})").status, 200);
    deposit(id, 5);  // a refund, say
    later(std::chrono::hours(24 * 31));
    EXPECT_EQ(events("erase_account"), 0);
    EXPECT_EQ(rows("accounts WHERE email = 'ada@example.org'"), 1);
    come_back();
    EXPECT_EQ(member(get(root, "stuck?kind=erasure"), "items.0.id"), to_string(id));
    withdraw(id, 5);
    later(std::chrono::hours(25));
    EXPECT_EQ(events("erase_account"), 1);
    come_back();
    EXPECT_EQ(member(get(root, "stuck?kind=erasure"), "items.0.id"), "");
}

TEST_F(Closing, AnOperatorWhoReopensInTimeEndsTheErasure) {
    const std::string id = id_of(ada);
    ASSERT_EQ(close(ada, R"({"erase":true})").status, 200);
    ASSERT_EQ(decide(id, "reopen").status, 200);
    later(std::chrono::hours(24 * 40));
    EXPECT_EQ(events("erase_account"), 0);
    EXPECT_EQ(start("ada@example.org"), 200);
}

TEST_F(Closing, ASuspendedAccountIsSuspendedAgainWhenItIsReopened) {
    const std::string id = id_of(ada);
    ASSERT_EQ(act(root, id, R"("action":"set_suspension","suspended":true)").status, 200);
    ASSERT_EQ(decide(id, "close").status, 200);
    EXPECT_EQ(decide(id, "close").status, 409);
    ASSERT_EQ(decide(id, "reopen").status, 200);
    EXPECT_EQ(start("ada@example.org"), 401);
}

TEST_F(Closing, WhoIsSuspendedWhileClosedStaysSoWhenItIsReopened) {
    const std::string id = id_of(ada);
    ASSERT_EQ(close(ada).status, 200);
    ASSERT_EQ(act(root, id, R"("action":"set_suspension","suspended":true)").status, 200);
    ASSERT_EQ(decide(id, "reopen").status, 200);
    EXPECT_EQ(start("ada@example.org"), 401);
}

TEST_F(Closing, BadInputIsNamedAndAnOldVersionChangesNothing) {
    const std::string id = id_of(ada);
    const auto stale = post(root, "users/" + id + "/close",
                            R"({"reason":"for a good reason","expected_version":"77"})");
    EXPECT_EQ(error_code(stale), "STALE_VERSION");
    const auto refused =
        post(root, "users/" + id + "/close", R"({"reason":"x","expected_version":"1"})");
    EXPECT_EQ(refused.status, 422);
    EXPECT_NE(error_message(refused).find("body.reason"), std::string::npos);
    EXPECT_EQ(decide(id, "erase").status, 409) << "it is open";
    EXPECT_EQ(
        post(root, "users/nobody/close", R"({"reason":"for a good reason","expected_version":"1"})")
            .status,
        404);
    EXPECT_EQ(events("close_account"), 0);
}

struct ClosingByTwo : Closing {
    ClosingByTwo() : Closing(Harness::Options{.flags = {{"four-eyes", "auto"}}}) {}
};

TEST_F(ClosingByTwo, OneAdminAloneErasesNobody) {
    Browser eve = admin("eve@example.org");
    const std::string id = id_of(ada);
    ASSERT_EQ(decide(id, "close").status, 200);
    const auto asked = decide(id, "erase");
    ASSERT_EQ(asked.status, 202) << asked.body;
    EXPECT_EQ(rows("accounts WHERE email = 'ada@example.org'"), 1);
    const std::string path =
        "pending-actions/" + member(asked.body, "pending_action_id") + "/confirm";
    EXPECT_EQ(post(root, path, R"({"reason":"I say so"})").status, 403);
    EXPECT_EQ(rows("pending_actions WHERE consequence LIKE '%ada@%'"), 0);
    EXPECT_EQ(post(eve, path, R"({"reason":"looked at the ticket"})").status, 200);
    EXPECT_EQ(rows("accounts WHERE email = 'ada@example.org'"), 0);
    EXPECT_EQ(rows("pending_actions WHERE state = 'confirmed' AND reason = 'erased'"), 1);
}

TEST_F(ClosingByTwo, NorHasOneForgottenLaterOrSooner) {
    Browser eve = admin("eve@example.org");
    const auto asked = decide(id_of(ada), "close", R"(,"erase":true)");
    ASSERT_EQ(asked.status, 202) << asked.body;
    EXPECT_EQ(rows("closed_accounts"), 0);
    const auto sooner = root.send("PUT", "/api/v1/admin/settings/operations.erase_after_days",
                                  R"({"value":0,"expected_version":0,"reason":"in a hurry"})",
                                  town.harness.new_id());
    EXPECT_EQ(sooner.status, 202) << sooner.body;
    const std::string path =
        "pending-actions/" + member(asked.body, "pending_action_id") + "/confirm";
    EXPECT_EQ(post(eve, path, R"({"reason":"looked at the ticket"})").status, 200);
    EXPECT_EQ(rows("closed_accounts"), 1);
}

TEST_F(Closing, AnExportHasEverythingTheAccountCanRead) {
    const AccountId id = account(ada);
    town.key_of(ada);
    for (int i = 0; i < 130; ++i) deposit(id, 10 + i);  // more than a page
    const auto ticket =
        ada.send("POST", "/api/v1/tickets", R"({"category":"billing","text":"where is it?"})",
                 town.harness.new_id());
    ASSERT_EQ(ticket.status, 201);
    EXPECT_EQ(ada.send("GET", "/api/v1/account/export").status, 200) << "stepped up for the key";
    town.harness.clock.advance(std::chrono::minutes(6));
    EXPECT_EQ(ada.send("GET", "/api/v1/account/export").status, 403) << "with a fresh proof alone";
    ada.step_up("account-sensitive");
    const auto answer = ada.send("GET", "/api/v1/account/export");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const std::string& all = answer.body;
    EXPECT_EQ(member(all, "account_id"), to_string(id));
    EXPECT_EQ(member(all, "account.email"), "ada@example.org");
    EXPECT_EQ(member(all, "sections.api_keys.0.name"), "test");
    EXPECT_EQ(member(all, "sections.entries.0.kind"), "deposit");
    EXPECT_EQ(member(all, "sections.entries.129.amount_micro"), "10");
    EXPECT_EQ(member(all, "sections.entries.130.kind"), "");
    EXPECT_EQ(member(all, "sections.tickets.0.text"), "where is it?");
    EXPECT_EQ(member(all, "sections.balance_usdc.asset"), "USDC");
    EXPECT_EQ(member(all, "cut"), "[]");
    EXPECT_NE(all.find("make_api_key"), std::string::npos);
    EXPECT_EQ(all.find("root@example.org"), std::string::npos);
    EXPECT_EQ(events("read_export"), 2);
}

// Of each route that is the account's own somebody says whether it is exported.
TEST_F(Closing, NoRouteOfTheAccountsOwnIsForgottenByAnExport) {
    const std::set<std::string> elsewhere{
        "show_session",      // who is asking
        "show_closing",      // what would become of the account
        "export_account",    // itself
        "show_statement",    // the entries of a time, which are exported whole
        "show_own_proof",    // of the balances, which are exported
        "show_own_absence",  // that there is nothing to prove
        "list_events",       // what was told of the last weeks, about what is exported
        "stream_events",     // the same
    };
    api::Caller owner;
    owner.credential = api::Credential::session;
    owner.renter = true;
    owner.host = true;
    std::size_t asked = 0;
    for (const auto& entry : town.harness.app->router().entries()) {
        const api::Route& route = entry->route;
        if (route.method != "GET" || route.path.find('{') != route.path.npos) continue;
        if (route.access == api::Access::anyone || !api::permits(route.access, owner)) continue;
        ++asked;
        EXPECT_NE(closing::is_exported(route.path), elsewhere.contains(route.name)) << route.name;
    }
    EXPECT_GT(asked, 15U);
}

TEST_F(Closing, AnOperatorsExportNeedsAProofAndIsRecorded) {
    const std::string id = id_of(ada);
    EXPECT_EQ(ada.send("GET", "/api/v1/admin/users/" + id + "/export").status, 403);
    const auto answer = root.send("GET", "/api/v1/admin/users/" + id + "/export");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(member(answer.body, "account.email"), "ada@example.org");
    EXPECT_EQ(member(answer.body, "sections.rentals"), "[]");
    EXPECT_EQ(member(answer.body, "sections.credits"), "[]");
    EXPECT_EQ(member(answer.body, "sections.recoveries"), "[]");
    EXPECT_EQ(member(answer.body, "account.former_emails"), "[]");
    EXPECT_EQ(member(answer.body, "account.frozen"), "false");
    EXPECT_EQ(events("read_export"), 1);
}

TEST_F(Closing, AnAgentLeavesByItsOwnKey) {
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    const auto made = town.enlist(wallet);
    const std::string key = member(made.body, "api_key.secret");
    const std::string id = member(made.body, "account_id");
    ASSERT_EQ(town.step_up(wallet, key, "account-sensitive").status, 200);
    EXPECT_NE(member(town.with_key(key, "GET", "/api/v1/account/export").body, "agent.name"), "");
    const auto done = town.harness.ask({.method = "POST",
                                        .target = "/api/v1/account/close",
                                        .as = key,
                                        .key = town.harness.new_id(),
                                        .body = R"({"erase":true})"});
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(town.with_key(key, "GET", "/api/v1/billing").status, 401);
    EXPECT_EQ(town.enlist(wallet).status, 403) << "a closed account gets no new key";
    later(std::chrono::hours(24 * 31));
    EXPECT_EQ(rows("agent_profiles"), 0);
    EXPECT_EQ(events("erase_account"), 1);
}

}  // namespace
}  // namespace berth::test
