#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/json_text.hpp"
#include "funding/funding.hpp"
#include "on_chain/money_town.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

TEST(Funding, CreditsATransferOnceItIsFinal) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 5'000'000);
    EXPECT_EQ(town.state(ada, intent), "OPEN");
    const auto transfer = town.pay(ada, 5'000'000);

    // Mined, but not final: nothing is recorded on the intent, and the same key confirms later.
    const std::string key = town.town.harness.new_id();
    const auto pending = town.claim(ada, intent, transfer, key);
    EXPECT_EQ(pending.status, 202);
    EXPECT_EQ(member(pending.body, "state"), "PENDING");
    EXPECT_EQ(town.state(ada, intent), "OPEN");
    EXPECT_EQ(town.balance(ada), "0");

    town.node.finalize();
    EXPECT_EQ(member(town.claim(ada, intent, transfer, key).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "5000000");
    const auto shown = town.get(ada, "/api/v1/funding-intents/" + intent).body;
    EXPECT_EQ(member(shown, "state"), "CONFIRMED");
    EXPECT_EQ(member(shown, "claim.tx_hash"), chain::to_string(transfer.transaction));
    EXPECT_EQ(member(town.get(ada, "/api/v1/billing/entries").body, "items.0.external_ref"),
              fmt::format("deposit:8453:{}:0", chain::to_string(transfer.transaction)));

    // Again, with the same key, with another, and for another transfer: no second credit.
    const auto second = town.pay(ada, 5'000'000);
    town.node.finalize();
    EXPECT_EQ(member(town.claim(ada, intent, transfer, key).body, "state"), "CONFIRMED");
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(member(town.claim(ada, intent, second).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "5000000");
    EXPECT_EQ(town.audit(), "sound");

    const auto entries = town.get(ada, "/api/v1/billing/entries").body;
    EXPECT_EQ(member(entries, "items.0.kind"), "deposit");
    EXPECT_EQ(member(entries, "items.0.direction"), "credit");
    EXPECT_EQ(member(entries, "items.0.evidence_links.0"),
              "https://basescan.org/tx/" + chain::to_string(transfer.transaction));
}

TEST(Funding, TheWatcherFinishesAClaimThatWasPending) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 700);
    const auto transfer = town.pay(ada, 700);
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "PENDING");
    town.look();
    EXPECT_EQ(town.state(ada, intent), "OPEN");
    town.node.finalize();
    town.look();
    EXPECT_EQ(town.state(ada, intent), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "700");
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Funding, AnIntentForUsdtIsOfThatToken) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 9, "?asset=USDT");
    EXPECT_EQ(member(town.get(ada, "/api/v1/funding-intents/" + intent).body, "token"),
              crypto::checksummed(town.node.usdt()));
    const auto transfer =
        town.node.transfer(EvmNode::account(1), town.node.usdt(), {treasury_address(), Micro{9}});
    town.node.finalize();
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada, "spendable_micro", "?asset=USDT"), "9");
    EXPECT_EQ(town.balance(ada), "0");
    const std::string unwanted = town.intent(ada, 5);
    EXPECT_EQ(town.post(ada, "/api/v1/funding-intents/" + unwanted + "/cancel", "").status, 200);
    EXPECT_EQ(untold(town.town.harness.app->database(), {"funding.confirmed", "funding.cancelled"}),
              "");
}

