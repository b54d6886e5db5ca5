#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "chain/json_rpc.hpp"
#include "funding/watcher.hpp"
#include "on_chain/money_town.hpp"

namespace berth::test {
namespace {

crypto::Address address_of(int wallet) { return EvmNode::account(wallet).address(); }

struct Settlement : ::testing::Test {
    http::Response withdraw(MoneyTown& town, const Client& client, std::int64_t amount,
                            const std::string& route = "/api/v1/withdrawals") {
        auto answer = town.post(client, route,
                                R"({"address":")" + crypto::checksummed(address_of(client.wallet)) +
                                    R"(","amount_micro":")" + std::to_string(amount) + "\"}");
        EXPECT_EQ(answer.status, 202) << answer.body;
        return answer;
    }
    std::string newest(MoneyTown& town, const Client& client, const std::string& what = "state",
                       const std::string& route = "/api/v1/withdrawals") {
        return member(town.get(client, route).body, "items.0." + what);
    }
    std::int64_t attempts(MoneyTown& town) {
        return town.town.harness.app->database().read([](db::Transaction& tx) {
            return tx.run("SELECT COUNT(*) FROM transfer_attempts")[0].get<std::int64_t>(0);
        });
    }
};

TEST_F(Settlement, AWithdrawalArrivesOnChainAndSettlesAtFinality) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1'000'000);
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    withdraw(town, ada, 400'000);
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(newest(town, ada, "tx_hash"), "null");
    town.look();
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_NE(newest(town, ada, "tx_hash"), "null");
    town.node.mine();
    town.look();
    EXPECT_EQ(newest(town, ada), "SUBMITTED");  // in a block, not final
    EXPECT_EQ(town.balance(ada, "pending_micro"), "400000");
    town.node.finalize();
    town.look();
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{400'000});
    EXPECT_EQ(town.balance(ada), "600000");
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    const auto entries = town.get(ada, "/api/v1/billing/entries").body;
    EXPECT_EQ(member(entries, "items.0.kind"), "withdrawal_settled");
    EXPECT_EQ(member(entries, "items.0.evidence_links.0"),
              "https://basescan.org/tx/" + newest(town, ada, "tx_hash"));
    EXPECT_EQ(member(entries, "items.1.evidence_links"), "[]") << "its lock is on no chain";
    EXPECT_EQ(town.audit(), "sound");
    town.look();
    EXPECT_EQ(attempts(town), 1);
}

TEST_F(Settlement, APayoutIsPaidFromEarnings) {
    MoneyTown town;
    const Client hal = town.client(2);
    town.earn(hal, 1000);
    town.node.mint(town.node.usdc(), {treasury_address(), Micro{1000}});
    withdraw(town, hal, 900, "/api/v1/hosts/payouts");
    town.look();
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_EQ(newest(town, hal, "state", "/api/v1/hosts/payouts"), "SETTLED");
    const auto earnings = town.get(hal, "/api/v1/hosts/earnings").body;
    EXPECT_EQ(member(earnings, "settled_micro"), "900");
    EXPECT_EQ(member(earnings, "payable_micro"), "0");
    EXPECT_EQ(member(earnings, "requested_micro"), "0");
    EXPECT_EQ(member(earnings, "gross_micro"), "1000");
    EXPECT_EQ(member(earnings, "days.29.paid_micro"), "900");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Settlement, AStuckTransactionIsReplacedUnderItsOwnNonce) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    withdraw(town, ada, 1000);
    town.look();
    const std::string first = newest(town, ada, "tx_hash");
    town.look();
    town.look();
    EXPECT_EQ(attempts(town), 2);
    const std::string second = newest(town, ada, "tx_hash");
    EXPECT_NE(second, first);
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(newest(town, ada, "tx_hash"), second);
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{1000});
    EXPECT_EQ(town.audit(), "sound");
}

// The first one is mined although a second one was signed: it is the one that counts.
TEST_F(Settlement, WhicheverOfTwoAttemptsIsTakenSettlesTheTransfer) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    withdraw(town, ada, 1000);
    town.look();
    const std::string first = newest(town, ada, "tx_hash");
    town.look();
    town.look();
    ASSERT_EQ(attempts(town), 2);
    town.node.forget(*chain::parse_hash(newest(town, ada, "tx_hash")));
    const auto bytes = town.town.harness.app->database().read([&](db::Transaction& tx) {
        return tx.run("SELECT signed_bytes FROM transfer_attempts WHERE attempt = 1")[0].get<Bytes>(
            0);
    });
    town.node.rpc("eth_sendRawTransaction", "[\"0x" + to_hex(bytes) + "\"]");
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(newest(town, ada, "tx_hash"), first);
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{1000});
}

