// What is counted against an address that its token refuses, whoever counts at the same moment, and
// what that means for whoever wants to be paid there.
#include "transfers/payees.hpp"

#include <thread>

#include "crypto/evm.hpp"
#include "settings/registry.hpp"
#include "transfers/paying_town.hpp"
#include "transfers/settlement.hpp"

namespace berth::test {
namespace {

struct RefusedPayees : PayingTown {
    // The chain has reverted a payment to each of them; and then one was taken, or none.
    bool end(const std::vector<transfers::Payee>& reverted,
             const std::vector<transfers::Payee>& paid = {}) {
        return database().write([&](db::Transaction& tx) {
            return transfers::note_endings(
                {tx, town.harness.random, town.harness.clock.now()}, {paid, reverted},
                town.harness.app->settings().now()->get<transfers::Settings>());
        });
    }
    void bar(const transfers::Payee& payee) {
        for (int i = 0; i < 3; ++i) end({payee});
        ASSERT_TRUE(is_barred(payee));
    }
    bool is_barred(const transfers::Payee& payee) {
        return database().read(
            [&](db::Transaction& tx) { return transfers::is_barred(tx, payee); });
    }
    bool is_held() { return database().read(transfers::find_hold).has_value(); }
    db::Database& database() { return town.harness.app->database(); }

    const crypto::Address address = crypto::parse_address(somewhere).value();
    const transfers::Payee in_usdc{ledger::Asset::usdc, address};
    const transfers::Payee in_usdt{ledger::Asset::usdt, address};
};

transfers::Payee numbered(int number) {
    crypto::Address address;
    address.bytes.back() = static_cast<char>(number);
    return {ledger::Asset::usdc, address};
}

TEST_F(RefusedPayees, AreBarredInTheAssetThatRefusesThem) {
    end({in_usdc});
    end({in_usdc});
    EXPECT_FALSE(is_barred(in_usdc));
    end({in_usdc});
    EXPECT_TRUE(is_barred(in_usdc));
    EXPECT_FALSE(is_barred(in_usdt));
}

TEST_F(RefusedPayees, APaymentThatArrivesForgetsWhatWasCounted) {
    end({in_usdc});
    end({in_usdc});
    end({}, {in_usdc});
    end({in_usdc});
    end({in_usdc});
    EXPECT_FALSE(is_barred(in_usdc));
    bar(in_usdt);
    end({}, {in_usdt});
    EXPECT_TRUE(is_barred(in_usdt)) << "a bar is lifted by a person";
}

TEST_F(RefusedPayees, RevertsToDifferentAddressesInARowHoldPayments) {
    for (int i = 1; i <= 4; ++i) EXPECT_FALSE(end({numbered(i)})) << i;
    end({}, {in_usdc});
    for (int i = 5; i <= 8; ++i) EXPECT_FALSE(end({numbered(i)})) << i;
    EXPECT_FALSE(end({numbered(8)})) << "the same one again";
    EXPECT_FALSE(is_held());
    EXPECT_TRUE(end({numbered(9)}));
    EXPECT_TRUE(is_held());
}

TEST_F(RefusedPayees, TheSameAddressesHoldPaymentsAgainAfterAHoldWasLifted) {
    town.harness.set("money.reverts_in_a_row_max", "2");
    for (int round = 0; round < 2; ++round) {
        EXPECT_FALSE(end({numbered(1)})) << round;
        EXPECT_TRUE(end({numbered(2)})) << round;
        EXPECT_TRUE(is_held()) << round;
        database().write([&](db::Transaction& tx) {
            transfers::end_holds(tx, town.harness.clock.now(), "compared");
        });
    }
}

TEST_F(RefusedPayees, AnAssetThatIsPaidSaysNothingAboutAnotherThatReverts) {
    town.harness.set("money.reverts_in_a_row_max", "2");
    EXPECT_FALSE(end({in_usdt}));
    EXPECT_FALSE(end({}, {in_usdc}));
    EXPECT_TRUE(end({{ledger::Asset::usdt, numbered(1).address}}));
    EXPECT_TRUE(is_held());
}

TEST_F(RefusedPayees, ManyWhoCountAtOnceCountEachOnce) {
    constexpr int settlers = 4;
    town.harness.set("money.payee_refusals_max", "4");
    std::vector<std::thread> threads;
    for (int i = 0; i < settlers; ++i) threads.emplace_back([&] { end({in_usdc}); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(is_barred(in_usdc)) << "none of them was lost";
    const auto events = database().read([](db::Transaction& tx) {
        return tx.run("SELECT COUNT(*) FROM audit_events WHERE action = 'bar_payee'")[0]
            .get<std::int64_t>(0);
    });
    EXPECT_EQ(events, 1);
}

TEST_F(RefusedPayees, NothingIsLockedForABarredAddress) {
    Browser ada = person("ada@example.org");
    save(ada, "ada@example.org");
    bar(in_usdc);
    const std::string code = code_for(ada, "ada@example.org", code_wish("5000000"));
    const auto refused = post(ada, "/api/v1/withdrawals", wish("5000000", with_code(code)));
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(error_code(refused), "CONFLICT");
    EXPECT_EQ(balance(ada), "10000000");
    EXPECT_EQ(balance(ada, "pending_micro"), "0");
}

TEST_F(RefusedPayees, ALinkToAnAddressThatWasBarredMeanwhileSavesTheAddressAlone) {
    Browser ada = person("ada@example.org");
    const std::string code = code_for(ada, "ada@example.org", code_wish("5000000"));
    const auto parked = post(ada, "/api/v1/withdrawals", wish("5000000", with_code(code)));
    ASSERT_EQ(member(parked.body, "state"), "AWAITING_EMAIL_CONFIRMATION") << parked.body;
    bar(in_usdc);
    const auto confirmed = confirm(town.link_to("ada@example.org"));
    ASSERT_EQ(confirmed.status, 200) << confirmed.body;
    EXPECT_EQ(member(confirmed.body, "state"), "CANCELLED");
    EXPECT_EQ(member(ada.send("GET", "/api/v1/withdrawals").body, "items.0.reason"),
              "the token refuses payments to this address");
    EXPECT_EQ(balance(ada), "10000000");
}

}  // namespace
}  // namespace berth::test
