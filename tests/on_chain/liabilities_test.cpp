// The proof of liabilities while the chain goes on.
#include <gtest/gtest.h>

#include <utility>

#include "liabilities/liabilities.hpp"
#include "liabilities/posts.hpp"
#include "on_chain/settlement.hpp"
#include "worker/worker.hpp"

namespace berth::test {
namespace {

struct Proving : Lies {
    // The newest record, made by a worker of its own that sees the lying chain.
    std::string prove() {
        auto& harness = town.town.harness;
        const liabilities::Liabilities proofs(treasury, &lying,
                                              crypto::Ed25519Key(crypto::Secret(Bytes(32, 'k'))));
        worker::Options options;
        options.settings = &harness.app->settings();
        worker::Worker worker(
            harness.app->database(), harness.clock, harness.random,
            proofs.prove_kinds({harness.app->database(), harness.clock, harness.random}), options);
        harness.clock.advance(std::chrono::hours(1));
        EXPECT_TRUE(worker.run_one());
        return harness.ask({.target = "/api/v1/proof-of-liabilities"}).body;
    }
};

TEST_F(Proving, ADepositThatBecomesFinalMeanwhileIsOwedAndThere) {
    const std::string before = prove();
    EXPECT_EQ(member(before, "items.0.total_micro"), "1000000");
    EXPECT_EQ(member(before, "items.0.covered"), "true");
    Time read_at;
    bool paid = false;
    lying.after_head = [&] {
        if (std::exchange(paid, true)) return;
        town.node.set_next_block_time(town.town.harness.clock.now());
        town.fund(ada, 500);
        town.town.harness.clock.advance(std::chrono::seconds(9));
        read_at = town.town.harness.clock.now();
    };
    const std::string record = prove();
    EXPECT_EQ(member(record, "items.0.total_micro"), "1000500") << "nobody's balance is left out";
    EXPECT_EQ(member(record, "items.0.treasury_micro"), "1000500");
    EXPECT_EQ(member(record, "items.0.covered"), "true") << record;
    EXPECT_EQ(member(record, "items.0.as_of"), to_rfc3339(read_at));
}

// Records that are written into the chain, by a key that does nothing else.
struct Posting : Proving {
    void post(std::int64_t every_hours = 24, std::int64_t fee_max = 50'000'000'000) {
        post_by(poster, {every_hours, fee_max});
    }
    void post_by(const crypto::SigningKey& key, const liabilities::Poster::Rules& rules) {
        liabilities::Poster({lying, EvmNode::chain_id, key, town.town.harness.app->database(),
                             town.town.harness.clock})
            .run(rules);
    }
    void mine() {
        town.node.mine();
        town.node.finalize();
    }
    std::int64_t sent() { return real.standing(poster.address(), {}).latest_nonce; }
    std::string posted(int item = 0) {
        const std::string body =
            town.town.harness.ask({.target = "/api/v1/proof-of-liabilities"}).body;
        return member(body, "items." + std::to_string(item) + ".posted_tx");
    }

    const crypto::SigningKey poster = EvmNode::account(8);
};

TEST_F(Posting, IsOffUnlessItIsWantedAndThenTheChainTellsRootAndHash) {
    const std::string record = prove();
    post(0);
    mine();
    EXPECT_EQ(sent(), 0);
    EXPECT_EQ(posted(), "");
    post();
    mine();
    EXPECT_EQ(posted(), "") << "it is told when it is final and was seen";
    post();
    ASSERT_EQ(sent(), 1);
    const std::string hash = posted();
    EXPECT_EQ(posted(1), hash) << "every asset is in one transaction";
    const auto seen = real.original(chain::parse_hash(hash).value());
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->from, poster.address());
    EXPECT_TRUE(seen->data.starts_with("berth-liabilities-1USDC")) << to_hex(seen->data);
    for (const std::string name :
         {"items.0.root", "items.0.hash", "items.1.root", "items.1.hash"}) {
        const std::string text = member(record, name).substr(std::string("sha256:").size());
        EXPECT_NE(seen->data.find(from_hex(text).value()), Bytes::npos) << name;
    }
    // The next one when its time has come, and with a record that is not there yet.
    prove();
    post();
    EXPECT_EQ(posted(), "");
    town.town.harness.clock.advance(std::chrono::hours(24));
    post();
    mine();
    post();
    EXPECT_EQ(sent(), 2);
    EXPECT_NE(posted(), "");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Posting, WhatWasSignedIsSentAgainAndReplacedUnderItsNonceWhenItIsStuck) {
    prove();
    lying.sent_said = chain::Sent{chain::Sent::Status::refused, "away"};
    post();
    lying.sent_said = {};
    town.node.mine();
    EXPECT_EQ(sent(), 0) << "nobody took it";
    post();
    town.town.harness.clock.advance(std::chrono::minutes(11));
    post();
    post();
    const auto rows = town.town.harness.app->database().read([](db::Transaction& tx) {
        return tx.run("SELECT COUNT(*) FROM liability_posts WHERE nonce = 0")[0].get<std::int64_t>(
            0);
    });
    EXPECT_EQ(rows, 2);
    mine();
    post();
    EXPECT_EQ(sent(), 1);
    EXPECT_NE(posted(), "");
    post();
    mine();
    EXPECT_EQ(sent(), 1) << "the same records are posted once";
}

TEST_F(Posting, WhatIsStuckBelowTheCapOfFeesIsSentAgainAsItIs) {
    prove();
    lying.sent_said = chain::Sent{chain::Sent::Status::refused, "away"};
    post();
    lying.sent_said = {};
    town.town.harness.clock.advance(std::chrono::minutes(11));
    post(24, 1);
    mine();
    EXPECT_EQ(sent(), 1);
    post(24, 1);
    EXPECT_NE(posted(), "");
}

TEST_F(Posting, WhatAnEarlierKeySignedIsBroughtToItsEnd) {
    prove();
    lying.sent_said = chain::Sent{chain::Sent::Status::refused, "away"};
    post();
    lying.sent_said = {};
    const crypto::SigningKey later = EvmNode::account(7);
    post_by(later, {24, 50'000'000'000});
    mine();
    post_by(later, {24, 50'000'000'000});
    EXPECT_EQ(sent(), 1);
    EXPECT_NE(posted(), "");
}

TEST_F(Posting, WhatAnEarlierKeySignedHoldsUpNothing) {
    prove();
    lying.sent_said = chain::Sent{chain::Sent::Status::refused, "away"};
    post();
    lying.sent_said = {};
    auto& harness = town.town.harness;
    lying.on_outcomes = [](const std::vector<chain::Hash>&) {
        throw chain::ProviderError("they do not agree");
    };
    harness.clock.advance(std::chrono::hours(25));
    const crypto::SigningKey later = EvmNode::account(7);
    const std::int64_t before = real.standing(later.address(), {}).latest_nonce;
    post_by(later, {24, 50'000'000'000});
    mine();
    EXPECT_EQ(real.standing(later.address(), {}).latest_nonce, before + 1);
}

TEST_F(Posting, WithoutGasNothingIsSignedAndTheLogNamesTheAddress) {
    prove();
    lying.gas_said = 1'000;
    post();
    mine();
    EXPECT_EQ(sent(), 0);
    lying.gas_said = {};
    post();
    mine();
    post();
    EXPECT_NE(posted(), "");
}

}  // namespace
}  // namespace berth::test
