// A town with a chain: a real EVM node with two tokens, a treasury, and agents with wallets.
#pragma once

#include "accounts/accounts.hpp"
#include "funding/funding.hpp"
#include "funding/store.hpp"
#include "ledger/check.hpp"
#include "server/ledger_check.hpp"
#include "support/eventually.hpp"
#include "support/evm_node.hpp"
#include "support/fake_transport.hpp"
#include "support/town.hpp"
#include "transfers/returns.hpp"
#include "transfers/settler.hpp"

namespace berth::test {

inline const std::string treasury_secret(32, '\x11');
inline crypto::Address treasury_address() {
    return crypto::SigningKey::from_bytes(treasury_secret)->address();
}

// An agent's account and the wallet it has.
// Cold storage of every town.
inline crypto::SigningKey cold_key() { return EvmNode::account(7); }
inline crypto::Address cold_address() { return cold_key().address(); }

// Where every town buys gas.
inline crypto::Address gas_address() { return EvmNode::account(6).address(); }

struct Client {
    std::string key;
    std::string account;
    std::string binding;
    int wallet = 0;  // number of the node's account
};

class MoneyTown {
public:
    // With the node that all tests share, as it was at first; or with one of its own.
    MoneyTown() : MoneyTown(nullptr) {}
    using Flags = std::map<std::string, std::string>;  // beside those of every town
    explicit MoneyTown(std::unique_ptr<EvmNode> own, const std::string& db = "",
                       const Flags& flags = {})
        : own_(std::move(own)), node(own_ ? *own_ : shared_evm_node()), town(options(db, flags)) {
        node.set_ether(treasury_address(), 1'000'000'000'000'000'000);
        // The chain's clock and ours tell the same time to begin with.
        node.set_next_block_time(town.harness.clock.now());
    }

    // An agent whose wallet is one of the node's accounts, with a million of each token.
    Client client(int wallet, const std::string& scopes = R"(["renter","host"])") {
        const auto key = EvmNode::account(wallet);
        const auto made = town.enlist(key, scopes);
        EXPECT_EQ(made.status, 201) << made.body;
        Client client{member(made.body, "api_key.secret"), member(made.body, "account_id"), "",
                      wallet};
        client.binding = member(get(client, "/api/v1/wallets").body, "items.0.binding_id");
        for (const auto& token : {node.usdc(), node.usdt()})
            node.mint(token, {key.address(), Micro{1'000'000'000'000}});
        return client;
    }

    http::Response get(const Client& client, const std::string& target) {
        return town.with_key(client.key, "GET", target);
    }
    http::Response post(const Client& client, const std::string& target, const std::string& body,
                        const std::string& key = "") {
        return town.harness.ask({.method = "POST",
                                 .target = target,
                                 .as = client.key,
                                 .key = key.empty() ? town.harness.new_id() : key,
                                 .body = body});
    }

