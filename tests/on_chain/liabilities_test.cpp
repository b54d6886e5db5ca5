// The proof of liabilities while the chain goes on.
#include <gtest/gtest.h>

#include <utility>

#include "liabilities/liabilities.hpp"
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

}  // namespace
}  // namespace berth::test
