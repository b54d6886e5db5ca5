// What operators look through of all accounts.
#include "admin/office.hpp"
#include "support/machines.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

struct LookingThrough : Office {
    // Every item of a list, page by page of one, by this member.
    std::vector<std::string> all(const std::string& path, const std::string& which) {
        std::vector<std::string> found;
        const std::string with = path + (path.find('?') == path.npos ? "?" : "&") + "limit=1";
        for (std::string cursor; found.size() < 50;) {
            const std::string page = get(root, with + (cursor.empty() ? "" : "&cursor=" + cursor));
            if (const std::string one = member(page, "items.0." + which); !one.empty())
                found.push_back(one);
            cursor = member(page, "next_cursor");
            if (cursor == "null") break;
        }
        return found;
    }
    void add_deposit(char digit, std::int64_t seen_at, const std::string& state,
                     const std::optional<AccountId>& account = {}) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, "
                "seen_at, updated_at, state, intent_id, account_id, log_index) "
                "VALUES ($1, 0, 'USDC', $2, NULL, 5, 1, $3, $3, $4, NULL, $5, 0)",
                "0x" + std::string(64, digit), crypto::parse_address(elsewhere).value(), seen_at,
                state, account);
        });
    }
    void add_intent(AccountId account, const std::string& state, Time expires_at) {
        town.harness.clock.advance(std::chrono::milliseconds(1));
        const Time now = town.harness.clock.now();
        const std::string address = crypto::to_string(crypto::parse_address(somewhere).value());
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO funding_intents (intent_id, account_id, binding_id, "
                "binding_version, wallet, asset, token, treasury, amount, state, exception, "
                "created_at, expires_at, claim_tx, claim_log_index, confirmed_at) "
                "VALUES ($1, $2, $1, 1, $3, 'USDC', $3, $3, 5, $4, $5, $6, $7, NULL, NULL, NULL)",
                make_uuid(now, town.harness.random), account, address, state,
                state == "EXCEPTION" ? std::optional(std::string("another amount")) : std::nullopt,
                now, expires_at);
        });
    }
};

TEST_F(LookingThrough, KeysOfAllAccountsByPrefixAndWhetherTheyAreGood) {
    const std::string first = town.key_of(ada);
    town.harness.clock.advance(std::chrono::milliseconds(1));
    Browser ben = town.person("ben@example.org");
    const std::string second = town.key_of(ben);
    EXPECT_EQ(all("keys", "prefix"),
              (std::vector<std::string>{second.substr(0, 12), first.substr(0, 12)}));
    EXPECT_EQ(all("keys?prefix=" + first, "account_id"), std::vector<std::string>{id_of(ada)});
    EXPECT_EQ(all("keys?account=" + id_of(ben), "prefix"),
              std::vector<std::string>{second.substr(0, 12)});
    EXPECT_EQ(all("keys?good=false", "prefix"), std::vector<std::string>{});
    const std::string id = id_of(ada);
    ASSERT_EQ(post(root, "users/" + id + "/revoke-keys",
                   R"({"reason":"for a good reason","expected_version":")" + version(id) + "\"}")
                  .status,
              200);
    EXPECT_EQ(all("keys?good=false", "prefix"), std::vector<std::string>{first.substr(0, 12)});
    EXPECT_EQ(all("keys?good=true", "prefix"), std::vector<std::string>{second.substr(0, 12)});
    EXPECT_EQ(root.send("GET", "/api/v1/admin/keys?limit=101").status, 422);
    for (const char* odd : {"ark_", "a%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4"})
        EXPECT_EQ(all(std::string("keys?prefix=") + odd, "key_id").size(), 0u) << odd;
}

TEST_F(LookingThrough, IntentsClaimsAndDeposits) {
    const AccountId hers = account(ada);
    const Time now = town.harness.clock.now();
    add_intent(hers, "OPEN", now + std::chrono::hours(24));
    add_intent(hers, "OPEN", now - std::chrono::hours(1));
    add_intent(account(root), "EXCEPTION", now + std::chrono::hours(24));
    EXPECT_EQ(all("funding-intents", "state"),
              (std::vector<std::string>{"EXCEPTION", "EXPIRED", "OPEN"}));
    EXPECT_EQ(all("funding-intents?state=EXPIRED", "account_id"),
              std::vector<std::string>{to_string(hers)});
    EXPECT_EQ(all("funding-intents?state=OPEN", "state"), std::vector<std::string>{"OPEN"});
    EXPECT_EQ(all("funding-intents?state=EXCEPTION", "exception"),
              std::vector<std::string>{"another amount"});
    EXPECT_EQ(all("funding-intents?account=" + to_string(hers), "state").size(), 2u);
    EXPECT_EQ(all("claims", "intent_id").size(), 0u);
    const std::string open = all("funding-intents?state=OPEN", "intent_id").at(0);
    town.harness.app->database().write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO pending_claims (intent_id, tx_hash, log_index, claimed_at, until, "
            "looked_at) VALUES ($1, $2, 3, $3, $4, $3)",
            parse_uuid(open).value(), "0x" + std::string(64, 'e'), now,
            now + std::chrono::hours(24));
    });
    EXPECT_EQ(all("claims", "intent_id"), std::vector<std::string>{open});
    EXPECT_EQ(all("claims?account=" + to_string(account(root)), "intent_id").size(), 0u);

    add_deposit('a', 7, "SUSPENSE");
    add_deposit('b', 9, "CLAIMED", hers);
    add_deposit('c', 9, "RETURNED");
    EXPECT_EQ(all("deposits", "state"),
              (std::vector<std::string>{"RETURNED", "CLAIMED", "SUSPENSE"}));
    EXPECT_EQ(all("deposits?account=" + to_string(hers), "tx_hash"),
              std::vector<std::string>{"0x" + std::string(64, 'b')});
    EXPECT_EQ(all("deposits?state=SUSPENSE", "deposit_id").size(), 1u);
    EXPECT_EQ(all("deposits?sender=" + std::string(elsewhere), "state").size(), 3u);
    EXPECT_EQ(all("deposits?sender=" + std::string(somewhere), "state").size(), 0u);
}

