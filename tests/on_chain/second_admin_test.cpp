// What a command on the server's own machine does with money waits for a second admin as well,
// where four eyes are on.
#include <gtest/gtest.h>

#include "on_chain/behind.hpp"

namespace berth::test {
namespace {

const MoneyTown::Flags four_eyes_on{{"four-eyes", "on"}};

// What waits, and the decision of an admin.
struct Desk {
    explicit Desk(MoneyTown& of) : town(of) {}

    std::string waiting(const std::string& what) {
        const auto page = root.send("GET", "/api/v1/admin/pending-actions?state=waiting");
        EXPECT_EQ(page.status, 200) << page.body;
        return member(page.body, "items.0." + what);
    }
    http::Response confirm() {
        return root.send(
            "POST", "/api/v1/admin/pending-actions/" + waiting("pending_action_id") + "/confirm",
            R"({"reason":"looked at the evidence"})", town.town.harness.new_id());
    }

    MoneyTown& town;
    Browser root = town.admin("root@example.org");
};

struct SecondAdmin : Behind {
    SecondAdmin() : Behind("", four_eyes_on) {}

    std::string word(const std::string& sentence) { return sentence.substr(0, sentence.find(' ')); }
    std::string suspense() {
        const auto page = desk.root.send("GET", "/api/v1/admin/suspense");
        return member(page.body, "items.0.state");
    }

    Desk desk{town};
};

TEST_F(SecondAdmin, AMatchOfTheCommandLineWaits) {
    const std::string deposit = pay_in();
    const server::TreasuryOrder match{
        .verb = "match", .deposit = deposit, .account = ada.account, .evidence = {"a letter"}};
    EXPECT_EQ(word(order(match)), "waits");
    EXPECT_EQ(town.balance(ada), "10000000") << "nothing has happened";
    EXPECT_EQ(desk.waiting("action"), "match_suspense");
    EXPECT_EQ(desk.waiting("asked_by"), "null");
    const auto done = desk.confirm();
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(town.balance(ada), "10000700");
    EXPECT_EQ(suspense(), "") << "it is nobody's no more";
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(SecondAdmin, AReturnToItsSenderDoesNotWaitAndOneToAnotherAddressDoes) {
    const std::string deposit = pay_in();
    const std::string elsewhere = crypto::checksummed(address_of(8));
    EXPECT_EQ(order({.verb = "return", .deposit = deposit, .address = elsewhere}), "INVALID_INPUT")
        << "it wants evidence first";
    EXPECT_EQ(word(order({.verb = "return",
                          .deposit = deposit,
                          .address = elsewhere,
                          .evidence = {"the sender's letter"}})),
              "waits");
    EXPECT_EQ(suspense(), "SUSPENSE");
    ASSERT_EQ(desk.confirm().status, 200);
    EXPECT_EQ(suspense(), "RETURNING");
    const Micro before = town.node.balance(town.node.usdc(), address_of(8));
    settle();
    EXPECT_EQ(town.node.balance(town.node.usdc(), address_of(8)), before + Micro{700});
    const std::string own = pay_in();
    EXPECT_EQ(word(order({.verb = "return", .deposit = own})), "booked;");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(SecondAdmin, APaymentByHandToAnotherAddressWaitsWithWhatTheChainSaid) {
    const std::string deposit = pay_in();
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    const auto sent =
        town.node.transfer(key, town.node.usdc(), {address_of(8), Micro{700}}).transaction;
    town.node.finalize();
    EXPECT_EQ(word(order({.verb = "return",
                          .deposit = deposit,
                          .payment = chain::to_string(sent),
                          .evidence = {"the sender's letter"}})),
              "waits");
    EXPECT_EQ(suspense(), "SUSPENSE");
    const auto done = desk.confirm();
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(suspense(), "");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(SecondAdmin, AnUnclaimedTransferDoesNotBecomeTheOperatorsOwnAtOnce) {
    const std::string deposit = pay_in();
    EXPECT_EQ(word(order({.verb = "top-up", .deposit = deposit})), "waits");
    EXPECT_EQ(suspense(), "SUSPENSE");
    EXPECT_EQ(desk.waiting("action"), "top_up");
    ASSERT_EQ(desk.confirm().status, 200);
    EXPECT_EQ(suspense(), "");
    EXPECT_EQ(town.audit(), "sound");
}

struct SqliteOnlySecondAdmin : SqliteOnlyDrill {
    SqliteOnlySecondAdmin() : SqliteOnlyDrill(four_eyes_on) {}

    // A command goes by the machine's own clock, which is behind that of the test.
    void ask_now() {
        database().write([&](db::Transaction& tx) {
            tx.run("UPDATE pending_actions SET expires_at = $1",
                   town.town.harness.clock.now() + std::chrono::hours(24));
        });
    }
};

TEST_F(SqliteOnlySecondAdmin, TheAdoptionOfAPaymentWaitsAndItsAccountIsFrozenMeanwhile) {
    const Client eve = town.client(2);
    town.look();
    const std::int64_t first_block = chain.finalized_block();
    ASSERT_EQ(server::back_up(given(), copy()), 0);
    const std::string lost = withdraw(4'000'000);
    settle();
    restore();
    server::ReconcileOptions options{.apply = true,
                                     .from_block = first_block,
                                     .adopt = 0,
                                     .account = eve.account,
                                     .why = "it was withdrawn after the backup"};
    EXPECT_THROW(server::reconcile_chain(given(), options), std::exception)
        << "it is not her address, and nothing says why";
    options.account = ada.account;
    EXPECT_EQ(server::reconcile_chain(given(), options), 1) << "it waits";
    resume();
    ask_now();
    EXPECT_EQ(state(lost), "gone");
    EXPECT_EQ(town.balance(ada), "10000000");
    EXPECT_TRUE(is_frozen());
    Desk desk(town);
    EXPECT_EQ(desk.waiting("action"), "adopt_payment");
    const auto done = desk.confirm();
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "result.transfer_id"), lost);
    EXPECT_EQ(state(lost), "SETTLED");
    EXPECT_EQ(town.balance(ada), "6000000");
    EXPECT_FALSE(is_frozen());
    EXPECT_EQ(town.audit(), "sound");
    town.stop();
    EXPECT_EQ(server::reconcile_chain(given(), {.apply = true}), 0) << "nothing is left to explain";
}

}  // namespace
}  // namespace berth::test