// Each of these is an exception: told on the intent, nothing credited, and a right one can follow.
TEST(Funding, ATransferThatIsNotTheOneAskedForIsAnException) {
    MoneyTown town;
    const Client ada = town.client(1);
    const auto wallet = EvmNode::account(1);
    const auto fake = town.node.deploy_token("Fake", "USDC");
    town.node.mint(fake, {wallet.address(), Micro{1000}});
    const std::string intent = town.intent(ada, 1000);
    const auto expect_exception = [&](const EvmNode::Mined& transfer, const std::string& why) {
        town.node.finalize();
        const auto answer = town.claim(ada, intent, transfer);
        EXPECT_EQ(answer.status, 202) << answer.body;
        EXPECT_EQ(member(answer.body, "state"), "EXCEPTION") << why;
        const auto shown = town.get(ada, "/api/v1/funding-intents/" + intent).body;
        EXPECT_EQ(member(shown, "exception"), why);
        EXPECT_EQ(town.balance(ada), "0");
    };
    expect_exception(town.node.transfer(wallet, fake, {treasury_address(), Micro{1000}}),
                     "the transfer is of another token");
    expect_exception(
        town.node.transfer(wallet, town.node.usdt(), {treasury_address(), Micro{1000}}),
        "the transfer is of another token");
    expect_exception(
        town.node.transfer(wallet, town.node.usdc(), {EvmNode::account(2).address(), Micro{1000}}),
        "the transfer went to another address");
    expect_exception(town.pay(ada, 999), "the transfer has another amount than the intent");
    expect_exception(town.pay(ada, 1001), "the transfer has another amount than the intent");
    auto nowhere = town.pay(ada, 1000);
    nowhere.log_index += 50;
    expect_exception(nowhere, "the transaction has no token transfer at this log index");
    town.node.set_barred(town.node.usdc(), wallet.address(), true);
    auto reverted = town.pay(ada, 1000);
    EXPECT_EQ(reverted.log_index, -1);
    reverted.log_index = 0;
    expect_exception(reverted, "the transaction was reverted");
    town.node.set_barred(town.node.usdc(), wallet.address(), false);

    const auto right = town.pay(ada, 1000);
    town.node.finalize();
    EXPECT_EQ(member(town.claim(ada, intent, right).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(town.audit(), "sound");
    EXPECT_EQ(untold(town.town.harness.app->database(), {"funding.exception"}), "");
}

TEST(Funding, AForeignTransferIsForbiddenAndLeavesNoTrace) {
    MoneyTown town;
    const Client ada = town.client(1);
    const Client eve = town.client(2);
    const auto adas = town.pay(ada, 1000);
    const auto nobodys =
        town.node.transfer(EvmNode::account(0), town.node.usdc(), {treasury_address(), Micro{0}});
    town.node.finalize();
    const std::string intent = town.intent(eve, 1000);
    for (const auto& transfer : {adas, nobodys}) {
        const auto answer = town.claim(eve, intent, transfer);
        EXPECT_EQ(answer.status, 403);
        EXPECT_EQ(error_code(answer), "FORBIDDEN");
        EXPECT_EQ(town.state(eve, intent), "OPEN");
    }
    // Nobody else's intent can be claimed, or seen, and nobody else's wallet pays for one.
    EXPECT_EQ(town.post(eve, "/api/v1/funding-intents",
                        R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":"7"})")
                  .status,
              404);
    const std::string mine = town.intent(ada, 1000);
    EXPECT_EQ(town.claim(eve, mine, adas).status, 404);
    EXPECT_EQ(town.get(eve, "/api/v1/funding-intents/" + mine).status, 404);
    EXPECT_EQ(member(town.claim(ada, mine, adas).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(eve), "0");
}

TEST(Funding, ATransferServesOneIntent) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string first = town.intent(ada, 1000);
    const std::string second = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    town.node.finalize();
    EXPECT_EQ(town.claim(ada, first, transfer).status, 202);
    const auto again = town.claim(ada, second, transfer);
    EXPECT_EQ(again.status, 409);
    EXPECT_EQ(error_code(again), "CONFLICT");
    EXPECT_EQ(town.state(ada, second), "OPEN");
    EXPECT_EQ(town.balance(ada), "1000");
}

TEST(Funding, TwoTransfersInOneTransactionAreTwoTransfers) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string first = town.intent(ada, 300);
    const std::string second = town.intent(ada, 400);
    auto transfer = town.node.transfer_twice(EvmNode::account(1), town.node.usdc(),
                                             {treasury_address(), Micro{300}}, Micro{400});
    town.node.finalize();
    EXPECT_EQ(member(town.claim(ada, first, transfer).body, "state"), "CONFIRMED");
    ++transfer.log_index;
    EXPECT_EQ(member(town.claim(ada, second, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "700");
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Funding, ATransferThatIsReorganisedAwayIsNotCredited) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "PENDING");
    town.node.drop(transfer.transaction);
    town.node.finalize();
    town.look();
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "PENDING");
    EXPECT_EQ(town.balance(ada), "0");
}

TEST(Funding, ATransferThatMovesInItsBlockIsStillTheSame) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "PENDING");
    const auto moved = town.node.move(transfer.transaction);
    EXPECT_NE(moved.log_index, transfer.log_index);
    town.node.finalize();
    town.look();
    EXPECT_EQ(town.state(ada, intent), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "1000");
    // Under its new index it is no other transfer.
    const std::string other = town.intent(ada, 1000);
    EXPECT_EQ(town.claim(ada, other, moved).status, 409);
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Funding, AChainThatIsAwayPausesCreditsAndNothingElse) {
    MoneyTown town(std::make_unique<EvmNode>());
    const Client ada = town.client(1);
    town.fund(ada, 50);
    const std::string intent = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    town.node.finalize();
    town.node.stop();
    const auto away = town.claim(ada, intent, transfer);
    EXPECT_EQ(away.status, 503);
    EXPECT_EQ(error_code(away), "UNAVAILABLE");
    EXPECT_EQ(member(away.body, "error.retryable"), "true");
    EXPECT_EQ(town.balance(ada), "50");
    EXPECT_EQ(town.state(ada, intent), "OPEN");
    town.look();
    EXPECT_EQ(member(town.town.harness.ask({.target = "/readyz"}).body, "checks.chain"), "failed");
    town.node.start();
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "CONFIRMED");
    town.look();
    EXPECT_EQ(member(town.town.harness.ask({.target = "/readyz"}).body, "checks.chain"), "ok");
    EXPECT_EQ(town.balance(ada), "1050");
}

