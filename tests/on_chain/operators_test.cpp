// The operator's own money against the chain, by routes and by commands; and what is owed against
// what the treasury has.
#include <gtest/gtest.h>

#include <fstream>

#include "accounts/accounts.hpp"
#include "on_chain/settlement.hpp"

namespace berth::test {
namespace {

struct Operators : Settlement {
    Operators() {
        town.look();
        town.earn(ada, 10'000);
    }
    // In the treasury before anybody looks: what earn() books as having come in.
    Micro fill() {
        town.node.mint(town.node.usdc(), {treasury_address(), Micro{10'000}});
        town.node.finalize();
        return town.node.balance(town.node.usdc(), treasury_address());
    }
    Browser admin() {
        auto& harness = town.town.harness;
        harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, harness.random, harness.clock.now()}, "root@example.org");
        });
        Browser browser = town.town.person("root@example.org");
        browser.enroll();
        EXPECT_EQ(browser.step_up("admin-sensitive").status, 200);
        return browser;
    }
    std::string send_by_hand(std::int64_t amount, const crypto::Address& to = address_of(6)) {
        const auto sent = town.node.transfer(*crypto::SigningKey::from_bytes(treasury_secret),
                                             town.node.usdc(), {to, Micro{amount}});
        town.node.finalize();
        return chain::to_string(sent.transaction);
    }
    http::Response book(const std::string& kind, std::int64_t amount, const std::string& hash) {
        return root.send("POST", "/api/v1/admin/treasury/movements",
                         R"({"kind":")" + kind + R"(","asset":"USDC","amount_micro":")" +
                             std::to_string(amount) + R"(","tx_hash":")" + hash +
                             R"(","reason":"as the minutes say"})",
                         town.town.harness.new_id());
    }
    Outcome berthd(std::vector<std::string> words) {
        words.insert(words.begin(), program_path("berthd"));
        for (const std::string& word :
             {std::string("--db"), town.town.harness.database.url(), std::string("--chain-rpc"),
              town.node.url(), std::string("--token-usdc"), crypto::to_string(town.node.usdc()),
              std::string("--token-usdt"), crypto::to_string(town.node.usdt()),
              std::string("--cold-addresses"), crypto::checksummed(cold_address()),
              std::string("--gas-addresses"), crypto::checksummed(gas_address())})
            words.push_back(word);
        return run_program(words);
    }
    void expect_covered() {
        const auto check = berthd({"check", "ledger", "--chain"});
        EXPECT_EQ(check.status, 0) << check.output;
        EXPECT_NE(check.output.find("(difference 0"), std::string::npos) << check.output;
    }

    MoneyTown town;
    const Micro at_first = fill();
    Client ada = town.client(1);
    Browser root = admin();
};

TEST_F(Operators, BookByRoutesWhatTheChainHas) {
    const std::string fees = send_by_hand(600);
    EXPECT_EQ(book("fee_take_out", 601, fees).status, 409) << "it moved something else";
    ASSERT_EQ(book("fee_take_out", 600, fees).status, 201);
    EXPECT_EQ(book("fee_take_out", 600, fees).status, 409) << "booked already";
    EXPECT_EQ(book("gas", 600, fees).status, 409) << "and not as something else";
    EXPECT_EQ(book("fee_take_out", 401, send_by_hand(401)).status, 409) << "more than the fees";
    const auto gas = book("gas", 100, send_by_hand(100));
    ASSERT_EQ(gas.status, 201) << gas.body;
    EXPECT_EQ(member(gas.body, "kind"), "gas");
    const auto friends = book("gas", 2, send_by_hand(2, address_of(5)));
    EXPECT_EQ(friends.status, 409) << "gas is bought in one place";
    EXPECT_NE(friends.body.find("not among gas_addresses"), std::string::npos) << friends.body;
    const auto much = book("gas", 301, send_by_hand(301));
    EXPECT_EQ(much.status, 409) << "600 and 100 of 1000 fees are gone";
    EXPECT_NE(much.body.find("fee income"), std::string::npos) << much.body;
    const auto foreign = book("to_cold", 1, send_by_hand(1));
    EXPECT_EQ(foreign.status, 409) << "it went to nobody we know";
    EXPECT_NE(foreign.body.find("not among cold_addresses"), std::string::npos) << foreign.body;
    ASSERT_EQ(book("to_cold", 300, send_by_hand(300, cold_address())).status, 201);
    EXPECT_EQ(book("gas", 5, "0x" + std::string(64, 'a')).status, 409) << "not on the chain";
    // Anybody can have a token say that nothing was moved.
    EXPECT_EQ(book("gas", 1, send_by_hand(0)).status, 409);

    const auto own =
        town.node.transfer(EvmNode::account(2), town.node.usdc(), {treasury_address(), Micro{0}});
    town.node.mint(town.node.usdc(), {address_of(2), Micro{401}});
    const auto came =
        town.node.transfer(EvmNode::account(2), town.node.usdc(), {treasury_address(), Micro{401}});
    town.node.finalize();
    town.look();
    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    EXPECT_EQ(book("top_up", 401, chain::to_string(own.transaction)).status, 409);
    EXPECT_EQ(book("top_up", 402, chain::to_string(came.transaction)).status, 409);
    ASSERT_EQ(book("top_up", 401, chain::to_string(came.transaction)).status, 201);
    EXPECT_EQ(book("top_up", 401, chain::to_string(came.transaction)).status, 409);
    EXPECT_EQ(town.audit(), "sound");
    const std::string audited = root.send("GET", "/api/v1/admin/audit?action=treasury_top_up").body;
    EXPECT_EQ(member(audited, "items.0.reason"), "as the minutes say");
    // What was taken out of the fees, and not booked because it was too much, is missed.
    const auto check = berthd({"check", "ledger", "--chain"});
    EXPECT_NE(check.output.find("(difference -705"), std::string::npos) << check.output;
}