TEST_F(LookingThrough, WhoOwesAndHowMuch) {
    Browser ben = town.person("ben@example.org");
    const AccountId host = account(ben);
    const JobId over = job(account(ada), host, 1000);
    EXPECT_EQ(all("debts", "account_id").size(), 0u);
    const auto id = ledger::TransferId::make(town.harness.clock.now(), town.harness.random);
    book([&](ledger::Context context) {
        ledger::lock(context, {id, host, ledger::Asset::usdc, Micro{900}, ledger::Source::payout});
        ledger::settle(context, id);
    });
    const auto refunded = post(root, "refunds?bearer=host_debt",
                               R"({"job_id":")" + to_string(over) +
                                   R"(","amount_micro":"1000","reason":"it did not run",)"
                                   R"("evidence":["ticket 7"]})");
    ASSERT_EQ(refunded.status, 202) << refunded.body;
    const std::string debts = get(root, "debts");
    EXPECT_EQ(member(debts, "items.0.account_id"), to_string(host));
    EXPECT_EQ(member(debts, "items.0.email"), "ben@example.org");
    EXPECT_EQ(member(debts, "items.0.debt_micro"), "900");
    EXPECT_EQ(member(debts, "items.0.paid_micro"), "900");
    EXPECT_EQ(member(debts, "items.1.account_id"), "");
    EXPECT_EQ(all("debts?asset=USDT", "account_id").size(), 0u);
    EXPECT_EQ(all("debts", "asset"), std::vector<std::string>{"USDC"});
}

TEST_F(LookingThrough, MachinesOfAllAccounts) {
    Browser ben = town.person("ben@example.org");
    const auto first = enrolled(town.harness, account(ada));
    town.harness.clock.advance(std::chrono::milliseconds(1));
    const auto second = enrolled(
        town.harness, account(ben),
        {.state = machines::MachineState::QUARANTINED, .adjust = [](machines::Machine& made) {
             made.quarantined_by = machines::QuarantineCause::host_lost;
         }});
    EXPECT_EQ(
        all("machines", "machine_id"),
        (std::vector<std::string>{to_string(second.machine_id), to_string(first.machine_id)}));
    EXPECT_EQ(all("machines?state=QUARANTINED", "quarantined_by"),
              std::vector<std::string>{"host_lost"});
    EXPECT_EQ(all("machines?owner=" + id_of(ada), "machine_id"),
              std::vector<std::string>{to_string(first.machine_id)});
    EXPECT_EQ(all("machines?retired=true", "machine_id").size(), 0u);
    EXPECT_EQ(member(get(root, "users/" + id_of(ben)), "machines.0.machine_id"),
              to_string(second.machine_id));
    EXPECT_EQ(all("stuck?kind=machine", "id"),
              std::vector<std::string>{to_string(second.machine_id)});
}

TEST_F(LookingThrough, WhatIsStuckKindByKindAndWhy) {
    const Time now = town.harness.clock.now();
    EXPECT_EQ(all("stuck", "id").size(), 0u);
    add_intent(account(ada), "EXCEPTION", now + std::chrono::hours(24));
    add_intent(account(ada), "EXCEPTION", now - std::chrono::hours(24 * 8));
    add_deposit('a', 7, "SUSPENSE");
    add_deposit('b', 8, "RETURNING");
    add_deposit('c', 9, "RETURNED");
    town.harness.app->database().write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO tasks (task_id, kind, unique_key, payload, state, run_at, attempts, "
            "lease_id, lease_until, last_error, created_at) "
            "VALUES ($1, 'send_mail', NULL, '', 'dead', 0, 10, NULL, 0, '550 no mailbox', 0)",
            make_uuid(now, town.harness.random));
    });
    EXPECT_EQ(all("stuck", "kind"),
              (std::vector<std::string>{"intent", "deposit", "deposit", "task"}));
    EXPECT_EQ(all("stuck?kind=deposit", "state"),
              (std::vector<std::string>{"SUSPENSE", "RETURNING"}));
    const std::string task = get(root, "stuck?kind=task");
    EXPECT_NE(member(task, "items.0.why").find("550 no mailbox"), std::string::npos);
    EXPECT_NE(member(task, "items.0.help").find("retry"), std::string::npos);
    const std::string cursor = member(get(root, "stuck?limit=1"), "next_cursor");
    EXPECT_EQ(root.send("GET", "/api/v1/admin/stuck?kind=task&limit=1&cursor=" + cursor).status,
              422)
        << "the cursor of another list";
}

}  // namespace
}  // namespace berth::test