TEST(Funding, ATransferNobodyClaimsGoesIntoSuspenseAndCanStillBeClaimed) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.node.finalize();
    town.look();
    const auto transfer = town.pay(ada, 4321);
    town.node.finalize();
    town.look();
    town.look();
    const auto suspense = [&] {
        return town.town.harness.app->database().read(
            [](db::Transaction& tx) { return funding::list_unclaimed(tx, {}, {}, 10); });
    };
    const auto gauge = [&](const std::string& line) {
        const std::string text = town.town.harness.app->metrics().prometheus_text();
        return text.find("\n" + line + "\n") != text.npos;
    };
    EXPECT_TRUE(gauge("berth_suspense_usdc_micro 4321"));
    EXPECT_TRUE(gauge("berth_suspense_usdt_micro 0"));
    EXPECT_TRUE(gauge("berth_treasury_usdc_micro 4321"));
    EXPECT_TRUE(gauge(R"(berth_chain_lag_blocks{chain="8453"} 0)"));
    EXPECT_TRUE(gauge(R"(berth_chain_look_age_seconds{chain="8453"} 0)"));
    town.town.harness.clock.advance(std::chrono::seconds(100));
    EXPECT_TRUE(gauge(R"(berth_chain_look_age_seconds{chain="8453"} 100)"));
    ASSERT_EQ(suspense().size(), 1U);
    EXPECT_EQ(untold(town.town.harness.app->database(), {"operations.suspense"}), "");
    EXPECT_EQ(suspense()[0].deposit.amount, Micro{4321});
    EXPECT_EQ(suspense()[0].deposit.sender, EvmNode::account(1).address());
    EXPECT_EQ(town.balance(ada), "0");
    EXPECT_EQ(town.audit(), "sound");

    const std::string intent = town.intent(ada, 4321);
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(town.balance(ada), "4321");
    EXPECT_TRUE(suspense().empty());
    town.look();
    EXPECT_TRUE(gauge("berth_suspense_usdc_micro 0"));
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Funding, AnIntentCanBeClaimedForAWeekAfterItExpiredIfItWasPaidBefore) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 10);
    const std::string late = town.intent(ada, 20);
    const auto transfer = town.pay(ada, 10);
    town.node.set_next_block_time(town.town.harness.clock.now() + std::chrono::hours(25));
    const auto after = town.pay(ada, 20);
    town.node.finalize();
    town.town.harness.clock.advance(std::chrono::hours(24 * 7));
    EXPECT_EQ(town.state(ada, intent), "EXPIRED");
    EXPECT_EQ(member(town.claim(ada, intent, transfer).body, "state"), "CONFIRMED");
    EXPECT_EQ(member(town.claim(ada, late, after).body, "state"), "EXCEPTION");
    town.town.harness.clock.advance(std::chrono::hours(25));
    EXPECT_EQ(town.claim(ada, late, after).status, 409);
    EXPECT_EQ(town.balance(ada), "10");
}

TEST(Funding, OfManyClaimsAtOnceOneCredits) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string first = town.intent(ada, 1000);
    const std::string second = town.intent(ada, 1000);
    const auto transfer = town.pay(ada, 1000);
    town.node.finalize();
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] { town.claim(ada, i % 2 == 0 ? first : second, transfer); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(town.audit(), "sound");
}

