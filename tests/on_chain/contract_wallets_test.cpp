// Wallets that are contracts: linked when the contract on a real node calls the signature its own,
// and by nothing less.
#include <gtest/gtest.h>

#include "base/json_text.hpp"
#include "crypto/siwe.hpp"
#include "on_chain/money_town.hpp"

namespace berth::test {
namespace {

struct ContractWallets : ::testing::Test {
    void SetUp() override { ASSERT_EQ(ada.step_up("wallet").status, 200); }

    // A text for this wallet, with a fresh nonce of ada's session.
    std::string text(const crypto::Address& address) {
        const auto made = ada.send("POST", "/api/v1/wallets/nonce", "", town.town.harness.new_id());
        EXPECT_EQ(made.status, 201) << made.body;
        crypto::SiweMessage message;
        message.domain = "127.0.0.1:8080";
        message.address = address;
        message.uri = "http://127.0.0.1:8080";
        message.chain_id = EvmNode::chain_id;
        message.nonce = member(made.body, "nonce");
        message.issued_at = crypto::SiweTime::of(town.town.harness.clock.now());
        message.expiration_time =
            crypto::SiweTime::of(parse_rfc3339(member(made.body, "expires_at")).value_or(Time{}));
        return crypto::write_siwe(message).value();
    }
    http::Response link(const crypto::Address& address, const std::string& message,
                        const std::string& signature, const std::string& key = "") {
        return ada.send("POST", "/api/v1/wallets/link",
                        R"({"chain_id":8453,"address":")" + crypto::checksummed(address) +
                            R"(","siwe_message":)" + json_quoted(message) + R"(,"signature":)" +
                            json_quoted(signature) + "}",
                        key.empty() ? town.town.harness.new_id() : key);
    }
    void expect_refused(const http::Response& answer, const std::string& with) {
        EXPECT_EQ(answer.status, 403) << answer.body;
        EXPECT_EQ(error_code(answer), "AUTHORIZATION_INVALID");
        EXPECT_NE(error_message(answer).find(with), std::string::npos) << answer.body;
    }
    std::string wallets() { return ada.send("GET", "/api/v1/wallets").body; }

    MoneyTown town{std::make_unique<EvmNode>()};
    Browser ada = town.town.person("ada@example.org");
    const crypto::SigningKey owner = EvmNode::account(3);
    const crypto::SigningKey stranger = EvmNode::account(4);
    const crypto::Address wallet = town.node.deploy_wallet(owner.address());
};

TEST_F(ContractWallets, AreLinkedByTheirOwnWordAndPayInFromTheirAddress) {
    const std::string message = text(wallet);
    const std::string id = town.town.harness.new_id();
    const std::string signature = EvmNode::contract_signature(owner, message);
    const auto linked = link(wallet, message, signature, id);
    ASSERT_EQ(linked.status, 201) << linked.body;
    EXPECT_EQ(member(linked.body, "address"), crypto::checksummed(wallet));
    EXPECT_EQ(link(wallet, message, signature, id).body, linked.body)
        << "a repeat is told the same";
    expect_refused(link(wallet, message, signature), "used");

    const auto intent = ada.send("POST", "/api/v1/funding-intents",
                                 R"({"wallet_binding_id":")" + member(linked.body, "binding_id") +
                                     R"(","amount_micro":"500"})",
                                 town.town.harness.new_id());
    ASSERT_EQ(intent.status, 201) << intent.body;
    town.node.mint(town.node.usdc(), {wallet, Micro{500}});
    const auto paid = town.node.execute(owner, wallet, town.node.usdc(),
                                        chain::erc20_transfer({treasury_address(), Micro{500}}));
    town.node.finalize();
    const auto claimed =
        ada.send("POST", "/api/v1/funding-intents/" + member(intent.body, "intent_id") + "/claim",
                 R"({"tx_hash":")" + chain::to_string(paid.transaction) + R"(","log_index":)" +
                     std::to_string(paid.log_index) + "}",
                 town.town.harness.new_id());
    EXPECT_EQ(member(claimed.body, "state"), "CONFIRMED") << claimed.body;
    EXPECT_EQ(town.audit(), "sound");
}

TEST_F(ContractWallets, AreNotLinkedByAnybodyElsesSignature) {
    std::string message = text(wallet);
    expect_refused(link(wallet, message, EvmNode::contract_signature(stranger, message)),
                   "ERC-1271");
    expect_refused(link(wallet, message, EvmNode::contract_signature(owner, message)), "used");
    message = text(wallet);
    expect_refused(link(wallet, message, sign(owner, message)), "ERC-1271");
    message = text(wallet);
    expect_refused(link(wallet, message, EvmNode::contract_signature(owner, text(wallet))),
                   "ERC-1271");
    // Nor where no contract is, or one that judges nothing.
    for (const crypto::Address& address : {stranger.address(), town.node.usdc()}) {
        message = text(address);
        expect_refused(link(address, message, EvmNode::contract_signature(owner, message)),
                       "ERC-1271");
    }
    // One that is not deployed cannot be asked.
    std::string mark;
    for (int i = 0; i < 16; ++i) mark += "6492";
    message = text(wallet);
    expect_refused(link(wallet, message, EvmNode::contract_signature(owner, message) + mark),
                   "deployed");
    EXPECT_EQ(wallets(), R"({"items":[]})");
}

TEST_F(ContractWallets, WaitForTheChainWithoutLosingTheirNonce) {
    const std::string message = text(wallet);
    const std::string signature = EvmNode::contract_signature(owner, message);
    town.node.stop();
    const auto away = link(wallet, message, signature);
    EXPECT_EQ(away.status, 503) << away.body;
    EXPECT_EQ(wallets(), R"({"items":[]})");
    town.node.start();
    EXPECT_EQ(link(wallet, message, signature).status, 201);
}

TEST_F(ContractWallets, OnlyANonceOfTheSessionMakesAnybodyAskTheChain) {
    const std::string message = text(wallet);
    const std::string signature = EvmNode::contract_signature(owner, message);
    const auto key = crypto::SigningKey::make(town.town.harness.random);
    const std::string plain = text(key.address());
    town.node.stop();
    Browser eve = town.town.person("eve@example.org");
    ASSERT_EQ(eve.step_up("wallet").status, 200);
    const auto foreign = eve.send("POST", "/api/v1/wallets/link",
                                  R"({"chain_id":8453,"address":")" + crypto::checksummed(wallet) +
                                      R"(","siwe_message":)" + json_quoted(message) +
                                      R"(,"signature":)" + json_quoted(signature) + "}",
                                  town.town.harness.new_id());
    EXPECT_EQ(foreign.status, 403) << "the nonce is ada's, and nobody was asked: " << foreign.body;
    EXPECT_EQ(link(key.address(), plain, sign(key, plain)).status, 201)
        << "a wallet with a key needs no chain";
    town.node.start();
}

TEST_F(ContractWallets, AreNotRegisteredWith) {
    auto& harness = town.town.harness;
    const auto challenge =
        harness.ask({.method = "POST",
                     .target = "/api/v1/agents/accounts/challenge",
                     .body = R"({"address":")" + crypto::checksummed(wallet) + "\"}"});
    const std::string message = member(challenge.body, "message");
    const auto refused = harness.ask(
        {.method = "POST",
         .target = "/api/v1/agents/accounts",
         .body = town.town.registration(message, EvmNode::contract_signature(owner, message))});
    expect_refused(refused, "smart-contract");
}

}  // namespace
}  // namespace berth::test
