// A database that is older than the chain: it must not pay what was paid.
#include <gtest/gtest.h>

#include "chain/transaction.hpp"
#include "on_chain/behind.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

using Reconciling = Behind;
using Resolving = Behind;

TEST_F(Reconciling, BooksBehindTheChainSignNothingUntilTheyWereReconciled) {
    const std::string id = withdraw(1'000'000);
    town.look();
    town.node.mine();
    town.node.finalize();
    const Micro paid = held();
    forget(id);
    for (int i = 0; i < 3; ++i) settle();
    EXPECT_EQ(state(id), "INTENT");
    EXPECT_EQ(held(), paid) << "it was paid once";
    const auto cancelled =
        town.town.with_key(ada.key, "POST", "/api/v1/withdrawals/" + id + "/cancel");
    EXPECT_EQ(cancelled.status, 503) << "its money has left: " << cancelled.body;
    EXPECT_NE(town.town.harness.ask({.target = "/readyz"}).body.find(R"("settler":"failed")"),
              std::string::npos);
    EXPECT_EQ(state(id), "INTENT");

    const auto found = examine();
    EXPECT_EQ(found.books_nonce, 0);
    EXPECT_EQ(found.chain_nonce, 1);
    ASSERT_EQ(found.findings.size(), 1U);
    EXPECT_EQ(found.findings[0].kind, transfers::Finding::Kind::adopt);
    EXPECT_EQ(to_string(found.findings[0].transfer->transfer_id), id);
    reconcile(found);
    EXPECT_EQ(state(id), "SUBMITTED");
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(held(), paid);
    EXPECT_EQ(town.audit(), "sound");
    // And the next one goes out as ever.
    const std::string next = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(next), "SETTLED");
    EXPECT_EQ(held(), paid + Micro{1'000'000});
    EXPECT_TRUE(examine().findings.empty());
}

TEST_F(Reconciling, WhatTheKeyDidBeforeTheFirstTransferIsNoneOfTheBooks) {
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    town.node.transfer(key, town.node.usdc(), {address_of(5), Micro{1}});
    town.node.finalize();
    settle();
    const std::string id = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Reconciling, WhatWaitsInThePoolStopsSigningToo) {
    const std::string id = withdraw(1'000'000);
    town.look();  // sent, and in no block
    forget(id);
    town.look();
    EXPECT_EQ(state(id), "INTENT");
    EXPECT_TRUE(examine().is_moving);
    EXPECT_THROW(reconcile(examine()), std::runtime_error);
    town.node.mine();
    town.node.finalize();
    reconcile(examine());
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Reconciling, WhatTheTreasurySentForNobodyNeedsAReason) {
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    town.node.transfer(key, town.node.usdc(), {address_of(5), Micro{1}});
    town.node.set_barred(town.node.usdc(), address_of(6), true);
    town.node.transfer(key, town.node.usdc(), {address_of(6), Micro{1}});  // is reverted
    town.node.finalize();
    const std::string id = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(id), "INTENT");
    const auto found = examine();
    ASSERT_EQ(found.findings.size(), 2U);
    for (const auto& finding : found.findings)
        EXPECT_EQ(finding.kind, transfers::Finding::Kind::foreign);
    EXPECT_THROW(reconcile(found), std::runtime_error);
    reconcile(found, "moved by hand");
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_TRUE(examine().findings.empty());
}

// Payments of a time before they carried their transfer's id.
TEST_F(Reconciling, AnOlderPaymentIsKnownByWhatItPaidIfThatIsOne) {
    const std::string id = withdraw(1'000'000);
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    town.node.transfer(key, town.node.usdc(), {address_of(1), Micro{1'000'000}});
    town.node.finalize();
    const auto found = examine();
    ASSERT_EQ(found.findings.size(), 1U);
    EXPECT_EQ(found.findings[0].kind, transfers::Finding::Kind::adopt);
    const std::string twin = withdraw(1'000'000);
    EXPECT_EQ(examine().findings.at(0).kind, transfers::Finding::Kind::foreign)
        << "two wait for the same: a person must say which";
    reconcile(found);
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(state(twin), "SETTLED");
}

TEST_F(Reconciling, AHoldStopsSigningAndReconcilingLiftsIt) {
    database().write([&](db::Transaction& tx) {
        transfers::add_hold({tx, town.town.harness.random, town.town.harness.clock.now()},
                            "restored");
    });
    const std::string id = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(id), "INTENT");
    EXPECT_EQ(examine().hold, "restored");
    reconcile(examine());
    settle();
    EXPECT_EQ(state(id), "SETTLED");
}