TEST_F(Settlement, ARevertedTransferGivesTheMoneyBack) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    town.node.set_barred(town.node.usdc(), address_of(1), true);
    withdraw(town, ada, 300);
    EXPECT_EQ(town.balance(ada), "700");
    town.look();
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_EQ(newest(town, ada), "FAILED");
    EXPECT_EQ(town.balance(ada), "1000");
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    EXPECT_EQ(member(town.get(ada, "/api/v1/billing/entries").body, "items.0.kind"),
              "withdrawal_returned");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Settlement, ANodeThatForgetsGetsTheSameBytesAgain) {
    MoneyTown town(std::make_unique<EvmNode>());
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    withdraw(town, ada, 250);
    town.look();
    const std::string hash = newest(town, ada, "tx_hash");
    const auto soon = [&] {  // before it is time for a replacement
        town.town.harness.clock.advance(std::chrono::seconds(25));
        town.town.run_tasks();
    };
    town.node.stop();  // and with it goes its pool
    soon();
    town.node.start();
    soon();
    town.node.mine();
    town.node.finalize();
    soon();
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(newest(town, ada, "tx_hash"), hash);
    EXPECT_EQ(attempts(town), 1);
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{250});
}

TEST_F(Settlement, ATransactionThatIsReorganisedAwayIsSentAgain) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    withdraw(town, ada, 250);
    town.look();
    town.node.mine();
    town.node.drop(*chain::parse_hash(newest(town, ada, "tx_hash")));
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before);
    town.look();
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{250});
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Settlement, ANonceThatSomebodyElseUsedUpIsLeftForAPerson) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1000);
    withdraw(town, ada, 250);
    town.look();
    town.node.forget(*chain::parse_hash(newest(town, ada, "tx_hash")));
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    town.node.transfer(key, town.node.usdc(), {address_of(5), Micro{1}});
    town.node.finalize();
    town.look();
    town.look();
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_EQ(attempts(town), 1);
    EXPECT_EQ(town.balance(ada, "pending_micro"), "250");
    // The next one takes a nonce that is free.
    withdraw(town, ada, 100);
    town.look();
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

// Throws in the place of one call, or after it, as if the process had died there: what was
// committed before stays, what came after never happened.
class MortalChain final : public chain::Chain {
private:
    template <class Function>
    auto live(Function function) {
        const bool dies = --calls_left < 0;
        if (dies && before) throw Death{};
        if constexpr (std::is_void_v<decltype(function())>) {
            function();
            if (dies) throw Death{};
        } else {
            auto value = function();
            if (dies) throw Death{};
            return value;
        }
    }

public:
    struct Death {};

    explicit MortalChain(chain::Chain& real) : real_(real) {}

    int calls_left = 1'000'000;
    bool before = true;  // the call is not made at all

    chain::Sighting find_transfer(const chain::Hash& hash, std::int64_t index) override {
        return live([&] { return real_.find_transfer(hash, index); });
    }
    std::int64_t finalized_block() override {
        return live([&] { return real_.finalized_block(); });
    }
    std::vector<chain::Transfer> transfers(const Range& range, const Wanted& wanted) override {
        return live([&] { return real_.transfers(range, wanted); });
    }
    std::vector<chain::Outcome> outcomes(const std::vector<chain::Hash>& hashes) override {
        return live([&] { return real_.outcomes(hashes); });
    }
    chain::Standing standing(const crypto::Address& account,
                             const std::vector<crypto::Address>& tokens) override {
        return live([&] { return real_.standing(account, tokens); });
    }
    std::vector<chain::Sent> send(const std::vector<Bytes>& bytes) override {
        return live([&] { return real_.send(bytes); });
    }
    Micro balance(const crypto::Address& account, const crypto::Address& token,
                  std::int64_t block) override {
        return real_.balance(account, token, block);
    }
    std::int64_t decimals(const crypto::Address& token) override { return real_.decimals(token); }
    std::optional<chain::Original> original(const chain::Hash& hash) override {
        return real_.original(hash);
    }

private:
    chain::Chain& real_;
};

