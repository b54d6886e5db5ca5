// A database that is older than the chain: the fixture of the tests about it.
#pragma once

#include <gtest/gtest.h>

#include "chain/json_rpc.hpp"
#include "on_chain/settlement.hpp"
#include "server/chain_commands.hpp"
#include "server/treasury_commands.hpp"
#include "transfers/reconcile.hpp"

namespace berth::test {

struct Behind : ::testing::Test {
    Behind() : Behind("") {}
    explicit Behind(const std::string& db, const MoneyTown::Flags& flags = {})
        : town(nullptr, db, flags) {
        town.fund(ada, 10'000'000);
    }

    std::string withdraw(std::int64_t amount) {
        const auto answer =
            town.post(ada, "/api/v1/withdrawals",
                      R"({"address":")" + crypto::checksummed(address_of(ada.wallet)) +
                          R"(","amount_micro":")" + std::to_string(amount) + "\"}");
        EXPECT_EQ(answer.status, 202) << answer.body;
        return member(answer.body, "withdrawal_id");
    }
    db::Database& database() { return town.town.harness.app->database(); }
    std::string state(const std::string& id) {
        return database().read([&](db::Transaction& tx) {
            const auto row = transfers::find_transfer(tx, {parse_uuid(id).value()});
            return row ? boost::describe::enum_to_string(row->state, "") : "gone";
        });
    }
    void settle() {
        town.look();
        town.node.mine();
        town.node.finalize();
        town.look();
    }
    Micro held() { return town.node.balance(town.node.usdc(), address_of(ada.wallet)); }
    // Sets the books back to before the transfer was signed, as an old copy would have them.
    void forget(const std::string& id) {
        const transfers::TransferId transfer{parse_uuid(id).value()};
        database().write([&](db::Transaction& tx) {
            const auto nonce = transfers::list_attempts(tx, transfer).at(0).nonce;
            tx.run("DELETE FROM transfer_attempts WHERE transfer_id = $1", transfer);
            tx.run(
                "UPDATE transfers SET state = 'INTENT', tx_hash = NULL, attempts = 0, "
                "signer = NULL, nonce = NULL, signed_at = NULL, sends = 0, send_at = 0 "
                "WHERE transfer_id = $1",
                transfer);
            tx.run("UPDATE treasury_nonces SET next_nonce = $1", nonce);
        });
    }
    // Somebody's tokens that no intent foresaw.
    std::string pay_in() {
        const auto came = town.pay(ada, 700);
        town.node.finalize();
        town.look();
        return chain::to_string(came.transaction) + ":0";
    }
    // As an operator orders it; what comes of it, or why it was refused.
    std::string order(server::TreasuryOrder order) {
        order.reason = "asked by its sender";
        ledger::Treasury paying = treasury;
        paying.pays = true;
        auto& harness = town.town.harness;
        try {
            return server::carry_out(order, {database(), paying, &chain, harness.clock,
                                             harness.random, *harness.app->settings().now()});
        } catch (const Problem& problem) {
            return std::string(code_name(problem.code));
        }
    }
    // The payment by which a deposit was sent back.
    std::string returned_by() {
        return database().read([](db::Transaction& tx) {
            return tx
                .fetch_value<std::string>("SELECT tx_hash FROM transfers WHERE kind = 'return'")
                .value();
        });
    }
    std::vector<transfers::Reconciliation> examine_all() {
        return transfers::Reconciler({treasury, chain, database()})
            .examine({treasury_address()}, std::nullopt);
    }
    transfers::Reconciliation examine() { return examine_all().front(); }
    void reconcile(const transfers::Reconciliation& found,
                   const std::optional<std::string>& why = std::nullopt) {
        database().write([&](db::Transaction& tx) {
            transfers::reconcile(tx, town.town.harness.clock.now(), {&found, 1}, why);
        });
    }

    // Ada's account, for a payment of the treasury.
    void freeze(std::int64_t nonce) {
        database().write([&](db::Transaction& tx) {
            transfers::freeze(tx, {treasury_address(), nonce}, {parse_uuid(ada.account).value()},
                              town.town.harness.clock.now());
        });
        EXPECT_TRUE(is_frozen());
    }
    bool is_frozen() {
        return database().read([&](db::Transaction& tx) {
            return transfers::is_frozen(tx, {parse_uuid(ada.account).value()});
        });
    }

    MoneyTown town;
    Client ada = town.client(1);
    http::CurlClient client;
    chain::JsonRpcChain chain{client, {.urls = {town.node.url()}, .chain_id = EvmNode::chain_id}};
    ledger::Treasury treasury{treasury_address(), {town.node.usdc(), town.node.usdt()}};
};
// The whole drill, with the commands an operator has: back up, go on, restore, reconcile.
struct SqliteOnlyDrill : Behind {
    explicit SqliteOnlyDrill(const MoneyTown::Flags& flags = {})
        : SqliteOnlyDrill(TestDatabase::sqlite(), flags) {}
    SqliteOnlyDrill(std::unique_ptr<TestDatabase> file, const MoneyTown::Flags& flags)
        : Behind(file->url(), flags), database_file(std::move(file)) {}
    ~SqliteOnlyDrill() override { town.stop(); }  // before its database goes

    const settings::Given& given() { return town.town.harness.given; }
    std::string copy() { return town.town.harness.folder.path() + "/copy"; }
    void restore() {
        town.stop();
        ASSERT_EQ(server::restore(given(), {.file = copy(), .replace = true}), 0);
    }
    // The server comes back, and pays out again, which a restore had paused.
    void resume() {
        town.start();
        town.town.harness.set("money.payouts_paused", "false");
    }
    // Another key of the treasury, with tokens and gas of its own. The server is down.
    crypto::Address rotate(char secret) {
        const std::string bytes(32, secret);
        const crypto::Address address = crypto::SigningKey::from_bytes(bytes)->address();
        const std::string folder = town.town.harness.folder.path() + "/secrets";
        std::filesystem::remove(folder + "/treasury.key");
        write_secret(folder, "treasury.key", to_hex(bytes));
        town.node.set_ether(address, 1'000'000'000'000'000'000);
        town.node.mint(town.node.usdc(), {address, Micro{1'000'000'000}});
        return address;
    }

    std::unique_ptr<TestDatabase> database_file;
};

}  // namespace berth::test
