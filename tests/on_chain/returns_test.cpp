// What nobody claims goes back to whoever sent it: paid by the settler, once, whoever presses the
// button how often, and whatever dies in between.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "accounts/accounts.hpp"
#include "on_chain/settlement.hpp"
#include "support/eventually.hpp"
#include "transfers/settlement.hpp"

namespace berth::test {
namespace {

struct Returns : Settlement {
    Returns() {
        town.look();
        came = town.pay(ada, 700);
        town.node.finalize();
        town.look();
        deposit = listed("deposit_id");
        EXPECT_EQ(listed("log_index"), std::to_string(came.log_index));
    }
    Browser admin(const std::string& email) { return town.admin(email); }
    // `address` with its comma, or nothing.
    http::Response send_back(Browser& by, const std::string& address = "") {
        return post(by, "/return", "{" + address + R"("reason":"sent by mistake"})");
    }
    http::Response post(Browser& by, const std::string& action, const std::string& body) {
        return by.send("POST", "/api/v1/admin/suspense/" + deposit + action, body,
                       town.town.harness.new_id());
    }
    std::string listed(const std::string& what, const std::string& query = "") {
        const auto page = root.send("GET", "/api/v1/admin/suspense" + query);
        EXPECT_EQ(page.status, 200) << page.body;
        return member(page.body, "items.0." + what);
    }
    // Signed and sent; mined and final; booked.
    void settle() { settle(root); }
    void settle(Browser& by) {
        town.look();
        town.node.mine();
        town.node.finalize();
        town.look();
        ASSERT_EQ(by.step_up("admin-sensitive").status, 200);
    }
    Micro held(int wallet = 1) { return town.node.balance(town.node.usdc(), address_of(wallet)); }
    void expect_sound() { EXPECT_EQ(town.audit(), "sound"); }

    MoneyTown town;
    Client ada = town.client(1);
    Browser root = admin("root@example.org");
    EvmNode::Mined came;
    std::string deposit;
};

TEST_F(Returns, TheTokensArriveAtTheSenderOnce) {
    const Micro before = held();
    const auto asked = send_back(root);
    ASSERT_EQ(asked.status, 200) << asked.body;
    EXPECT_EQ(member(asked.body, "state"), "RETURNING");
    EXPECT_EQ(listed("state"), "RETURNING");
    EXPECT_EQ(listed("return.transfer_id"), member(asked.body, "transfer_id"));
    EXPECT_EQ(listed("return.address"), crypto::checksummed(address_of(1)));
    EXPECT_EQ(listed("return.tx_hash"), "null");
    expect_sound();
    // It is nobody else's from now on.
    EXPECT_EQ(send_back(root).status, 409);
    EXPECT_EQ(
        post(root, "/match",
             R"({"account_id":")" + ada.account + R"(","reason":"it is hers","evidence":["x"]})")
            .status,
        409);
    EXPECT_EQ(town.claim(ada, town.intent(ada, 700), came).status, 409);
    settle();
    EXPECT_EQ(held(), before + Micro{700});
    EXPECT_EQ(listed("deposit_id"), "") << "it is not in suspense any more";
    EXPECT_EQ(listed("state", "?state=RETURNED"), "RETURNED");
    EXPECT_EQ(listed("return.tx_hash", "?state=RETURNED").substr(0, 2), "0x");
    expect_sound();
    EXPECT_EQ(send_back(root).status, 409);
    EXPECT_EQ(post(root, "/return/cancel", R"({"reason":"too late now"})").status, 409);
    settle();
    EXPECT_EQ(held(), before + Micro{700});
    EXPECT_EQ(attempts(town), 1);
    expect_sound();
}

TEST_F(Returns, TwoAdminsAtOnceSendItOnce) {
    const Micro before = held();
    Browser other = admin("other@example.org");
    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    std::array<int, 2> answers{};
    const std::array keys{town.town.harness.new_id(), town.town.harness.new_id()};
    const auto press = [&](Browser& by, std::size_t i) {
        answers[i] = by.send("POST", "/api/v1/admin/suspense/" + deposit + "/return",
                             R"({"reason":"sent by mistake"})", keys[i])
                         .status;
    };
    std::thread second([&] { press(other, 1); });
    press(root, 0);
    second.join();
    std::ranges::sort(answers);
    EXPECT_EQ(answers, (std::array{200, 409}));
    settle();
    EXPECT_EQ(held(), before + Micro{700});
    EXPECT_EQ(attempts(town), 1);
    expect_sound();
}

TEST_F(Returns, ARepeatedRequestIsTheSameReturn) {
    const std::string key = town.town.harness.new_id();
    const auto press = [&] {
        return root.send("POST", "/api/v1/admin/suspense/" + deposit + "/return",
                         R"({"reason":"sent by mistake"})", key);
    };
    const auto first = press();
    ASSERT_EQ(first.status, 200) << first.body;
    EXPECT_EQ(press().body, first.body);
}

TEST_F(Returns, GoElsewhereOnlyWithEvidence) {
    const std::string elsewhere = R"("address":")" + crypto::checksummed(address_of(5)) + "\",";
    EXPECT_EQ(send_back(root, elsewhere).status, 422);
    for (const crypto::Address& nobody : {crypto::Address{}, treasury_address(), town.node.usdt()})
        EXPECT_EQ(
            send_back(root, R"("evidence":["x"],"address":")" + crypto::to_string(nobody) + "\",")
                .status,
            422);
    const Micro before = held(5);
    EXPECT_EQ(send_back(root, R"("evidence":["ticket 7"],)" + elsewhere).status, 200);
    settle();
    EXPECT_EQ(held(5), before + Micro{700});
    expect_sound();
}