TEST_F(Operators, BookByCommandsWhatTheChainHas) {
    const std::string fees = send_by_hand(600);
    const std::string gas = send_by_hand(100);
    const std::string cold = send_by_hand(300, cold_address());
    const std::string nothing = send_by_hand(0);
    const auto came = town.pay(ada, 70);
    const auto mistaken = town.pay(ada, 80);
    town.node.finalize();
    town.look();
    town.stop();
    const auto order = [&](const std::string& verb, const std::string& flag,
                           const std::string& value) {
        return berthd({"treasury", verb, flag, value, "--reason", "as the minutes say"});
    };
    EXPECT_EQ(order("fee-take-out", "--payment", fees).status, 0);
    EXPECT_EQ(order("gas", "--payment", gas).status, 0);
    EXPECT_EQ(order("to-cold", "--payment", cold).status, 0);
    const auto again = order("to-cold", "--payment", cold);
    EXPECT_NE(again.status, 0);
    EXPECT_NE(again.output.find("this payment is booked already"), std::string::npos)
        << again.output;
    const auto none = order("gas", "--payment", nothing);
    EXPECT_NE(none.output.find("takes nothing out of a treasury"), std::string::npos)
        << none.output;
    const auto list = berthd({"treasury", "suspense"});
    EXPECT_NE(list.output.find(chain::to_string(came.transaction) + ":0 USDC 70"),
              std::string::npos)
        << list.output;
    const std::string deposit = chain::to_string(came.transaction) + ":0";
    EXPECT_EQ(order("top-up", "--deposit", deposit).status, 0);
    const std::string sent_back = chain::to_string(mistaken.transaction) + ":0";
    EXPECT_EQ(order("return", "--deposit", sent_back).status, 0);
    EXPECT_NE(berthd({"treasury", "suspense"}).output.find("on its way back"), std::string::npos);
    EXPECT_EQ(order("cancel-return", "--deposit", sent_back).status, 0);
    EXPECT_EQ(order("return", "--deposit", sent_back).status, 0);
    EXPECT_NE(order("return", "--deposit", sent_back).status, 0);
    expect_covered();
    const auto audit = run_program(
        {program_path("berthd"), "check", "audit", "--db", town.town.harness.database.url()});
    EXPECT_EQ(audit.status, 0) << audit.output;
}

// What a customer does: keep the answer in a file, and ask nobody.
TEST_F(Operators, AProofOfLiabilitiesIsVerifiedOfflineAndBreaksWhenAnythingIsChanged) {
    const Client bea = town.client(2);
    town.fund(ada, 700);
    town.fund(bea, 41);
    town.town.harness.clock.advance(std::chrono::hours(1));
    town.look();
    const std::string proof = town.get(ada, "/api/v1/billing/proof").body;
    const std::string file = town.town.harness.folder.path() + "/proof";
    const auto verify = [&](const std::string& text) {
        std::ofstream(file) << text;
        return run_program({program_path("berthd"), "verify", "liabilities", file});
    };
    const auto good = verify(proof);
    EXPECT_EQ(good.status, 0) << good.output;
    EXPECT_NE(good.output.find("good: 9700 micro-USDC"), std::string::npos) << good.output;
    const auto changed = [&](const std::string& what, std::size_t at) {
        const std::string old = member(proof, what);
        std::string value = old;
        char& letter = value.at(at == std::string::npos ? value.size() - 1 : at);
        letter = letter == '1' ? '2' : '1';
        std::string text = proof;
        return text.replace(text.find('"' + old + '"') + 1, old.size(), value);
    };
    for (const std::string what :
         {"balance_micro", "total_micro", "root", "account_id", "parts.0.salt",
          "parts.1.amount_micro", "parts.0.path.0.hash", "parts.2.path.0.sum_micro"}) {
        const auto bad = verify(changed(what, std::string::npos));
        EXPECT_EQ(bad.status, 1) << what << bad.output;
        EXPECT_NE(bad.output.find("NOT GOOD"), std::string::npos) << what << bad.output;
    }
    // A reduced account: the same root cannot have been made of less.
    EXPECT_EQ(verify(changed("balance_micro", 0)).status, 1);
    EXPECT_NE(verify("{").status, 0);
    const std::string all = town.town.harness.ask({.target = "/api/v1/proof-of-liabilities"}).body;
    EXPECT_EQ(member(all, "items.0.root"), member(proof, "root"));
    EXPECT_EQ(member(all, "items.0.covered"), "true") << all;
    EXPECT_EQ(member(all, "items.0.treasury_micro"), "10741");
}