TEST_F(Settlement, DyingAtAnyStepPaysOnce) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1'000'000);
    town.town.run_tasks();
    auto& harness = town.town.harness;
    http::CurlClient client;
    chain::JsonRpcChain real(client, {.urls = {town.node.url()}, .chain_id = EvmNode::chain_id});
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    ledger::Treasury treasury;
    treasury.address = treasury_address();
    treasury.tokens = {town.node.usdc(), town.node.usdt()};

    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    std::int64_t paid = 0;
    for (const bool before_call : {true, false}) {
        for (int step = 0;; ++step) {
            withdraw(town, ada, 100);
            paid += 100;
            MortalChain mortal(real);
            mortal.before = before_call;
            mortal.calls_left = step;
            bool died = false;
            // As many lives as it takes; one of them ends early, after `step` calls in all.
            for (int life = 0; life < 6; ++life) {
                try {
                    transfers::Settler({treasury, harness.app->settings(), key, mortal,
                                        harness.app->database(), harness.clock,
                                    harness.random})
                        .run();
                } catch (const MortalChain::Death&) {
                    died = true;
                    mortal.calls_left = 1'000'000;
                }
                town.node.mine();
                town.node.finalize();
                harness.clock.advance(std::chrono::seconds(100));
            }
            EXPECT_EQ(newest(town, ada), "SETTLED") << step;
            ASSERT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{paid})
                << "step " << step;
            if (!died) break;  // this many calls are enough for a whole life
        }
    }
    EXPECT_EQ(town.audit(), "sound");
    EXPECT_GE(paid, 1000);
}

// What a provider may say that must not cost money.
class LyingChain final : public chain::Chain {
public:
    explicit LyingChain(chain::Chain& real) : real_(real) {}

    std::optional<chain::Fees> fees_said = {};
    std::optional<std::int64_t> pending_nonce_said = {};
    std::optional<std::int64_t> finalized_nonce_said = {};
    std::optional<std::int64_t> gas_said = {};
    std::optional<Micro> tokens_said = {};
    std::optional<chain::Outcome> outcome_said = {};
    std::optional<chain::Sent> sent_said = {};
    std::vector<chain::Hash> fails_for = {};
    int asked = 0;     // for outcomes
    int standings = 0;
    int sent = 0;

    chain::Sighting find_transfer(const chain::Hash& hash, std::int64_t index) override {
        return real_.find_transfer(hash, index);
    }
    std::int64_t finalized_block() override { return real_.finalized_block(); }
    std::vector<chain::Transfer> transfers(const Range& range, const Wanted& wanted) override {
        if (range.last - range.first >= range_max) throw chain::ProviderError("range too large");
        return real_.transfers(range, wanted);
    }
    std::vector<chain::Outcome> outcomes(const std::vector<chain::Hash>& hashes) override {
        ++asked;
        std::vector<chain::Outcome> all = real_.outcomes(hashes);
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            if (outcome_said) all[i] = *outcome_said;
            if (std::find(fails_for.begin(), fails_for.end(), hashes[i]) != fails_for.end())
                all[i] = {chain::Outcome::Status::disputed};
        }
        return all;
    }
    chain::Standing standing(const crypto::Address& account,
                             const std::vector<crypto::Address>& tokens) override {
        ++standings;
        chain::Standing standing = real_.standing(account, tokens);
        if (fees_said) standing.fees = *fees_said;
        if (pending_nonce_said) standing.pending_nonce = *pending_nonce_said;
        if (finalized_nonce_said) standing.finalized_nonce = *finalized_nonce_said;
        if (gas_said) standing.gas = *gas_said;
        if (tokens_said && !tokens.empty()) standing.balances[0] = *tokens_said;
        return standing;
    }
    std::vector<chain::Sent> send(const std::vector<Bytes>& bytes) override {
        ++sent;
        if (sent_said) return std::vector(bytes.size(), *sent_said);
        return real_.send(bytes);
    }
    Micro balance(const crypto::Address& account, const crypto::Address& token,
                  std::int64_t block) override {
        return real_.balance(account, token, block);
    }
    std::int64_t decimals(const crypto::Address& token) override { return real_.decimals(token); }
    std::optional<chain::Original> original(const chain::Hash& hash) override {
        return real_.original(hash);
    }

    std::int64_t range_max = 1'000'000;