TEST_F(Returns, WhatIsCalledOffOrRefusedIsInSuspenseAgain) {
    const Micro before = held();
    const auto asked = send_back(root);
    ASSERT_EQ(asked.status, 200);
    const auto decide = [&](const std::string& what) {
        return root.send("POST",
                         "/api/v1/admin/transfers/" + member(asked.body, "transfer_id") + what,
                         R"({"reason":"looked into"})", town.town.harness.new_id());
    };
    ASSERT_EQ(decide("/hold").status, 200);
    EXPECT_EQ(post(root, "/return/cancel", R"({"reason":"its owner came"})").status, 409)
        << "it is released first";
    ASSERT_EQ(decide("/release").status, 200);
    EXPECT_EQ(post(root, "/return/cancel", R"({"reason":"its owner came"})").status, 200);
    EXPECT_EQ(listed("state"), "SUSPENSE");
    EXPECT_EQ(post(root, "/return/cancel", R"({"reason":"once more"})").status, 404);
    expect_sound();

    ASSERT_EQ(send_back(root).status, 200);
    town.node.set_barred(town.node.usdc(), address_of(1), true);
    settle();
    EXPECT_EQ(listed("state"), "RETURNING") << "its token may think better of it";
    settle();
    EXPECT_EQ(listed("state"), "SUSPENSE");
    EXPECT_EQ(attempts(town), 0) << "nothing was signed that would be reverted";
    expect_sound();
    EXPECT_EQ(send_back(root).status, 409) << "its address is barred";
    town.node.set_barred(town.node.usdc(), address_of(1), false);
    const std::string payee =
        member(root.send("GET", "/api/v1/admin/payees").body, "items.0.payee_id");
    ASSERT_EQ(root.send("POST", "/api/v1/admin/payees/" + payee + "/lift",
                        R"({"reason":"its issuer took it off"})", town.town.harness.new_id())
                  .status,
              200);
    ASSERT_EQ(send_back(root).status, 200);
    settle();
    EXPECT_EQ(held(), before + Micro{700});
    expect_sound();
}

