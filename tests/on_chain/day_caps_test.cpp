// Two settlers, because an operator started a second one or a lease ran out.
#include <latch>
#include <thread>

#include "on_chain/settlement.hpp"

namespace berth::test {
namespace {

struct DayCaps : Lies, ::testing::WithParamInterface<const char*> {
    void sign(LyingChain& chain) {
        auto& harness = town.town.harness;
        transfers::Settler({treasury, harness.app->settings(), key, chain, harness.app->database(),
                            harness.clock, harness.random})
            .run();
    }
    std::int64_t signed_today() {
        return town.town.harness.app->database().read([](db::Transaction& tx) {
            return transfers::sum_signed(tx, std::nullopt, Time{}).value;
        });
    }
};

// One of them sees less money in the treasury than the other, so that each chooses what the other
// does not; and neither signs before both have chosen.
TEST_P(DayCaps, HoldForSettlersThatSignAtOnce) {
    auto& harness = town.town.harness;
    harness.clock.advance(std::chrono::hours(25));  // what came in today may leave as well
    harness.set(std::string("money.") + GetParam(), "1000");
    withdraw(town, ada, 700);
    harness.clock.advance(std::chrono::milliseconds(2));
    withdraw(town, ada, 400);
    std::latch both_chose(2);
    LyingChain other{real};
    other.tokens_said = Micro{500};
    lying.before_signing = other.before_signing = [&] { both_chose.arrive_and_wait(); };
    std::thread second([&] { sign(other); });
    sign(lying);
    second.join();
    EXPECT_TRUE(signed_today() == 700 || signed_today() == 400) << signed_today();
    EXPECT_EQ(attempts(town), 1);
    town.node.mine();
    town.node.finalize();
    harness.clock.advance(std::chrono::hours(24));
    sign(lying);
    EXPECT_EQ(attempts(town), 2) << "the other one leaves the next day";
}

INSTANTIATE_TEST_SUITE_P(OfAnAccountAndOfAll, DayCaps,
                         ::testing::Values("payouts_account_day_max_micro",
                                           "payouts_day_max_micro"));

}  // namespace
}  // namespace berth::test
