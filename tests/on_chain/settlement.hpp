// What tests of settlement ask of a town, and a chain whose provider does not tell the truth.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "chain/json_rpc.hpp"
#include "funding/watcher.hpp"
#include "on_chain/money_town.hpp"

namespace berth::test {

inline crypto::Address address_of(int wallet) { return EvmNode::account(wallet).address(); }

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
    std::optional<chain::Trial> trial_said = {};
    std::vector<chain::Hash> fails_for = {};
    // Done once, with what is asked last between choosing transfers and signing them.
    std::function<void()> before_signing = {};
    std::function<void(const std::vector<chain::Hash>&)> on_outcomes = {};
    std::function<void()> after_head = {};
    int asked = 0;  // for outcomes
    int standings = 0;
    int sent = 0;
    int tried = 0;  // for trials

    chain::Sighting find_transfer(const chain::Hash& hash, std::int64_t index) override {
        return real_.find_transfer(hash, index);
    }
    std::int64_t finalized_block() override {
        const std::int64_t head = real_.finalized_block();
        if (after_head) after_head();
        return head;
    }
    std::vector<chain::Transfer> transfers(const Range& range, const Wanted& wanted) override {
        if (range.last - range.first >= range_max) throw chain::ProviderError("range too large");
        return real_.transfers(range, wanted);
    }
    std::vector<chain::Outcome> outcomes(const std::vector<chain::Hash>& hashes) override {
        ++asked;
        if (on_outcomes) on_outcomes(hashes);
        std::vector<chain::Outcome> all = real_.outcomes(hashes);
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            if (outcome_said) all[i] = *outcome_said;
            if (std::find(fails_for.begin(), fails_for.end(), hashes[i]) != fails_for.end())
                all[i] = {chain::Outcome::Status::disputed};
        }
        return all;
    }
    chain::Glimpse glimpse(const chain::Hash& hash) override { return real_.glimpse(hash); }
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
    std::vector<chain::Trial> try_calls(const std::vector<chain::Call>& calls) override {
        ++tried;
        if (const auto once = std::exchange(before_signing, {})) once();
        if (trial_said) return std::vector(calls.size(), *trial_said);
        return real_.try_calls(calls);
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
                                harness.app->database(), harness.clock, harness.random})
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
                {treasury, payments, lying, harness.app->database(), harness.clock, harness.random})
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
    transfers::PaymentsForFunding payments;
    bool complained = false;
};

}  // namespace berth::test