private:
    chain::Chain& real_;
};

struct Lies : Settlement {
    Lies() {
        town.fund(ada, 1'000'000);
        treasury.address = treasury_address();
        treasury.tokens = {town.node.usdc(), town.node.usdt()};
    }
    void settle(const crypto::SigningKey& with, Duration later = std::chrono::seconds(100)) {
        auto& harness = town.town.harness;
        harness.clock.advance(later);
        try {
            transfers::Settler({treasury, harness.app->settings(), with, lying,
                                harness.app->database(), harness.clock,
                            harness.random})
                .run();
        } catch (const chain::ProviderError&) {
            complained = true;
        }
    }
    void watch() {
        auto& harness = town.town.harness;
        harness.clock.advance(std::chrono::seconds(100));
        try {
            funding::Watcher(
                {treasury, lying, harness.app->database(), harness.clock, harness.random})
                .look();
        } catch (const chain::ProviderError&) {
            complained = true;
        }
    }

    MoneyTown town;
    Client ada = town.client(1);
    crypto::SigningKey key = *crypto::SigningKey::from_bytes(treasury_secret);
    http::CurlClient client;
    chain::JsonRpcChain real{client, {.urls = {town.node.url()}, .chain_id = EvmNode::chain_id}};
    LyingChain lying{real};
    ledger::Treasury treasury;
    bool complained = false;
};

TEST_F(Lies, FeesThatNobodyWouldPayAreNotPaid) {
    withdraw(town, ada, 100);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const chain::Fees fees : {chain::Fees{most, 1}, chain::Fees{1, most},
                                   chain::Fees{most, most}, chain::Fees{50'000'000'000, 1}}) {
        lying.fees_said = fees;
        complained = false;
        settle(key);
        EXPECT_TRUE(complained);
        EXPECT_EQ(newest(town, ada), "INTENT");
    }
    lying.fees_said = {};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    // Nor for a replacement.
    lying.fees_said = chain::Fees{most, most};
    settle(key);
    EXPECT_EQ(attempts(town), 1);
}

TEST_F(Lies, ANonceThatLeapsAheadStopsSubmission) {
    withdraw(town, ada, 100);
    settle(key);
    withdraw(town, ada, 100);
    lying.pending_nonce_said = std::int64_t{1} << 40;
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
    lying.pending_nonce_said = {};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
}

TEST_F(Lies, ARevertedReceiptWithoutItsNonceUsedUpGivesNothingBack) {
    withdraw(town, ada, 100);
    settle(key);
    lying.outcome_said = chain::Outcome{chain::Outcome::Status::reverted};
    settle(key);
    EXPECT_EQ(lying.asked, 0) << "nothing is asked about a nonce that is not used up";
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_EQ(town.balance(ada, "pending_micro"), "100");
}

TEST_F(Lies, ASuccessWithoutTheTransferIsLeftForAPerson) {
    withdraw(town, ada, 100);
    settle(key);
    lying.finalized_nonce_said = 1;
    lying.outcome_said = chain::Outcome{chain::Outcome::Status::succeeded};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    EXPECT_EQ(town.balance(ada, "pending_micro"), "100");
}

TEST_F(Lies, AnotherKeyReplacesNothingAndFollowsEverything) {
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    withdraw(town, ada, 100);
    settle(key);
    const auto other = EvmNode::account(7);
    for (int i = 0; i < 3; ++i) settle(other);
    EXPECT_EQ(attempts(town), 1);
    town.node.mine();
    town.node.finalize();
    settle(other);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{100});
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, TwoSettlersAtOncePayOnce) {
    const Micro before = town.node.balance(town.node.usdc(), address_of(1));
    for (int i = 0; i < 5; ++i) withdraw(town, ada, 100);
    auto& harness = town.town.harness;
    for (int round = 0; round < 6; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] {
                transfers::Settler({treasury, harness.app->settings(), key, real,
                                    harness.app->database(), harness.clock,
                                harness.random})
                    .run();
            });
        for (auto& thread : threads) thread.join();
        town.node.mine();
        harness.clock.advance(std::chrono::seconds(10));
    }
    EXPECT_EQ(attempts(town), 5);
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(1)), before + Micro{500});
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, OneThatCannotBeReadKeepsNobodyElseWaiting) {
    withdraw(town, ada, 100);
    settle(key);
    const auto first = *chain::parse_hash(newest(town, ada, "tx_hash"));
    withdraw(town, ada, 200);
    lying.fails_for = {first};
    settle(key, std::chrono::seconds(5));
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(member(town.get(ada, "/api/v1/withdrawals").body, "items.1.state"), "SUBMITTED");
}

