#include <limits>
#include <thread>

#include "on_chain/settlement.hpp"

namespace berth::test {
namespace {

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
    withdraw(town, ada, 300);
    EXPECT_EQ(town.balance(ada), "700");
    town.look();
    // Its token bars the payee when it was tried and signed, and before a block has it.
    town.node.forget(*chain::parse_hash(newest(town, ada, "tx_hash")));
    town.node.set_barred(town.node.usdc(), address_of(1), true);
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
    chain::Glimpse glimpse(const chain::Hash& hash) override {
        return live([&] { return real_.glimpse(hash); });
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
    std::vector<chain::Trial> try_calls(const std::vector<chain::Call>& calls) override {
        return live([&] { return real_.try_calls(calls); });
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
                                        harness.app->database(), harness.clock, harness.random})
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

}  // namespace
}  // namespace berth::test
