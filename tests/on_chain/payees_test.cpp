// Payees that a token will not pay, and tokens that pay nobody: no gas is burnt for either, and the
// first keep nobody else from their money.
#include <gtest/gtest.h>

#include "on_chain/settlement.hpp"
#include "settings/changes.hpp"
#include "support/told.hpp"
#include "transfers/payees.hpp"

namespace berth::test {
namespace {

struct Payees : Lies {
    Payees() { town.fund(bob, 1'000'000); }

    void bar(const Client& client, bool barred = true) {
        town.node.set_barred(town.node.usdc(), address_of(client.wallet), barred);
    }
    void mine() {
        town.node.mine();
        town.node.finalize();
    }
    http::Response ask(const Client& client, std::int64_t amount) {
        town.town.harness.clock.advance(std::chrono::milliseconds(2));  // ids go by the clock
        return town.post(client, "/api/v1/withdrawals",
                         R"({"address":")" + crypto::checksummed(address_of(client.wallet)) +
                             R"(","amount_micro":")" + std::to_string(amount) + "\"}");
    }
    bool is_held() {
        return town.town.harness.app->database().read(transfers::find_hold).has_value();
    }
    void set(const std::string& name, const std::string& value) {
        town.town.harness.set("money." + name, value);
    }
    static transfers::TransferId id_in(const http::Response& asked) {
        EXPECT_EQ(asked.status, 202) << asked.body;
        return {parse_uuid(member(asked.body, "withdrawal_id")).value()};
    }
    std::string state_of(transfers::TransferId id) {
        return town.town.harness.app->database().read([&](db::Transaction& tx) {
            return std::string(enum_name(transfers::find_transfer(tx, id).value().state));
        });
    }
    void hold(transfers::TransferId id) {
        const bool done = town.town.harness.app->database().write(
            [&](db::Transaction& tx) { return transfers::hold_back(tx, id, "looked at"); });
        EXPECT_TRUE(done);
    }
    void release(transfers::TransferId id) {
        const bool done = town.town.harness.app->database().write(
            [&](db::Transaction& tx) { return transfers::release_held(tx, id, std::nullopt); });
        EXPECT_TRUE(done);
    }
    // What a provider says that knows nothing of who is barred.
    void call_everything_good() {
        lying.trial_said = chain::Trial{chain::Trial::Status::succeeds, {}};
    }