TEST_F(Returns, WaitForThePauseAndTheCapOfTheDay) {
    town.fund(ada, 700);  // a day before: what came in today may leave today
    town.town.harness.clock.advance(std::chrono::hours(25));
    Browser other = admin("other@example.org");  // sessions have ended since
    ASSERT_EQ(other.step_up("admin-sensitive").status, 200);
    const Micro before = held();
    ASSERT_EQ(send_back(other).status, 200);
    town.town.harness.set("money.payouts_paused", "true");
    settle(other);
    EXPECT_EQ(attempts(town), 0);
    town.town.harness.set("money.payouts_paused", "false");
    town.town.harness.set("money.payouts_day_max_micro", "699");
    settle(other);
    EXPECT_EQ(attempts(town), 0);
    town.town.harness.set("money.payouts_day_max_micro", "700");
    town.town.harness.set("money.payouts_account_day_max_micro", "1");
    settle(other);
    EXPECT_EQ(held(), before + Micro{700});
    // It counts: the day is used up for others.
    town.town.harness.set("money.payouts_account_day_max_micro", "1000000");
    withdraw(town, ada, 700);
    settle(other);
    EXPECT_EQ(newest(town, ada), "INTENT");
    expect_sound();
}

TEST_F(Returns, AreProvedInBothDirections) {
    ASSERT_EQ(send_back(root).status, 200);
    const auto broken = [&](const std::string& sql) {
        struct Undo {};
        std::string text;
        try {
            town.town.harness.app->database().write([&](db::Transaction& tx) {
                tx.script(sql);
                ledger::CheckOptions options;
                options.witnesses = server::witnesses();
                const auto report = ledger::check_ledger(tx, options);
                text = report.sound() ? "sound" : to_text(report);
                throw Undo();
            });
        } catch (const Undo&) {
        }
        return text;
    };
    for (const std::string sql :
         {"UPDATE deposits SET state = 'SUSPENSE' WHERE state = 'RETURNING'",
          "UPDATE deposits SET state = 'RETURNED' WHERE state = 'RETURNING'",
          "DELETE FROM transfers WHERE kind = 'return'",
          "UPDATE transfers SET amount = 701 WHERE kind = 'return'",
          "UPDATE transfers SET state = 'CANCELLED' WHERE kind = 'return'",
          "UPDATE transfers SET state = 'SETTLED' WHERE kind = 'return'"})
        EXPECT_NE(broken(sql), "sound") << sql;
    settle();
    ASSERT_EQ(broken("SELECT 1"), "sound");
    for (const std::string sql :
         {"UPDATE deposits SET state = 'SUSPENSE' WHERE state = 'RETURNED'",
          "DELETE FROM transfers WHERE kind = 'return'",
          "UPDATE transfers SET amount = 701 WHERE kind = 'return'",
          "UPDATE transfers SET address = '0x5555555555555555555555555555555555555555'",
          "UPDATE transfers SET state = 'FAILED' WHERE kind = 'return'",
          "DELETE FROM transfer_attempts",
          "INSERT INTO treasury_payments (tx_hash, ordinal, movement, asset, amount, treasury, "
          "recipient, reference, booked_at) SELECT '0xabc', 0, 'suspense_return', 'USDC', 700, "
          "'0x', '0x', reference, 1 FROM ledger_transactions WHERE movement = 'suspense_return'"})
        EXPECT_NE(broken(sql), "sound") << sql;
}

// The payment is on the chain, the books forgot that they signed it: nothing is paid twice.
TEST_F(Returns, OfBooksThatAreBehindTheChainWaitForAPerson) {
    const Micro before = held();
    ASSERT_EQ(send_back(root).status, 200);
    town.look();
    town.town.harness.app->database().write([](db::Transaction& tx) {
        tx.run("DELETE FROM transfer_attempts");
        tx.run(
            "UPDATE transfers SET state = 'INTENT', tx_hash = NULL, attempts = 0, "
            "signer = NULL, nonce = NULL, signed_at = NULL, sends = 0, send_at = 0");
        tx.run("UPDATE treasury_nonces SET next_nonce = 0");
    });
    town.node.mine();
    town.node.finalize();
    settle();
    EXPECT_EQ(held(), before + Micro{700});
    EXPECT_EQ(post(root, "/return/cancel", R"({"reason":"give it back"})").status, 503)
        << "it may be paid already";
    EXPECT_EQ(listed("state"), "RETURNING");
    expect_sound();
}