    std::string intent(const Client& client, std::int64_t amount, const std::string& query = "") {
        const auto made = post(client, "/api/v1/funding-intents" + query,
                               R"({"wallet_binding_id":")" + client.binding +
                                   R"(","amount_micro":")" + std::to_string(amount) + "\"}");
        EXPECT_EQ(made.status, 201) << made.body;
        return member(made.body, "intent_id");
    }
    EvmNode::Mined pay(const Client& client, std::int64_t amount) {
        return node.transfer(EvmNode::account(client.wallet), node.usdc(),
                             {treasury_address(), Micro{amount}});
    }
    http::Response claim(const Client& client, const std::string& intent,
                         const EvmNode::Mined& transfer, const std::string& key = "") {
        return post(client, "/api/v1/funding-intents/" + intent + "/claim",
                    R"({"tx_hash":")" + chain::to_string(transfer.transaction) +
                        R"(","log_index":)" + std::to_string(transfer.log_index) + "}",
                    key);
    }
    // An intent, its transfer, finality, and the claim.
    void fund(const Client& client, std::int64_t amount) {
        const std::string id = intent(client, amount);
        const auto transfer = pay(client, amount);
        node.finalize();
        http::Response claimed;
        EXPECT_TRUE(support::eventually(
            [&] {  // a node under load may not answer in time
                claimed = claim(client, id, transfer);
                return claimed.status != 503;
            },
            {std::chrono::minutes(1), std::chrono::seconds(1)}));
        EXPECT_EQ(member(claimed.body, "state"), "CONFIRMED") << claimed.body;
    }
    // Earnings as a rental would post them.
    void earn(const Client& host, std::int64_t charge) {
        auto& harness = town.harness;
        harness.app->database().write([&](db::Transaction& tx) {
            const ledger::Context context{tx, harness.random, harness.clock.now()};
            const auto renter = AccountId::make(context.now, context.random);
            const auto job = JobId::make(context.now, context.random);
            chain::Transfer came;
            came.amount = Micro{charge};
            std::copy_n(job.uuid.bytes.begin(), 16, came.transaction.bytes.begin());
            funding::IntentRow intent;
            intent.intent_id = {job.uuid};
            intent.account_id = renter;
            intent.amount = Micro{charge};
            intent.created_at = context.now;
            intent.expires_at = context.now + std::chrono::hours(1);
            came.block_time = context.now;
            funding::add_intent(tx, intent);
            funding::book(context, transfers::PaymentsForFunding{}, intent, came);
            ledger::hold(context, {job,
                                   renter,
                                   {parse_uuid(host.account).value()},
                                   MachineId::make(context.now, context.random),
                                   ledger::Asset::usdc,
                                   Micro{charge},
                                   Micro{3'600'000},
                                   1000});
            ledger::capture(context, job, {Micro{charge}, charge});
            ledger::release(context, job);
        });
    }

    std::string state(const Client& client, const std::string& intent) {
        return member(get(client, "/api/v1/funding-intents/" + intent).body, "state");
    }
    std::string balance(const Client& client, const std::string& which = "spendable_micro",
                        const std::string& query = "") {
        return member(get(client, "/api/v1/billing" + query).body, which);
    }

    // The server goes away, and comes back on whatever its database is then.
    void stop() { town.harness.app.reset(); }
    void start() {
        server::Overrides overrides;
        auto transport = std::make_unique<FakeTransport>();
        town.transport = transport.get();
        overrides.transport = std::move(transport);
        town.harness.app = std::make_unique<server::App>(town.harness.given, town.harness.clock,
                                                         town.harness.random, std::move(overrides));
    }

    // Lets the background look at the chain once more.
    void look() {
        town.harness.clock.advance(std::chrono::seconds(61));
        town.run_tasks();
    }
    // An operator whose proof is fresh.
    Browser admin(const std::string& email) {
        auto& harness = town.harness;
        harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, harness.random, harness.clock.now()}, email);
        });
        Browser browser = town.person(email);
        browser.enroll();
        EXPECT_EQ(browser.step_up("admin-sensitive").status, 200);
        return browser;
    }
    std::string audit() {
        return town.harness.app->database().read([](db::Transaction& tx) {
            ledger::CheckOptions options;
            options.witnesses = server::witnesses();
            const ledger::Report report = ledger::check_ledger(tx, options);
            return report.sound() ? "sound" : to_text(report);
        });
    }

private:
    std::unique_ptr<EvmNode> own_;

public:
    EvmNode& node;
    Town town;

private:
    Harness::Options options(const std::string& db, const Flags& flags) {
        Harness::Options options;
        options.db = db;
        options.flags = flags;
        options.flags["allow-unsafe"] = "undurable-db";
        options.flags["chain-rpc"] = node.url();
        options.flags["token-usdc"] = crypto::to_string(node.usdc());
        options.flags["token-usdt"] = crypto::to_string(node.usdt());
        options.flags["gas-addresses"] = crypto::checksummed(gas_address());
        options.flags["cold-addresses"] = crypto::checksummed(cold_address());
        options.treasury_key = to_hex(treasury_secret);
        return options;
    }
};

}  // namespace berth::test