// What a round asks does not grow with what is on its way, and new ones leave before it.
TEST_F(Lies, ManyOnTheirWayCostOneQuestionAndHoldUpNobody) {
    for (int i = 0; i < 60; ++i) withdraw(town, ada, 100);
    settle(key);
    EXPECT_EQ(attempts(town), 60);
    EXPECT_EQ(lying.sent, 1) << "one batch";
    withdraw(town, ada, 100);
    lying.standings = lying.asked = lying.sent = 0;
    settle(key, std::chrono::seconds(5));
    EXPECT_EQ(attempts(town), 61);
    EXPECT_EQ(lying.standings, 1);
    EXPECT_EQ(lying.asked, 0) << "none of them is final";
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(lying.asked, 1) << "the receipts of all of them";
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    EXPECT_EQ(town.audit(), "sound");
}

// A hundred tiny transfers of one account, and one of another: the other one leaves with the first.
TEST_F(Lies, AnAccountWithManyTransfersHoldsUpNobodyElse) {
    const Client bob = town.client(2);
    town.fund(bob, 1000);
    for (int i = 0; i < 10; ++i) withdraw(town, ada, 1);
    withdraw(town, bob, 1000);
    const auto order = town.town.harness.app->database().read(
        [](db::Transaction& tx) { return transfers::find_intents(tx, 3); });
    ASSERT_EQ(order.size(), 3U);
    EXPECT_EQ(to_string(order[0].account), ada.account);
    EXPECT_EQ(to_string(order[1].account), bob.account);
    EXPECT_EQ(to_string(order[2].account), ada.account);
}