// Books from before a return have its money in suspense again, although it has left.
TEST_F(Returns, WhatMayHaveBeenSentBackIsCreditedToNobodyWhileSettlementIsHeld) {
    const Micro before = held();
    const std::string intent = town.intent(ada, 700);
    const std::string match =
        R"({"account_id":")" + ada.account + R"(","reason":"it is hers","evidence":["x"]})";
    const std::string top_up =
        R"({"kind":"top_up","asset":"USDC","amount_micro":"700","reason":"our own","tx_hash":")" +
        chain::to_string(came.transaction) + "\"}";
    const auto hold = [&](auto change) {
        auto& harness = town.town.harness;
        harness.app->database().write([&](db::Transaction& tx) {
            change(db::Context{tx, harness.random, harness.clock.now()});
        });
    };
    hold([](db::Context context) { transfers::add_hold(context, "restored"); });
    for (const auto& refused :
         {post(root, "/match", match), send_back(root), town.claim(ada, intent, came),
          root.send("POST", "/api/v1/admin/treasury/movements", top_up,
                    town.town.harness.new_id())}) {
        EXPECT_EQ(refused.status, 503) << refused.body;
        EXPECT_EQ(member(refused.body, "error.code"), "UNAVAILABLE");
        EXPECT_EQ(member(refused.body, "error.retryable"), "true");
    }
    EXPECT_EQ(listed("state"), "SUSPENSE");
    EXPECT_EQ(member(town.get(ada, "/api/v1/funding-intents/" + intent).body, "state"), "OPEN");
    expect_sound();

    hold([](db::Context context) { transfers::end_holds(context.tx, context.now, "compared"); });
    ASSERT_EQ(send_back(root).status, 200);
    settle();
    EXPECT_EQ(held(), before + Micro{700});
    EXPECT_EQ(post(root, "/match", match).status, 409);
    EXPECT_EQ(town.claim(ada, intent, came).status, 409);
    expect_sound();
}

TEST_F(Returns, KilledAgainAndAgainTheWorkerPaysOnce) {
    const Micro before = held();
    ASSERT_EQ(send_back(root).status, 200);
    auto& harness = town.town.harness;
    harness.app.reset();
    const std::vector<std::string> worker{program_path("berthd"),
                                          "worker",
                                          "--db",
                                          harness.database.url(),
                                          "--secrets",
                                          harness.folder.path() + "/secrets",
                                          "--chain-rpc",
                                          town.node.url(),
                                          "--allow-unsafe",
                                          "undurable-db",
                                          "--token-usdc",
                                          crypto::to_string(town.node.usdc()),
                                          "--token-usdt",
                                          crypto::to_string(town.node.usdt()),
                                          "--chain-poll-ms",
                                          "10",
                                          "--mail",
                                          "file:" + harness.folder.path() + "/mail"};
    const std::string log = harness.folder.path() + "/log";
    const auto run_until = [&](const std::string& said) {
        harness.database.open()->write(
            [](db::Transaction& tx) { tx.run("UPDATE tasks SET lease_until = 0, run_at = 0"); });
        Process process(worker, log);
        EXPECT_TRUE(support::eventually(
            [&] {
                town.node.mine();
                return read_text(log).find(said) != std::string::npos;
            },
            {.look_every = std::chrono::milliseconds(20)}))
            << said << read_text(log);
        process.signal(SIGKILL);
        process.wait();
    };
    run_until("transfer_sent");
    run_until("transfer_settled");
    run_until("transfer_settled");
    EXPECT_EQ(held(), before + Micro{700});
    harness.database.open()->read([](db::Transaction& tx) {
        EXPECT_EQ(tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM transfer_attempts"), 1);
    });
    const auto check = run_program({program_path("berthd"), "check", "ledger", "--chain", "--db",
                                    harness.database.url(), "--chain-rpc", town.node.url()});
    EXPECT_EQ(check.status, 0) << check.output;
    EXPECT_NE(check.output.find("the treasury holds 0, the books say 0 (difference 0"),
              std::string::npos)
        << check.output;
}

}  // namespace
}  // namespace berth::test