TEST_F(Operators, WhatIsInColdStorageAndInEarlierTreasuriesCoversWhatIsOwed) {
    ASSERT_EQ(book("to_cold", 8000, send_by_hand(8000, cold_address())).status, 201);
    const crypto::Address earlier = address_of(5);
    town.town.harness.app->database().write([&](db::Transaction& tx) {
        funding::watch(tx, {earlier, town.node.usdc(), ledger::Asset::usdc});
    });
    send_by_hand(500, earlier);
    const auto proved = [&] {
        town.town.harness.clock.advance(std::chrono::hours(1));
        town.look();
        return town.town.harness.ask({.target = "/api/v1/proof-of-liabilities"}).body;
    };
    const std::string all = proved();
    EXPECT_EQ(member(all, "items.0.treasury_micro"), "10000") << all;
    EXPECT_EQ(member(all, "items.0.covered"), "true");
    expect_covered();
    // Back again, and not booked yet.
    town.node.transfer(cold_key(), town.node.usdc(), {treasury_address(), Micro{7900}});
    town.node.finalize();
    EXPECT_EQ(member(proved(), "items.0.total_micro"), "9000");
    town.node.transfer(cold_key(), town.node.usdc(), {address_of(6), Micro{100}});
    town.node.transfer(*crypto::SigningKey::from_bytes(treasury_secret), town.node.usdc(),
                       {address_of(6), Micro{7900}});
    town.node.finalize();
    EXPECT_EQ(member(proved(), "items.0.covered"), "false");
    EXPECT_NE(berthd({"check", "ledger", "--chain"}).output.find("NOT COVERED"), std::string::npos);
}

TEST_F(Operators, TheStatusIsDegradedWhileTheTreasuryHasLessThanIsOwed) {
    const auto prove = [&] {
        town.town.harness.clock.advance(std::chrono::hours(1));
        town.look();
        return member(town.town.harness.ask({.target = "/api/v1/proof-of-liabilities"}).body,
                      "items.0.covered");
    };
    const auto shown = [&] {
        const std::string port = std::to_string(free_port());
        Process server(
            {program_path("berthd"), "serve", "--listen", "127.0.0.1:" + port, "--db",
             town.town.harness.database.url(), "--secrets",
             town.town.harness.folder.path() + "/secrets", "--worker-threads", "0", "--chain-rpc",
             town.node.url(), "--token-usdc", crypto::to_string(town.node.usdc()), "--token-usdt",
             crypto::to_string(town.node.usdt()), "--allow-unsafe", "undurable-db"},
            town.town.harness.folder.path() + "/log");
        EXPECT_TRUE(wait_until_ready(server, "http://127.0.0.1:" + port + "/readyz"));
        http::Outbound request;
        request.url = "http://127.0.0.1:" + port + "/api/v1/status";
        return http::CurlClient().send(request).body;
    };
    const std::string good = R"({"name":"liabilities","status":"operational"})";
    const std::string bad = R"({"name":"liabilities","status":"degraded"})";
    EXPECT_EQ(prove(), "true");
    town.stop();
    EXPECT_NE(shown().find(good), std::string::npos);
    town.start();
    send_by_hand(1001);  // all of the fees, and one of the customers'
    EXPECT_EQ(prove(), "false");
    town.stop();
    const std::string degraded = shown();
    EXPECT_NE(degraded.find(bad), std::string::npos) << degraded;
    EXPECT_EQ(member(degraded, "status"), "degraded");
    town.start();
    town.node.mint(town.node.usdc(), {treasury_address(), Micro{1}});
    town.node.finalize();
    town.look();
    EXPECT_EQ(prove(), "false") << "what came in is owed to whoever sent it";
    // A worker without the chain says nothing about the treasury, and hides nothing.
    const auto records = [&] {
        return town.town.harness.app->database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM liability_records").value();
        });
    };
    const auto made = records();
    town.stop();
    town.town.harness.given.erase("chain-access.chain_rpc");
    town.start();
    EXPECT_EQ(prove(), "false");
    EXPECT_EQ(records(), made);
}

}  // namespace
}  // namespace berth::test