TEST(Funding, AnUnlinkedWalletsIntentStaysClaimable) {
    MoneyTown town;
    Browser bea = town.town.person("bea@example.org");
    const auto wallet = EvmNode::account(3);
    town.node.mint(town.node.usdc(), {wallet.address(), Micro{1000}});
    // Linked as a browser does it, by the routes of wallets.
    ASSERT_EQ(bea.step_up("wallet").status, 200);
    const auto nonce = bea.send("POST", "/api/v1/wallets/nonce", "", town.town.harness.new_id());
    ASSERT_EQ(nonce.status, 201) << nonce.body;
    const std::string message =
        "127.0.0.1:8080 wants you to sign in with your Ethereum account:\n" +
        crypto::checksummed(wallet.address()) + "\n\nLink.\n\nURI: http://127.0.0.1:8080\n" +
        "Version: 1\nChain ID: 8453\nNonce: " + member(nonce.body, "nonce") +
        "\nIssued At: " + to_rfc3339(town.town.harness.clock.now()) +
        "\nExpiration Time: " + member(nonce.body, "expires_at");
    const auto linked =
        bea.send("POST", "/api/v1/wallets/link",
                 R"({"chain_id":8453,"address":")" + crypto::to_string(wallet.address()) +
                     R"(","siwe_message":)" + json_quoted(message) + R"(,"signature":")" +
                     sign(wallet, message) + "\"}",
                 town.town.harness.new_id());
    ASSERT_EQ(linked.status, 201) << linked.body;
    const std::string binding = member(linked.body, "binding_id");
    const auto intent =
        bea.send("POST", "/api/v1/funding-intents",
                 R"({"wallet_binding_id":")" + binding + R"(","amount_micro":"77"})",
                 town.town.harness.new_id());
    ASSERT_EQ(intent.status, 201) << intent.body;
    ASSERT_EQ(
        bea.send("DELETE", "/api/v1/wallets/" + binding, "", town.town.harness.new_id()).status,
        204);
    const auto refused =
        bea.send("POST", "/api/v1/funding-intents",
                 R"({"wallet_binding_id":")" + binding + R"(","amount_micro":"77"})",
                 town.town.harness.new_id());
    EXPECT_EQ(refused.status, 409);
    const auto transfer =
        town.node.transfer(wallet, town.node.usdc(), {treasury_address(), Micro{77}});
    town.node.finalize();
    const auto claimed =
        bea.send("POST", "/api/v1/funding-intents/" + member(intent.body, "intent_id") + "/claim",
                 R"({"tx_hash":")" + chain::to_string(transfer.transaction) + R"(","log_index":)" +
                     std::to_string(transfer.log_index) + "}",
                 town.town.harness.new_id());
    EXPECT_EQ(member(claimed.body, "state"), "CONFIRMED") << claimed.body;
}

TEST(Funding, BadInputIsToldByItsMember) {
    MoneyTown town;
    const Client ada = town.client(1);
    const std::string intent = town.intent(ada, 5);
    const std::vector<std::pair<std::string, std::string>> bad{
        {R"({"wallet_binding_id":"x","amount_micro":"5"})", "body.wallet_binding_id"},
        {R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":"0"})",
         "body.amount_micro"},
        {R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":"-1"})",
         "body.amount_micro"},
        {R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":5})", "body.amount_micro"},
        {R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":"1000000000001"})",
         "body.amount_micro"},
        {R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":"5","asset":"USDC"})",
         "body.asset"}};
    for (const auto& [body, place] : bad) {
        const auto answer = town.post(ada, "/api/v1/funding-intents", body);
        EXPECT_EQ(answer.status, 422) << body;
        EXPECT_NE(error_message(answer).find(place), std::string::npos) << answer.body;
    }
    for (const std::string body :
         {R"({"tx_hash":"0x12","log_index":0})", R"({"tx_hash":"","log_index":0})",
          R"({"tx_hash":"0x00000000000000000000000000000000000000000000000000000000000000aa"})",
          R"({"tx_hash":"0x00000000000000000000000000000000000000000000000000000000000000aa",)"
          R"("log_index":-1})",
          R"({"tx_hash":"0x00000000000000000000000000000000000000000000000000000000000000aa",)"
          R"("log_index":1.5})"})
        EXPECT_EQ(town.post(ada, "/api/v1/funding-intents/" + intent + "/claim", body).status, 422);
    EXPECT_EQ(town.get(ada, "/api/v1/billing?asset=EUR").status, 422);
}

// All at once for the last place: the others are told so.
TEST(Funding, OpenIntentsAreLimitedHoweverManyAskAtOnce) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.town.harness.set("money.open_intents_max", "5");
    for (int i = 1; i < 5; ++i) town.intent(ada, 1000 + i);
    constexpr int racers = 8;
    std::atomic<int> made = 0;
    std::atomic<int> refused = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            const auto answer =
                town.post(ada, "/api/v1/funding-intents",
                          R"({"wallet_binding_id":")" + ada.binding + R"(","amount_micro":"7"})");
            made += answer.status == 201 ? 1 : 0;
            refused += error_code(answer) == "CONFLICT" ? 1 : 0;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(refused, racers - 1);
}

}  // namespace
}  // namespace berth::test