    Client bob = town.client(2);
};

TEST_F(Payees, OneThatItsTokenRefusesCostsNoGasAndIsBarredInTheEnd) {
    bar(ada);
    withdraw(town, ada, 300);
    withdraw(town, bob, 400);
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(newest(town, ada, "waits_for"), "chain");
    EXPECT_EQ(newest(town, bob), "SUBMITTED") << "nobody else waits for it";
    mine();
    settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(newest(town, bob), "SETTLED");
    settle(key);
    EXPECT_EQ(newest(town, ada), "CANCELLED");
    EXPECT_EQ(newest(town, ada, "reason"), "the token refuses payments to this address");
    EXPECT_EQ(town.balance(ada), "1000000");
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    EXPECT_EQ(attempts(town), 1) << "of bob alone";
    EXPECT_EQ(town.audit(), "sound");

    const auto again = ask(ada, 300);
    EXPECT_EQ(again.status, 409) << again.body;
    EXPECT_NE(error_message(again).find("barred"), std::string::npos) << again.body;
    EXPECT_FALSE(is_held()) << "one payee stops nobody else's payments";
}

TEST_F(Payees, OneThatIsLookedAtOftenIsNotCountedOften) {
    bar(ada);
    withdraw(town, ada, 300);
    for (int look = 0; look < 10; ++look) settle(key, std::chrono::seconds(2));
    EXPECT_EQ(newest(town, ada), "INTENT") << "a short trouble of a node bars nobody";
    bar(ada, false);
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED");
    mine();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    const auto known = town.town.harness.app->database().read([](db::Transaction& tx) {
        return tx.run("SELECT COUNT(*) FROM refused_payees")[0].get<std::int64_t>(0);
    });
    EXPECT_EQ(known, 0) << "a payment that arrives forgets what was refused";
}

TEST_F(Payees, OperatorsSeeWhoIsBarredAndLiftIt) {
    bar(ada);
    withdraw(town, ada, 300);
    for (int look = 0; look < 3; ++look) settle(key);
    ASSERT_EQ(newest(town, ada), "CANCELLED");
    Browser root = town.admin("root@example.org");
    const auto list = root.send("GET", "/api/v1/admin/payees");
    EXPECT_EQ(member(list.body, "items.0.address"), crypto::checksummed(address_of(1)));
    EXPECT_EQ(member(list.body, "items.0.asset"), "USDC");
    EXPECT_EQ(member(list.body, "items.0.refusals"), "3");
    EXPECT_NE(member(list.body, "items.0.barred_at"), "null");
    const std::string lift =
        "/api/v1/admin/payees/" + member(list.body, "items.0.payee_id") + "/lift";
    const std::string reason = R"({"reason":"its issuer took it off"})";
    const std::string id = town.town.harness.new_id();
    const auto lifted = root.send("POST", lift, reason, id);
    ASSERT_EQ(lifted.status, 200) << lifted.body;
    EXPECT_EQ(root.send("POST", lift, reason, id).body, lifted.body) << "a repeat is told the same";
    EXPECT_EQ(root.send("POST", lift, reason, town.town.harness.new_id()).status, 404);
    EXPECT_EQ(member(root.send("GET", "/api/v1/admin/payees").body, "items.0.payee_id"), "");
    const auto events = root.send("GET", "/api/v1/admin/audit").body;
    EXPECT_EQ(member(events, "items.0.action"), "lift_payee") << events;
    EXPECT_EQ(member(events, "items.0.reason"), "its issuer took it off");
    EXPECT_NE(events.find("bar_payee"), std::string::npos) << events;
    bar(ada, false);
    ASSERT_EQ(ask(ada, 300).status, 202);
    settle(key);
    mine();
    settle(key);
    EXPECT_EQ(newest(town, ada), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

// Paused, or the treasury itself is barred: everything would be reverted.
TEST_F(Payees, ATokenThatPaysNobodyStopsSigningAndIsNobodysFault) {
    town.node.set_barred(town.node.usdc(), treasury_address(), true);
    withdraw(town, ada, 300);
    withdraw(town, bob, 400);
    for (int look = 0; look < 5; ++look) settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(newest(town, ada, "waits_for"), "chain");
    EXPECT_EQ(newest(town, bob), "INTENT");
    EXPECT_EQ(attempts(town), 0);
    const auto vitals = std::make_shared<transfers::SettlerVitals>();
    auto& harness = town.town.harness;
    const transfers::Settler settler({treasury, harness.app->settings(), key, lying,
                                      harness.app->database(), harness.clock, harness.random},
                                     vitals);
    const auto look = [&] { settler.run(); };
    look();
    EXPECT_EQ(vitals->stopped_by_token, 2) << "what the alert goes by";
    look();
    EXPECT_EQ(vitals->stopped_by_token, 1) << "one tells whether the token pays again";
    EXPECT_EQ(ask(ada, 100).status, 202) << "nobody was barred";
    town.node.set_barred(town.node.usdc(), treasury_address(), false);
    look();
    EXPECT_EQ(vitals->stopped_by_token, 0);
    look();
    EXPECT_EQ(newest(town, ada), "SUBMITTED") << "it goes on by itself";
    EXPECT_EQ(newest(town, bob), "SUBMITTED");
    mine();
    settle(key);
    EXPECT_EQ(town.balance(ada, "pending_micro"), "0");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Payees, RevertsOneAfterTheOtherHoldEverythingUntilAPersonHasLooked) {
    set("reverts_in_a_row_max", "2");
    bar(ada);
    bar(bob);
    call_everything_good();
    withdraw(town, ada, 300);
    withdraw(town, bob, 400);
    settle(key);
    EXPECT_EQ(attempts(town), 2) << "the trials said nothing";
    mine();
    settle(key);
    EXPECT_EQ(newest(town, ada), "FAILED");
    EXPECT_EQ(newest(town, bob), "FAILED");
    EXPECT_TRUE(is_held());
    EXPECT_EQ(untold(town.town.harness.app->database(), {"operations.settlement_held"}), "");
    EXPECT_EQ(town.balance(bob), "1000000") << "money of what was reverted is back";
    bar(bob, false);
    withdraw(town, bob, 400);
    settle(key);
    EXPECT_EQ(newest(town, bob), "INTENT");
    EXPECT_EQ(newest(town, bob, "waits_for"), "settlement_hold");
    EXPECT_EQ(attempts(town), 2);
    town.town.harness.app->database().write([&](db::Transaction& tx) {
        transfers::end_holds(tx, town.town.harness.clock.now(), "compared");
    });
    settle(key);
    EXPECT_EQ(newest(town, bob), "SUBMITTED");
    mine();
    settle(key);
    EXPECT_EQ(newest(town, bob), "SETTLED");
    EXPECT_FALSE(is_held());
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Payees, TheRevertsOfOneAddressHoldNobodyElse) {
    set("reverts_in_a_row_max", "2");
    bar(ada);
    call_everything_good();
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(ask(ada, 100).status, 202) << i;
        settle(key);
        mine();
        settle(key);
        EXPECT_EQ(newest(town, ada), "FAILED");
    }
    EXPECT_EQ(ask(ada, 100).status, 409) << "three in a row bar it";
    EXPECT_FALSE(is_held());
    withdraw(town, bob, 400);
    settle(key);
    EXPECT_EQ(newest(town, bob), "SUBMITTED");
}

// The trial says nothing here: the chain itself barred it, and no gas is burnt for what waited.
TEST_F(Payees, WhatWaitsForAnAddressThatTheChainRefusedIsCalledOffUnsigned) {
    set("payee_refusals_max", "1");
    bar(ada);
    call_everything_good();
    ASSERT_EQ(ask(ada, 100).status, 202);
    settle(key);
    ASSERT_EQ(attempts(town), 1);
    const auto second = id_in(ask(ada, 200));
    const auto third = id_in(ask(ada, 300));
    hold(second);
    hold(third);
    mine();
    settle(key);
    EXPECT_EQ(state_of(second), "INTENT");
    release(second);
    settle(key);
    EXPECT_EQ(state_of(second), "CANCELLED");
    EXPECT_EQ(state_of(third), "INTENT") << "what an operator holds back is nobody else's to end";
    EXPECT_EQ(newest(town, ada, "waits_for"), "settlement_hold");
    release(third);
    settle(key);
    EXPECT_EQ(state_of(third), "CANCELLED");
    EXPECT_EQ(attempts(town), 1);
    EXPECT_EQ(town.balance(ada), "1000000");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Payees, WhatIsHeldBackBeforeItIsTriedKeepsItsMoney) {
    set("payee_refusals_max", "1");
    bar(ada);
    const auto id = id_in(ask(ada, 300));
    lying.before_signing = [&] { hold(id); };
    settle(key);
    EXPECT_EQ(state_of(id), "INTENT");
    EXPECT_EQ(town.balance(ada), "999700") << "its owner does not ask for it anew elsewhere";
    EXPECT_EQ(attempts(town), 0);
}

TEST_F(Payees, WhatIsAskedForWhileATokenPaysNobodySaysWhatItWaitsFor) {
    town.node.set_barred(town.node.usdc(), treasury_address(), true);
    auto& harness = town.town.harness;
    const transfers::Settler settler({treasury, harness.app->settings(), key, lying,
                                      harness.app->database(), harness.clock, harness.random});
    ASSERT_EQ(ask(ada, 300).status, 202);
    settler.run();
    ASSERT_EQ(ask(bob, 400).status, 202);
    settler.run();
    EXPECT_EQ(newest(town, ada, "waits_for"), "chain");
    EXPECT_EQ(newest(town, bob, "waits_for"), "chain");
}

TEST_F(Payees, APauseBetweenChoosingAndSigningIsKept) {
    withdraw(town, ada, 300);
    lying.before_signing = [&] { set("payouts_paused", "true"); };
    settle(key);
    EXPECT_EQ(attempts(town), 0);
    EXPECT_EQ(newest(town, ada, "waits_for"), "payouts_paused");
}

// Another server has answered the operator, and this one reads its settings within a second.
TEST_F(Payees, APauseThatThisProcessHasNotTakenUpYetIsKept) {
    withdraw(town, ada, 300);
    auto& harness = town.town.harness;
    lying.before_signing = [&] {
        harness.app->database().write([&](db::Transaction& tx) {
            settings::change(harness.app->settings().registry(),
                             {tx, harness.random, harness.clock.now()},
                             {.key = "money.payouts_paused",
                              .value = "true",
                              .actor = audit::Actor::local_operator(),
                              .reason = "look"});
        });
    };
    settle(key);
    EXPECT_EQ(attempts(town), 0);
}

TEST_F(Payees, AHoldBetweenChoosingAndSigningIsKeptAndIsNoFault) {
    withdraw(town, ada, 300);
    auto& harness = town.town.harness;
    lying.before_signing = [&] {
        harness.app->database().write([&](db::Transaction& tx) {
            transfers::add_hold({tx, harness.random, harness.clock.now()}, "look");
        });
    };
    settle(key);
    EXPECT_EQ(attempts(town), 0);
    EXPECT_EQ(newest(town, ada, "waits_for"), "settlement_hold");
    EXPECT_FALSE(complained);
}

TEST_F(Payees, WhatTheProvidersDoNotAgreeOnIsNotSigned) {
    withdraw(town, ada, 300);
    lying.trial_said = chain::Trial{};
    for (int look = 0; look < 5; ++look) settle(key);
    EXPECT_EQ(newest(town, ada), "INTENT");
    EXPECT_EQ(newest(town, ada, "waits_for"), "chain");
    EXPECT_EQ(attempts(town), 0);
    lying.trial_said = {};
    settle(key);
    EXPECT_EQ(newest(town, ada), "SUBMITTED") << "nobody was barred by it";
}

// A token that answers false instead of reverting moves nothing either.
TEST_F(Payees, ATokenThatSaysNoWithoutRevertingIsBelieved) {
    withdraw(town, ada, 300);
    lying.trial_said = chain::Trial{chain::Trial::Status::succeeds, Bytes(32, '\0')};
    settle(key);
    EXPECT_EQ(attempts(town), 0);
    EXPECT_EQ(newest(town, ada), "INTENT");
}

}  // namespace
}  // namespace berth::test
