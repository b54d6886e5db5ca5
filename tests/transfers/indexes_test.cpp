// What is open is found by indexes of what is open: the cost of a round does not grow with all that
// was ever paid.
#include <gtest/gtest.h>

#include "db/query.hpp"
#include "funding/store.hpp"
#include "support/explained.hpp"
#include "support/harness.hpp"
#include "transfers/settlement.hpp"

namespace berth::test {
namespace {

struct Indexes : ::testing::Test {
    template <class Work>
    void expect_used(const std::string& index, const Work& work) {
        database->read([&](db::Transaction& tx) {
            if (database->engine() == db::Engine::postgres)
                tx.run("SET LOCAL enable_seqscan = off");  // of an empty table it is the cheapest
            ExplainedTransaction explained(tx, database->engine());
            work(explained);
            EXPECT_NE(explained.plan.find(index), std::string::npos) << explained.plan;
            EXPECT_EQ(explained.plan.find("SCAN transfers\n"), std::string::npos) << explained.plan;
        });
    }

    TestDatabase made{migrated_database()};
    std::unique_ptr<db::Database> database = made.open();
    const crypto::Address treasury{};
    const AccountId account{};
};

TEST_F(Indexes, OfOpenTransfers) {
    using namespace transfers;
    expect_used("transfers_to_sign", [](db::Transaction& tx) { find_intents(tx, 10); });
    expect_used("transfers_open", [&](db::Transaction& tx) { count_open_transfers(tx, account); });
    const NonceRange range{treasury, 0, 10};
    expect_used("transfers_in_flight", [&](db::Transaction& tx) { find_in_flight(tx, range, 10); });
    expect_used("transfers_in_flight",
                [&](db::Transaction& tx) { find_unsent(tx, range, {}, 10); });
    expect_used("transfers_in_flight", [&](db::Transaction& tx) { sum_in_flight(tx, range); });
    // Of an empty table either index of signed ones is as cheap.
    expect_used("by_signing", [](db::Transaction& tx) { sum_signed(tx, std::nullopt, {}); });
    expect_used("transfers_of_account_by_signing",
                [&](db::Transaction& tx) { sum_signed(tx, account, {}); });
    expect_used("transfers_of_account_by_signing",
                [&](db::Transaction& tx) { list_signed_amounts(tx, account, {}); });
    expect_used("transfers_by_state", [](db::Transaction& tx) {
        list_transfers_like(tx, {.state = TransferState::FAILED}, std::nullopt, 10);
    });
    expect_used("transfers_back", [](db::Transaction& tx) { find_return(tx, {"0x", 0}); });
}

TEST_F(Indexes, OfOpenIntentsAndUnclaimedTransfers) {
    using namespace funding;
    // Of an empty table either index of open ones is as cheap.
    expect_used("funding_intents_",
                [&](db::Transaction& tx) { count_open_intents(tx, account, {}); });
    expect_used("funding_intents_to",
                [&](db::Transaction& tx) { find_oldest_intent(tx, treasury, {}); });
    expect_used("deposits_unclaimed", [](db::Transaction& tx) { sum_suspense(tx); });
    expect_used("deposits_unclaimed", [](db::Transaction& tx) { list_unclaimed(tx, {}, {}, 10); });
    expect_used("pending_claims_by_look",
                [](db::Transaction& tx) { find_pending_claims(tx, Time{}, 10); });
}

}  // namespace
}  // namespace berth::test
