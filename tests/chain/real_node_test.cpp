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

    bool taken(const Bytes& bytes) {
        return chain.send({bytes}).at(0).status == Sent::Status::taken;
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
    EXPECT_EQ(chain.standing(alice.address(), {}).latest_nonce, 0);
    const Signed made = sign(payment(0, {1'000'000}), alice);
    EXPECT_TRUE(taken(made.bytes));  // by the same node twice: the second time it is known
    EXPECT_TRUE(taken(made.bytes));
    EXPECT_EQ(chain.standing(alice.address(), {}).pending_nonce, 1);
    EXPECT_EQ(chain.outcome(made.hash).status, Became::unseen);
    node.mine();
    EXPECT_EQ(chain.outcome(made.hash).status, Became::included);
    EXPECT_EQ(chain.standing(alice.address(), {}).latest_nonce, 1);
    EXPECT_EQ(chain.standing(alice.address(), {}).finalized_nonce, 0);
    EXPECT_TRUE(taken(made.bytes)) << "its nonce is used up";
    node.finalize();
    EXPECT_EQ(chain.standing(alice.address(), {}).finalized_nonce, 1);
    const Outcome outcome = chain.outcome(made.hash);
    ASSERT_EQ(outcome.status, Became::succeeded);
    EXPECT_EQ(outcome.transfers.at(0).amount, Micro{1'000'000});
    EXPECT_EQ(node.balance(node.usdc(), treasury), Micro{1'000'000});
}

TEST_F(RealNode, ReplacesATransactionThatIsStuckByOneThatPaysMore) {
    Transaction replaced = payment(0, {1});
    const Signed stuck = sign(replaced, alice);
    EXPECT_TRUE(taken(stuck.bytes));
    node.mine_without(stuck.hash);
    replaced.fee_max *= 2;
    replaced.priority_fee *= 2;
    const Signed quick = sign(replaced, alice);
    EXPECT_TRUE(taken(quick.bytes));
    EXPECT_TRUE(taken(stuck.bytes)) << "its place is taken";
    node.mine();
    node.finalize();
    EXPECT_EQ(chain.outcome(quick.hash).status, Became::succeeded);
    EXPECT_EQ(chain.outcome(stuck.hash).status, Became::unseen);
    EXPECT_EQ(node.balance(node.usdc(), treasury), Micro{1});
}

TEST_F(RealNode, RefusesATransactionThatNobodyPaysFor) {
    const auto poor = crypto::SigningKey::from_bytes(std::string(32, '\x07')).value();
    EXPECT_FALSE(taken(sign(payment(0, {1}), poor).bytes));
    EXPECT_FALSE(taken("nonsense"));
}

TEST_F(RealNode, NamesTheFees) {
    node.set_next_base_fee(123'456'789);
    node.mine();
    const Fees fees = chain.standing(alice.address(), {}).fees;
    EXPECT_EQ(fees.base, 123'456'789);
    EXPECT_GE(fees.priority, 0);
}

TEST_F(RealNode, RefusesAFeeBelowTheBaseFeeAsUnderpriced) {
    node.set_next_base_fee(100'000'000'000);
    node.mine();
    Transaction cheap = payment(0, {1});
    cheap.fee_max = cheap.priority_fee = 1'000;
    EXPECT_EQ(chain.send({sign(cheap, alice).bytes}).at(0).status, Sent::Status::underpriced);
    node.set_next_base_fee(1'000'000'000);  // the node keeps it for whoever comes next
    node.mine();
}

TEST_F(RealNode, TellsTokensGasAndDecimals) {
    const Standing standing = chain.standing(alice.address(), {node.usdc(), node.usdt()});
    EXPECT_EQ(standing.balances,
              (std::vector{node.balance(node.usdc(), alice.address()), Micro{}}));
    EXPECT_GT(standing.gas, 0);
    EXPECT_EQ(standing.finalized_block, chain.finalized_block());
    EXPECT_EQ(chain.decimals(node.usdc()), 6);
    EXPECT_THROW(chain.decimals(alice.address()), ProviderError) << "there is no contract";
}

TEST_F(RealNode, ShowsAPaymentAsItsSenderSignedIt) {
    const Bytes reference(reference_bytes, '\x42');
    Transaction made = payment(0, {77});
    made.data = erc20_transfer({treasury, {77}}, reference);
    const Signed paid = sign(made, alice);
    ASSERT_TRUE(taken(paid.bytes));
    node.mine();
    node.finalize();
    EXPECT_EQ(chain.outcome(paid.hash).transfers.at(0).amount, Micro{77});
    const auto original = chain.original(paid.hash);
    ASSERT_TRUE(original);
    EXPECT_EQ(original->from, alice.address());
    EXPECT_EQ(original->nonce, 0);
    EXPECT_EQ(original->to, node.usdc());
    EXPECT_EQ(original->bytes, paid.bytes);
    const auto call = payment_in(original->data);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->payment.to, treasury);
    EXPECT_EQ(call->payment.amount, Micro{77});
    EXPECT_EQ(call->reference, reference);
    EXPECT_FALSE(chain.original(Hash{}));
    const auto sent =
        chain.transfers({1, chain.finalized_block()},
                        {.tokens = {node.usdc()}, .to = std::nullopt, .from = alice.address()});
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].transaction, paid.hash);
}

// With a node of its own: one that was stopped has no snapshots, and all tests share the other.
TEST_F(RealNode, IsAProviderErrorWhileItIsDownAndGoesOnAfterwards) {
    EvmNode own;
    JsonRpcChain chain_of_own{client, {{own.url(), own.url()}, EvmNode::chain_id, 0}};
    own.mint(own.usdc(), {alice.address(), {1}});
    const EvmNode::Mined sent = own.transfer(alice, own.usdc(), {treasury, {1}});
    own.finalize();
    own.stop();
    EXPECT_THROW(chain_of_own.find_transfer(sent.transaction, sent.log_index), ProviderError);
    EXPECT_NE(chain_of_own.send({"\x02"}).at(0).status, Sent::Status::taken);
    own.start();
    EXPECT_EQ(chain_of_own.find_transfer(sent.transaction, sent.log_index).status, Seen::final);
    EXPECT_EQ(chain_of_own.standing(alice.address(), {}).finalized_nonce, 1);
}

}  // namespace
}  // namespace berth::chain
