// The node that the money tests stand on does what they rely on.
#include "support/evm_node.hpp"

#include <gtest/gtest.h>

namespace berth::test {
namespace {

const crypto::Address alice = EvmNode::account(1).address();
const crypto::Address bob = EvmNode::account(2).address();

TEST(EvmNode, HasTwoTokensThatCanBeMintedAndTransferred) {
    EvmNode& node = shared_evm_node();
    node.mint(node.usdc(), {alice, {5'000'000}});
    node.mint(node.usdt(), {alice, {7'000'000}});
    const EvmNode::Mined sent = node.transfer(EvmNode::account(1), node.usdc(), {bob, {1'500'000}});
    EXPECT_EQ(sent.log_index, 0);
    EXPECT_EQ(node.balance(node.usdc(), alice), Micro{3'500'000});
    EXPECT_EQ(node.balance(node.usdc(), bob), Micro{1'500'000});
    EXPECT_EQ(node.balance(node.usdt(), alice), Micro{7'000'000});
}

TEST(EvmNode, RevertsTransfersOfBarredAddresses) {
    EvmNode& node = shared_evm_node();
    node.mint(node.usdc(), {alice, {5}});
    node.set_barred(node.usdc(), bob, true);
    EXPECT_EQ(node.transfer(EvmNode::account(1), node.usdc(), {bob, {1}}).log_index, -1);
    node.set_barred(node.usdc(), bob, false);
    EXPECT_EQ(node.transfer(EvmNode::account(1), node.usdc(), {bob, {1}}).log_index, 0);
}

TEST(EvmNode, MinesOnlyWhenItIsTold) {
    EvmNode& node = shared_evm_node();
    node.mint(node.usdc(), {alice, {5}});
    const chain::Hash waiting = node.submit(EvmNode::account(1), node.usdc(), {bob, {1}});
    EXPECT_THROW(node.mined(waiting), std::runtime_error);
    node.mine();
    EXPECT_EQ(node.mined(waiting).log_index, 0);
    node.set_automine(true);
    EXPECT_EQ(node.transfer(EvmNode::account(1), node.usdc(), {bob, {1}}).log_index, 0);
}

TEST(EvmNode, MinesBlocksWithoutAWaitingTransaction) {
    EvmNode& node = shared_evm_node();
    node.mint(node.usdc(), {alice, {5}});
    const chain::Hash stuck = node.submit(EvmNode::account(1), node.usdc(), {bob, {1}});
    node.mine_without(stuck, 3);
    EXPECT_THROW(node.mined(stuck), std::runtime_error);
    node.mine();
    EXPECT_EQ(node.mined(stuck).log_index, 0);
    const chain::Hash lost = node.submit(EvmNode::account(1), node.usdc(), {bob, {1}});
    node.forget(lost);
    node.mine();
    EXPECT_THROW(node.mined(lost), std::runtime_error);
}

TEST(EvmNode, DropsATransactionInAReorganisation) {
    EvmNode& node = shared_evm_node();
    node.mint(node.usdc(), {alice, {5}});
    const EvmNode::Mined sent = node.transfer(EvmNode::account(1), node.usdc(), {bob, {1}});
    node.mine();
    const std::int64_t height = node.latest_block();
    node.drop(sent.transaction);
    EXPECT_EQ(node.latest_block(), height);
    EXPECT_THROW(node.mined(sent.transaction), std::runtime_error);
    node.mine();
    EXPECT_EQ(node.balance(node.usdc(), bob), Micro{0});
}

TEST(EvmNode, MovesATransactionToAnotherLogIndexInAReorganisation) {
    EvmNode& node = shared_evm_node();
    node.mint(node.usdc(), {alice, {5}});
    const EvmNode::Mined sent = node.transfer(EvmNode::account(1), node.usdc(), {bob, {1}});
    ASSERT_EQ(sent.log_index, 0);
    EXPECT_EQ(node.move(sent.transaction).log_index, 1);
    EXPECT_EQ(node.balance(node.usdc(), bob), Micro{1});
}

TEST(EvmNode, ComesBackWithItsBlocks) {
    EvmNode node;
    node.mint(node.usdc(), {alice, {5}});
    const EvmNode::Mined sent = node.transfer(EvmNode::account(1), node.usdc(), {bob, {1}});
    const std::int64_t height = node.latest_block();
    node.stop();
    EXPECT_THROW(node.latest_block(), http::TransportError);
    node.start();
    EXPECT_EQ(node.latest_block(), height);
    EXPECT_EQ(node.mined(sent.transaction).log_index, 0);
    EXPECT_EQ(node.transfer(EvmNode::account(1), node.usdc(), {bob, {1}}).log_index, 0);
    node.drop(sent.transaction);
    EXPECT_EQ(node.balance(node.usdc(), bob), Micro{0});
}

TEST(EvmNode, ReturnsToASnapshot) {
    EvmNode& node = shared_evm_node();
    const std::string before = node.snapshot();
    node.mint(node.usdc(), {alice, {5}});
    node.revert(before);
    EXPECT_EQ(node.balance(node.usdc(), alice), Micro{0});
    EXPECT_THROW(node.revert(before), std::runtime_error);
}

TEST(EvmNode, MakesBlocksAtTheTimeItIsTold) {
    EvmNode node({.start = Time{1'800'000'000'000'000}});
    node.set_next_block_time({1'800'086'400'000'000});
    node.mine();
    const std::string latest = node.rpc("eth_getBlockByNumber", R"(["latest",false])");
    EXPECT_NE(latest.find(R"("timestamp":"0x6b4b2380")"), std::string::npos) << latest;
}

}  // namespace
}  // namespace berth::test
