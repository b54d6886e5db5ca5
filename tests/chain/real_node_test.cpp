// JsonRpcChain against a real EVM node with real tokens.
#include <gtest/gtest.h>

#include "chain/json_rpc.hpp"
#include "support/evm_node.hpp"

namespace berth::chain {
namespace {

using berth::test::EvmNode;
using Seen = Sighting::Status;
using Became = Outcome::Status;

class RealNode : public testing::Test {
protected:
    RealNode() { node.mint(node.usdc(), {alice.address(), {1'000'000'000}}); }

    JsonRpcChain made(std::int64_t confirmations = 0) {
        return {client, {{node.url(), node.url()}, EvmNode::chain_id, confirmations}};
    }
    Transaction payment(std::int64_t nonce, Micro amount) {
        return {.chain_id = EvmNode::chain_id,
                .nonce = nonce,
                .priority_fee = 1'000'000'000,
                .fee_max = 20'000'000'000,
                .gas_max = 100'000,
                .to = node.usdc(),
                .data = erc20_transfer({treasury, amount})};
    }

    EvmNode& node = berth::test::shared_evm_node();
    http::CurlClient client;
    JsonRpcChain chain{made()};
    const crypto::SigningKey alice = EvmNode::account(1);
    const crypto::Address treasury = EvmNode::account(2).address();
};

TEST_F(RealNode, IsOnTheChainItShouldBeOn) {
    EXPECT_NO_THROW(chain.finalized_block());
    JsonRpcChain other(client, {{node.url()}, 1, 0});
    EXPECT_THROW(other.finalized_block(), ProviderError);
}

TEST_F(RealNode, ShowsATransferOnceItIsFinal) {
    const EvmNode::Mined sent = node.transfer(alice, node.usdc(), {treasury, {25'000'000}});
    EXPECT_EQ(chain.find_transfer(sent.transaction, sent.log_index).status, Seen::unseen);
    EXPECT_EQ(chain.outcome(sent.transaction).status, Became::included);
    node.mine();
    EXPECT_EQ(chain.find_transfer(sent.transaction, sent.log_index).status, Seen::unseen);
    node.mine();
    const Sighting seen = chain.find_transfer(sent.transaction, sent.log_index);
    ASSERT_EQ(seen.status, Seen::final);
    EXPECT_EQ(seen.transfer->token, node.usdc());
    EXPECT_EQ(seen.transfer->from, alice.address());
    EXPECT_EQ(seen.transfer->to, treasury);
    EXPECT_EQ(seen.transfer->amount, Micro{25'000'000});
    EXPECT_EQ(seen.transfer->ordinal, 0);
    EXPECT_EQ(seen.transfer->block, chain.finalized_block());
    EXPECT_EQ(chain.outcome(sent.transaction).status, Became::succeeded);
    EXPECT_EQ(chain.outcome(sent.transaction).transfers.at(0), *seen.transfer);

    JsonRpcChain careful = made(5);
    EXPECT_EQ(careful.find_transfer(sent.transaction, 0).status, Seen::unseen);
    node.mine(3);
    EXPECT_EQ(careful.find_transfer(sent.transaction, 0).status, Seen::final);
}

TEST_F(RealNode, ShowsTwoTransfersOfOneTransactionByTheirOrdinals) {
    const chain::Hash first = node.submit(EvmNode::account(3), node.usdc(), {treasury, {0}});
    const EvmNode::Mined sent = node.transfer_twice(alice, node.usdc(), {treasury, {5}}, {6});
    node.finalize();
    const std::int64_t before = node.mined(first).log_index;
    EXPECT_NE(before, sent.log_index);
    const Sighting one = chain.find_transfer(sent.transaction, sent.log_index);
    const Sighting two = chain.find_transfer(sent.transaction, sent.log_index + 1);
    ASSERT_TRUE(one.transfer && two.transfer);
    EXPECT_EQ(one.transfer->ordinal, 0);
    EXPECT_EQ(one.transfer->amount, Micro{5});
    EXPECT_EQ(two.transfer->ordinal, 1);
    EXPECT_EQ(two.transfer->amount, Micro{6});
    EXPECT_EQ(chain.find_transfer(sent.transaction, before).status, Seen::no_transfer);
    EXPECT_EQ(chain.find_transfer(sent.transaction, sent.log_index + 2).status, Seen::no_transfer);
}

TEST_F(RealNode, KnowsAFailedTransactionAndOneThatNeverWas) {
    node.set_barred(node.usdc(), treasury, true);
    const EvmNode::Mined sent = node.transfer(alice, node.usdc(), {treasury, {1}});
    node.finalize();
    EXPECT_EQ(chain.find_transfer(sent.transaction, 0).status, Seen::failed);
    EXPECT_EQ(chain.outcome(sent.transaction).status, Became::reverted);
    EXPECT_EQ(chain.find_transfer(Hash{}, 0).status, Seen::unseen);
    EXPECT_EQ(chain.outcome(Hash{}).status, Became::unseen);
}

TEST_F(RealNode, ForgetsATransferThatAReorganisationDrops) {
    const EvmNode::Mined sent = node.transfer(alice, node.usdc(), {treasury, {1}});
    EXPECT_EQ(chain.outcome(sent.transaction).status, Became::included);
    node.drop(sent.transaction);
    node.finalize();
    EXPECT_EQ(chain.find_transfer(sent.transaction, sent.log_index).status, Seen::unseen);
    EXPECT_EQ(chain.outcome(sent.transaction).status, Became::unseen);
}

TEST_F(RealNode, FindsATransferThatAReorganisationMovesByItsNewIndexAndOldOrdinal) {
    const EvmNode::Mined sent = node.transfer(alice, node.usdc(), {treasury, {1}});
    const EvmNode::Mined moved = node.move(sent.transaction);
    ASSERT_NE(moved.log_index, sent.log_index);
    node.finalize();
    EXPECT_EQ(chain.find_transfer(sent.transaction, sent.log_index).status, Seen::no_transfer);
    const Sighting seen = chain.find_transfer(sent.transaction, moved.log_index);
    ASSERT_EQ(seen.status, Seen::final);
    EXPECT_EQ(seen.transfer->ordinal, 0);
}

TEST_F(RealNode, ListsTheTransfersToAnAddress) {
    const crypto::Address fake = node.deploy_token("USD Coin", "USDC");
    const std::int64_t first = node.latest_block() + 1;
    node.mint(node.usdt(), {treasury, {3}});
    node.mint(fake, {treasury, {4}});
    node.transfer(alice, node.usdc(), {EvmNode::account(3).address(), {5}});
    const EvmNode::Mined two = node.transfer_twice(alice, node.usdc(), {treasury, {6}}, {7});
    node.finalize();
    const Chain::Wanted wanted{{node.usdc(), node.usdt()}, treasury};
    const auto found = chain.transfers({first, chain.finalized_block()}, wanted);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].token, node.usdt());
    EXPECT_EQ(found[0].amount, Micro{3});
    EXPECT_EQ(found[1], chain.find_transfer(two.transaction, two.log_index).transfer);
    EXPECT_EQ(found[2], chain.find_transfer(two.transaction, two.log_index + 1).transfer);
    EXPECT_EQ(found[2].ordinal, 1);
    EXPECT_TRUE(chain.transfers({0, first - 1}, wanted).empty());
    EXPECT_THROW(chain.transfers({0, node.latest_block()}, wanted), ProviderError);
}

TEST_F(RealNode, TakesOurTransactionsAndTheSameOnesAgain) {
    EXPECT_EQ(chain.latest_nonce(alice.address()), 0);
    const Signed made = sign(payment(0, {1'000'000}), alice);
    chain.send(made.bytes);  // to the same node twice: the second time it is known
    chain.send(made.bytes);
    EXPECT_EQ(chain.outcome(made.hash).status, Became::unseen);
    node.mine();
    EXPECT_EQ(chain.outcome(made.hash).status, Became::included);
    EXPECT_EQ(chain.latest_nonce(alice.address()), 1);
    EXPECT_EQ(chain.finalized_nonce(alice.address()), 0);
    EXPECT_NO_THROW(chain.send(made.bytes)) << "its nonce is used up";
    node.finalize();
    EXPECT_EQ(chain.finalized_nonce(alice.address()), 1);
    const Outcome outcome = chain.outcome(made.hash);
    ASSERT_EQ(outcome.status, Became::succeeded);
    EXPECT_EQ(outcome.transfers.at(0).amount, Micro{1'000'000});
    EXPECT_EQ(node.balance(node.usdc(), treasury), Micro{1'000'000});
}

TEST_F(RealNode, ReplacesATransactionThatIsStuckByOneThatPaysMore) {
    Transaction replaced = payment(0, {1});
    const Signed stuck = sign(replaced, alice);
    chain.send(stuck.bytes);
    node.mine_without(stuck.hash);
    replaced.fee_max *= 2;
    replaced.priority_fee *= 2;
    const Signed quick = sign(replaced, alice);
    chain.send(quick.bytes);
    EXPECT_NO_THROW(chain.send(stuck.bytes)) << "its place is taken";
    node.mine();
    node.finalize();
    EXPECT_EQ(chain.outcome(quick.hash).status, Became::succeeded);
    EXPECT_EQ(chain.outcome(stuck.hash).status, Became::unseen);
    EXPECT_EQ(node.balance(node.usdc(), treasury), Micro{1});
}

TEST_F(RealNode, RefusesATransactionThatNobodyPaysFor) {
    const auto poor = crypto::SigningKey::from_bytes(std::string(32, '\x07')).value();
    EXPECT_THROW(chain.send(sign(payment(0, {1}), poor).bytes), ProviderError);
    EXPECT_THROW(chain.send("nonsense"), ProviderError);
}

TEST_F(RealNode, NamesTheFees) {
    node.set_next_base_fee(123'456'789);
    node.mine();
    const Fees fees = chain.fees();
    EXPECT_EQ(fees.base, 123'456'789);
    EXPECT_GE(fees.priority, 0);
}

TEST_F(RealNode, IsAProviderErrorWhileItIsDownAndGoesOnAfterwards) {
    const EvmNode::Mined sent = node.transfer(alice, node.usdc(), {treasury, {1}});
    node.finalize();
    node.stop();
    EXPECT_THROW(chain.find_transfer(sent.transaction, sent.log_index), ProviderError);
    EXPECT_THROW(chain.send("\x02"), ProviderError);
    node.start();
    EXPECT_EQ(chain.find_transfer(sent.transaction, sent.log_index).status, Seen::final);
    EXPECT_EQ(chain.finalized_nonce(alice.address()), 1);
}

}  // namespace
}  // namespace berth::chain