TEST_F(Lies, NothingIsSignedWithoutTokensAndGas) {
    withdraw(town, ada, 400'000);
    lying.gas_said = 1000;
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT") << "no gas";
    lying.gas_said = {};
    lying.tokens_said = Micro{399'999};
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT") << "no tokens";
    EXPECT_EQ(attempts(town), 0);
    // What is on its way counts as gone.
    lying.tokens_said = Micro{700'000};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    withdraw(town, ada, 400'000);
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
}

TEST_F(Lies, AFeeThatIsRefusedIsRaisedWithinTheCap) {
    withdraw(town, ada, 100);
    lying.sent_said = chain::Sent{chain::Sent::Status::underpriced, "transaction underpriced"};
    settle(key);
    EXPECT_EQ(attempts(town), 1);
    settle(key);
    EXPECT_EQ(attempts(town), 2) << "next in line, and its fee was refused";
    lying.sent_said = {};
    settle(key);
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    withdraw(town, ada, 100);
    lying.sent_said = chain::Sent{chain::Sent::Status::refused, "no"};
    const std::int64_t before = attempts(town);
    for (int i = 0; i < 3; ++i) settle(key);
    EXPECT_EQ(attempts(town), before + 1) << "another refusal is no reason to pay more";
    lying.sent_said = chain::Sent{chain::Sent::Status::underpriced, "transaction underpriced"};
    town.town.harness.set("money.gas_fee_max_gwei", "4");
    for (int i = 0; i < 25; ++i) settle(key);
    const auto paid = town.town.harness.app->database().read([](db::Transaction& tx) {
        return tx.run("SELECT MAX(fee_max) FROM transfer_attempts")[0].get<std::int64_t>(0);
    });
    EXPECT_LE(paid, 4'000'000'000);
}

TEST_F(Lies, ATransferWithoutSignedBytesIsToldAndStopsNothing) {
    withdraw(town, ada, 100);
    withdraw(town, ada, 200);
    settle(key);
    town.town.harness.app->database().write([](db::Transaction& tx) {
        tx.run("DELETE FROM transfer_attempts WHERE nonce = 0");
        tx.run("UPDATE transfers SET attempts = 0 WHERE nonce = 0");
    });
    town.node.mine();
    town.node.finalize();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(member(town.get(ada, "/api/v1/withdrawals").body, "items.1.state"), "SUBMITTED");
}

TEST_F(Lies, TheSettlerThatLosesAReplacementChangesNothing) {
    withdraw(town, ada, 100);
    settle(key);
    auto& database = town.town.harness.app->database();
    const std::string hash = newest(town, ada, "tx_hash");
    const auto again = database.read([](db::Transaction& tx) {
        return transfers::find_in_flight(tx, {treasury_address(), 0, 1}, 1).at(0);
    });
    transfers::AttemptRow late = again.attempts.at(0);
    late.hash = chain::parse_hash("0x" + std::string(64, '7')).value();
    const bool added = database.write(
        [&](db::Transaction& tx) { return transfers::add_attempt(tx, late, {}); });
    EXPECT_FALSE(added);
    EXPECT_EQ(newest(town, ada, "tx_hash"), hash);
    EXPECT_EQ(attempts(town), 1);
}

TEST_F(Lies, ATransferOfASuspendedAccountWaits) {
    withdraw(town, ada, 100);
    town.town.suspend(ada.account);
    settle(key);
    EXPECT_EQ(attempts(town), 0);
    town.town.suspend(ada.account, false);
    settle(key);
    EXPECT_EQ(attempts(town), 1);
}

// A payment names its row on the chain for ever.
TEST_F(Lies, APaymentCarriesTheIdOfItsTransfer) {
    withdraw(town, ada, 100);
    settle(key);
    town.node.mine();
    const auto original = real.original(*chain::parse_hash(newest(town, ada, "tx_hash")));
    ASSERT_TRUE(original);
    const auto call = chain::payment_in(original->data);
    ASSERT_TRUE(call && call->reference);
    EXPECT_EQ(to_string(uuid_from_bytes(*call->reference).value()), newest(town, ada, "id"));
}

TEST_F(Lies, BadClaimsDoNotStopTheOthersNorTheDeposits) {
    watch();
    std::vector<EvmNode::Mined> bad;
    for (int i = 0; i < 4; ++i) {
        const std::string intent = town.intent(ada, 10 + i);
        bad.push_back(town.pay(ada, 10 + i));
        EXPECT_EQ(member(town.claim(ada, intent, bad.back()).body, "state"), "PENDING");
        lying.fails_for.push_back(bad.back().transaction);
    }
    const std::string good = town.intent(ada, 77);
    const auto transfer = town.pay(ada, 77);
    EXPECT_EQ(member(town.claim(ada, good, transfer).body, "state"), "PENDING");
    town.node.finalize();
    for (int i = 0; i < 3; ++i) watch();
    EXPECT_TRUE(complained);
    EXPECT_EQ(town.state(ada, good), "CONFIRMED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, ARangeThatIsTooLargeIsReadInParts) {
    watch();
    town.pay(ada, 31);
    town.node.mine(40);
    town.pay(ada, 32);
    town.node.finalize();
    lying.range_max = 8;
    for (int i = 0; i < 12; ++i) watch();
    const auto parked = town.town.harness.app->database().read(
        [](db::Transaction& tx) { return funding::list_suspense(tx, std::nullopt, 10); });
    EXPECT_EQ(parked.size(), 2U);
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Lies, WhatIsOlderThanTheServiceIsNotCredited) {
    const auto old = town.pay(ada, 55);
    town.node.mine(5);
    watch();
    const std::string intent = town.intent(ada, 55);
    EXPECT_EQ(member(town.claim(ada, intent, old).body, "state"), "EXCEPTION");
    EXPECT_EQ(town.balance(ada), "1000000");
}

TEST_F(Lies, ADepositThatWasTamperedWithIsFound) {
    ASSERT_EQ(town.audit(), "sound");
    town.town.harness.app->database().write([](db::Transaction& tx) {
        tx.run("UPDATE deposits SET state = 'SUSPENSE', intent_id = NULL, account_id = NULL");
    });
    EXPECT_NE(town.audit().find("was not claimed, and is not in the ledger like that"),
              std::string::npos);
    EXPECT_NE(town.audit().find("is confirmed without a deposit"), std::string::npos);
}

}  // namespace
}  // namespace berth::test