// Of two that wait for the same nobody knows which was paid, until one of them is over.
TEST_F(Reconciling, AFreezeEndsWithTheAdoptionOfItsPayment) {
    const std::string id = withdraw(1'000'000);
    const transfers::TransferId twin{parse_uuid(withdraw(1'000'000)).value()};
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    town.node.transfer(key, town.node.usdc(), {address_of(ada.wallet), Micro{1'000'000}});
    town.node.finalize();
    const auto unclear = examine_all();
    ASSERT_EQ(unclear.front().findings.at(0).kind, transfers::Finding::Kind::foreign);
    database().write([&](db::Transaction& tx) {
        const Time now = town.town.harness.clock.now();
        EXPECT_EQ(transfers::freeze_owners(tx, now, unclear).size(), 1U);
        using enum transfers::TransferState;
        EXPECT_TRUE(transfers::move_transfer({tx, town.town.harness.random, now}, twin,
                                             {INTENT, CANCELLED, "a test"}));
        ledger::give_back({tx, town.town.harness.random, now}, twin);
    });
    EXPECT_TRUE(is_frozen());
    reconcile(examine());
    EXPECT_FALSE(is_frozen());
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(Reconciling, WhatWasSignedBeforeIsNotOfTodaysCap) {
    const std::string id = withdraw(1'000'000);
    town.look();
    town.node.mine();
    town.node.finalize();
    forget(id);
    town.town.harness.clock.advance(std::chrono::hours(48));
    reconcile(examine());
    EXPECT_EQ(state(id), "SUBMITTED");
    const Time yesterday = town.town.harness.clock.now() - std::chrono::hours(24);
    database().read([&](db::Transaction& tx) {
        EXPECT_EQ(transfers::sum_signed(tx, std::nullopt, yesterday), Micro{});
        EXPECT_EQ(transfers::sum_signed(tx, std::nullopt, Time{}), Micro{1'000'000});
    });
}

TEST_F(Resolving, ANonceThatSomebodyElseUsedGivesTheMoneyBack) {
    const std::string id = withdraw(1'000'000);
    town.look();
    const auto hash = database().read([&](db::Transaction& tx) {
        return transfers::list_attempts(tx, {parse_uuid(id).value()}).at(0).tx_hash;
    });
    const transfers::Reconciler reconciler({treasury, chain, database()});
    EXPECT_THROW(reconciler.examine({parse_uuid(id).value()}), std::runtime_error) << "not used up";
    town.node.forget(hash);
    const auto key = *crypto::SigningKey::from_bytes(treasury_secret);
    town.node.transfer(key, town.node.usdc(), {address_of(5), Micro{1}});
    town.node.finalize();
    const auto found = reconciler.examine({parse_uuid(id).value()});
    EXPECT_EQ(found.kind, transfers::Finding::Kind::foreign);
    freeze(found.nonce);
    database().write([&](db::Transaction& tx) {
        transfers::resolve({tx, town.town.harness.random, town.town.harness.clock.now()},
                           {parse_uuid(id).value()}, found, "the key was used elsewhere");
    });
    EXPECT_EQ(state(id), "FAILED");
    EXPECT_FALSE(is_frozen()) << "it is decided";
    EXPECT_EQ(town.balance(ada), "10000000");
    EXPECT_EQ(town.audit(), "sound");
}

// The books lost the replacement that was mined: it is adopted, nothing is given back.
TEST_F(Resolving, ALostReplacementIsAdoptedAndSettles) {
    const std::string id = withdraw(1'000'000);
    for (int i = 0; i < 3; ++i) town.look();
    const transfers::TransferId transfer{parse_uuid(id).value()};
    database().write([&](db::Transaction& tx) {
        ASSERT_EQ(transfers::list_attempts(tx, transfer).size(), 2U);
        tx.run("DELETE FROM transfer_attempts WHERE attempt = 2");
        tx.run("UPDATE transfers SET attempts = 1");
    });
    town.node.mine();
    town.node.finalize();
    town.look();
    EXPECT_EQ(state(id), "SUBMITTED");
    const auto found = transfers::Reconciler({treasury, chain, database()}).examine(transfer);
    ASSERT_EQ(found.kind, transfers::Finding::Kind::adopt);
    freeze(found.nonce);
    database().write([&](db::Transaction& tx) {
        transfers::resolve({tx, town.town.harness.random, town.town.harness.clock.now()}, transfer,
                           found, "lost");
    });
    EXPECT_FALSE(is_frozen()) << "it is decided";
    town.look();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(SqliteOnlyDrill, ARestoredBackupPaysNothingTwice) {
    const settings::Given& given = town.town.harness.given;
    const std::string copy = town.town.harness.folder.path() + "/copy";

    const std::string deposit = pay_in();
    const std::string id = withdraw(1'000'000);
    ASSERT_EQ(server::back_up(given, copy), 0) << "beside the running server";
    EXPECT_THROW(server::back_up(given, copy), std::runtime_error) << "never over another copy";
    ASSERT_EQ(order({.verb = "return", .deposit = deposit}).substr(0, 6), "booked");
    settle();
    const std::string returned = returned_by();
    ASSERT_EQ(state(id), "SETTLED");
    const Micro paid = held();

    EXPECT_THROW(server::restore(given, {.file = copy, .replace = true}), db::Held)
        << "the server has it";
    town.stop();
    EXPECT_THROW(server::restore(given, {.file = copy}), std::runtime_error) << "it exists";
    ASSERT_EQ(server::restore(given, {.file = copy, .replace = true}), 0);
    town.start();
    EXPECT_EQ(state(id), "INTENT") << "as the copy has it";
    settle();
    EXPECT_EQ(state(id), "INTENT");
    EXPECT_EQ(held(), paid);
    EXPECT_EQ(order({.verb = "match", .deposit = deposit, .account = ada.account}), "UNAVAILABLE")
        << "the copy has it in suspense, and it went back since";
    EXPECT_EQ(order({.verb = "return", .deposit = deposit, .payment = returned}).substr(0, 6),
              "booked")
        << "before anybody may claim it again";
    EXPECT_EQ(order({.verb = "match", .deposit = deposit, .account = ada.account}), "UNAVAILABLE");

    town.stop();
    EXPECT_EQ(server::reconcile_chain(given, {}), 1) << "told, and nothing changed";
    EXPECT_EQ(server::reconcile_chain(given,
                                      {.apply = true, .foreign_why = "sent back after the backup"}),
              0);
    EXPECT_EQ(server::reconcile_chain(given, {}), 0) << "they agree";
    town.start();
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(held(), paid) << "paid once";
    EXPECT_EQ(town.audit(), "sound");
    const std::string next = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(next), "INTENT") << "payouts are paused until somebody says otherwise";
    town.town.harness.set("money.payouts_paused", "false");
    settle();
    EXPECT_EQ(state(next), "SETTLED");
    EXPECT_EQ(held(), paid + Micro{1'000'000});
    EXPECT_EQ(town.audit(), "sound");
}

// The same with PostgreSQL's own tools, as docs/operating.md says.
struct PostgresOnlyDrill : Behind {
    PostgresOnlyDrill() : PostgresOnlyDrill(std::make_unique<PostgresCluster>()) {}
    explicit PostgresOnlyDrill(std::unique_ptr<PostgresCluster> of)
        : Behind(of->url()), cluster(std::move(of)) {}
    ~PostgresOnlyDrill() override { town.stop(); }

    void run(const std::string& command) {
        const auto log = cluster->folder() / "drill.log";
        ASSERT_TRUE(cluster->run(command, log)) << read_text(log.string());
    }

    std::unique_ptr<PostgresCluster> cluster;
};

TEST_F(PostgresOnlyDrill, ARestoredBaseBackupPaysNothingTwice) {
    const settings::Given& given = town.town.harness.given;
    const std::string deposit = pay_in();
    const std::string id = withdraw(1'000'000);
    run("pg_basebackup --checkpoint=fast --wal-method=stream --pgdata=copy");
    ASSERT_EQ(order({.verb = "return", .deposit = deposit}).substr(0, 6), "booked");
    settle();
    const std::string returned = returned_by();
    ASSERT_EQ(state(id), "SETTLED");
    const std::string after_backup = withdraw(2'000'000);
    settle();
    const Micro paid = held();

    town.stop();
    cluster->stop(PostgresCluster::Stop::fast);
    std::filesystem::rename(cluster->folder() / "data", cluster->folder() / "replaced");
    std::filesystem::rename(cluster->folder() / "copy", cluster->folder() / "data");
    cluster->start();
    ASSERT_EQ(server::hold_settlement(given, "restored"), 0);
    town.start();
    EXPECT_EQ(state(id), "INTENT") << "as the copy has it";
    EXPECT_EQ(state(after_backup), "gone");
    settle();
    EXPECT_EQ(state(id), "INTENT");
    EXPECT_EQ(held(), paid);
    EXPECT_EQ(order({.verb = "match", .deposit = deposit, .account = ada.account}), "UNAVAILABLE")
        << "the copy has it in suspense, and it went back since";
    EXPECT_EQ(order({.verb = "return", .deposit = deposit, .payment = returned}).substr(0, 6),
              "booked")
        << "before anybody may claim it again";
    EXPECT_EQ(order({.verb = "match", .deposit = deposit, .account = ada.account}), "UNAVAILABLE");

    EXPECT_EQ(server::reconcile_chain(given, {}), 1) << "told, and nothing changed";
    EXPECT_THROW(server::reconcile_chain(given, {.apply = true}), std::exception)
        << "what the books do not have wants a word";
    EXPECT_EQ(server::reconcile_chain(given,
                                      {.apply = true, .foreign_why = "withdrawn after the backup"}),
              0);
    EXPECT_EQ(server::reconcile_chain(given, {}), 0) << "they agree";
    settle();
    EXPECT_EQ(state(id), "SETTLED");
    EXPECT_EQ(held(), paid) << "paid once";
    EXPECT_EQ(town.audit(), "sound");
    const std::string next = withdraw(1'000'000);
    settle();
    EXPECT_EQ(state(next), "SETTLED");
    EXPECT_EQ(held(), paid + Micro{1'000'000});
    EXPECT_EQ(town.audit(), "sound");
}

}  // namespace
}  // namespace berth::test
