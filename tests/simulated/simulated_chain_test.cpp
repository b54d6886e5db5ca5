// The simulated chain keeps what the program relies on in a real one: finality, nonces, balances,
// and that it is the same after a restart.
#include "simulated/simulated_chain.hpp"

#include <gtest/gtest.h>

#include "chain/transaction.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"

namespace berth::simulated {
namespace {

constexpr std::int64_t chain_id = 8453;

crypto::Address address(char letter) {
    crypto::Address made;
    made.bytes.fill(letter);
    return made;
}

class Simulated : public ::testing::Test {
protected:
    SimulatedChain::Options options(bool read_only = false) const {
        return {folder.path() + "/chain.db", chain_id, {usdc, usdt}, read_only};
    }
    void pass(int blocks) { clock.advance(blocks * block_lasts); }
    chain::Signed payment(std::int64_t nonce, std::int64_t amount) const {
        return chain::sign({.chain_id = chain_id,
                            .nonce = nonce,
                            .priority_fee = 1,
                            .fee_max = 2,
                            .gas_max = 100'000,
                            .to = usdc,
                            .data = chain::erc20_transfer({ben, Micro{amount}})},
                           key);
    }
    chain::Sent::Status send(const chain::Signed& made) {
        return chain.send({made.bytes}).front().status;
    }

    test::TemporaryFolder folder;
    test::ManualClock clock;
    const crypto::Address usdc = address('u');
    const crypto::Address usdt = address('t');
    const crypto::Address ben = address('b');
    const crypto::SigningKey key = crypto::SigningKey::from_bytes(Bytes(32, '\x11')).value();
    SimulatedChain chain{options(), clock};
};

TEST_F(Simulated, ShowsATransactionOnceItsBlockIsOver) {
    using Status = chain::Glimpse::Status;
    const auto row = chain.mint(usdc, ben, Micro{5});
    EXPECT_EQ(chain.glimpse(row.hash).seen.status, Status::unseen);
    pass(1);
    const chain::Glimpse early = chain.glimpse(row.hash);
    EXPECT_EQ(early.seen.status, Status::included);
    EXPECT_FALSE(early.is_final());
    ASSERT_EQ(early.seen.transfers.size(), 1u);
    EXPECT_EQ(early.seen.transfers[0].log_index, row.log_index);
    pass(1);
    EXPECT_TRUE(chain.glimpse(row.hash).is_final());
}

TEST_F(Simulated, ShowsATransferOnlyWhenItsBlockIsFinal) {
    const auto row = chain.mint(usdc, ben, Micro{5});
    const auto status = [&] { return chain.find_transfer(row.hash, row.log_index).status; };
    EXPECT_EQ(status(), chain::Sighting::Status::unseen);
    EXPECT_EQ(chain.outcome(row.hash).status, chain::Outcome::Status::unseen);
    pass(1);
    EXPECT_EQ(status(), chain::Sighting::Status::unseen);
    EXPECT_EQ(chain.outcome(row.hash).status, chain::Outcome::Status::included);
    pass(1);
    EXPECT_EQ(status(), chain::Sighting::Status::final);
    EXPECT_EQ(chain.outcome(row.hash).status, chain::Outcome::Status::succeeded);
    EXPECT_EQ(chain.find_transfer(row.hash, row.log_index + 1).status,
              chain::Sighting::Status::no_transfer);

    const auto found = chain.transfers({0, chain.finalized_block()}, {{usdc}, ben});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0], *chain.find_transfer(row.hash, row.log_index).transfer);
    EXPECT_EQ(found[0].from, faucet_address());
    EXPECT_TRUE(chain.transfers({0, row.block - 1}, {{usdc}, ben}).empty());
    EXPECT_TRUE(chain.transfers({0, row.block}, {{usdt}, ben}).empty());
    EXPECT_TRUE(chain.transfers({0, row.block}, {{usdc}, usdc}).empty());
}

TEST_F(Simulated, TriesAPaymentWithoutMakingIt) {
    chain.mint(usdc, key.address(), Micro{100});
    const auto pay = [&](std::int64_t amount) {
        return chain::Call{.to = usdc,
                           .data = chain::erc20_transfer({ben, Micro{amount}}),
                           .gas_max = 100'000,
                           .from = key.address()};
    };
    const auto trials = chain.try_calls({pay(100), pay(101)});
    EXPECT_EQ(trials.at(0).status, chain::Trial::Status::succeeds);
    EXPECT_EQ(trials.at(1).status, chain::Trial::Status::reverts);
    pass(2);
    EXPECT_EQ(chain.balance(ben, usdc, chain.finalized_block()), Micro{0});
}

