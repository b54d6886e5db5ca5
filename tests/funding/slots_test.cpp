// Places for claims that ask the chain: shared between accounts.
#include <gtest/gtest.h>

#include <future>

#include "funding/slots.hpp"
#include "support/fakes.hpp"

namespace berth::test {
namespace {

using funding::ClaimSlots;

struct Accounts {
    SeededRandom random;
    AccountId ada = AccountId::make({1}, random);
    AccountId bea = AccountId::make({1}, random);
    AccountId cat = AccountId::make({1}, random);
};

constexpr Duration at_once = std::chrono::microseconds(0);
constexpr Duration ever = std::chrono::hours(1);

TEST(ClaimSlots, OneAccountHasItsShareAndLeavesTheRest) {
    const Accounts who;
    ClaimSlots slots({.running_max = 3, .of_account_max = 2, .wait_max = at_once});
    const auto first = slots.take(who.ada);
    auto second = slots.take(who.ada);
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(slots.take(who.ada)) << "its share is used up";
    const auto other = slots.take(who.bea);
    EXPECT_TRUE(other) << "another account finds a place";
    EXPECT_FALSE(slots.take(who.cat)) << "all places are taken";
    second.reset();
    EXPECT_TRUE(slots.take(who.cat));
    EXPECT_TRUE(slots.take(who.ada));
}

TEST(ClaimSlots, WhoeverFindsNoPlaceWaitsForOne) {
    const Accounts who;
    ClaimSlots slots({.running_max = 1, .of_account_max = 1, .wait_max = ever});
    auto first = slots.take(who.ada);
    auto waiting = std::async(std::launch::async, [&] { return slots.take(who.bea) != nullptr; });
    first.reset();
    EXPECT_TRUE(waiting.get());
}

TEST(ClaimSlots, OneAccountCannotKeepManyWaiting) {
    const Accounts who;
    ClaimSlots slots(
        {.running_max = 1, .of_account_max = 1, .waiting_of_account_max = 0, .wait_max = ever});
    const auto first = slots.take(who.ada);
    EXPECT_FALSE(slots.take(who.ada)) << "it is told at once";
}

TEST(ClaimSlots, WhoCanDoWithoutDoesNotWait) {
    const Accounts who;
    ClaimSlots slots({.running_max = 1, .of_account_max = 1, .wait_max = ever});
    auto first = slots.take_at_once(who.ada);
    EXPECT_TRUE(first);
    EXPECT_FALSE(slots.take_at_once(who.bea));
    first.reset();
    EXPECT_TRUE(slots.take_at_once(who.bea));
}

}  // namespace
}  // namespace berth::test