TEST_F(Simulated, TakesSignedPaymentsInTheOrderOfTheirNonces) {
    chain.mint(usdc, key.address(), Micro{100});
    const auto first = payment(0, 60), second = payment(1, 60);
    EXPECT_EQ(send(second), chain::Sent::Status::refused) << "it waits for the first";
    EXPECT_EQ(send(first), chain::Sent::Status::taken);
    EXPECT_EQ(send(first), chain::Sent::Status::taken) << "once more is the same";
    EXPECT_EQ(chain.standing(key.address(), {usdc}).pending_nonce, 1);
    EXPECT_EQ(chain.standing(key.address(), {usdc}).latest_nonce, 0);
    EXPECT_EQ(send(second), chain::Sent::Status::taken);
    pass(2);
    EXPECT_EQ(chain.outcome(first.hash).status, chain::Outcome::Status::succeeded);
    EXPECT_EQ(chain.outcome(second.hash).status, chain::Outcome::Status::reverted)
        << "there were 40 left";
    const auto standing = chain.standing(key.address(), {usdc, usdt});
    EXPECT_EQ(standing.finalized_nonce, 2);
    EXPECT_EQ(standing.balances, (std::vector<Micro>{Micro{40}, Micro{0}}));
    EXPECT_EQ(chain.balance(ben, usdc, chain.finalized_block()), Micro{60});

    const auto original = chain.original(first.hash);
    ASSERT_TRUE(original);
    EXPECT_EQ(original->bytes, first.bytes);
    EXPECT_EQ(original->from, key.address());
    Bytes broken = payment(2, 1).bytes;
    broken.back() = static_cast<char>(broken.back() ^ 1);
    const auto other_chain = chain::sign({.chain_id = 1, .nonce = 2, .to = usdc, .data = ""}, key);
    for (const Bytes& bad : {Bytes(), Bytes("\x02"), Bytes("nonsense"), other_chain.bytes})
        EXPECT_EQ(chain.send({bad}).front().status, chain::Sent::Status::refused);
    // Another signature is another sender, who has nothing.
    chain.send({broken});
    pass(2);
    EXPECT_EQ(chain.balance(ben, usdc, chain.finalized_block()), Micro{60});
}

TEST_F(Simulated, MovesNoMoreThanThereIs) {
    EXPECT_THROW(chain.transfer_as({usdc, ben, usdt, Micro{1}}), std::invalid_argument);
    EXPECT_THROW(chain.mint(ben, ben, Micro{1}), std::invalid_argument) << "that is no token";
    EXPECT_THROW(chain.mint(usdc, ben, Micro{0}), std::invalid_argument);
    chain.mint(usdc, ben, Micro{3});
    const auto moved = chain.transfer_as({usdc, ben, key.address(), Micro{2}});
    EXPECT_EQ(moved.log_index, 1) << "the second log of its block";
    EXPECT_THROW(chain.transfer_as({usdc, ben, usdt, Micro{2}}), std::invalid_argument);
    EXPECT_EQ(chain.standing(ben, {}).pending_nonce, 0) << "nobody signed";
    EXPECT_EQ(chain.decimals(usdc), 6);
}

TEST(SimulatedRestart, IsTheSameChainAgain) {
    const test::TemporaryFolder folder;
    test::ManualClock clock;
    const SimulatedChain::Options options{folder.path() + "/chain.db", chain_id, {address('u')}};
    chain::Hash hash;
    std::int64_t block = 0;
    {
        SimulatedChain first(options, clock);
        hash = first.mint(address('u'), address('b'), Micro{7}).hash;
        clock.advance(5 * block_lasts);
        block = first.finalized_block();
        auto reading = options;
        reading.read_only = true;
        SimulatedChain beside(reading, clock);
        EXPECT_EQ(beside.balance(address('b'), address('u'), block), Micro{7});
    }
    SimulatedChain again(options, clock);
    EXPECT_EQ(again.finalized_block(), block);
    EXPECT_EQ(again.outcome(hash).status, chain::Outcome::Status::succeeded);
    EXPECT_NE(again.mint(address('u'), address('b'), Micro{7}).hash, hash);
}

}  // namespace
}  // namespace berth::simulated
