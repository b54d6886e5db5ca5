// Agents open accounts with a signature and nothing else.
#include <gtest/gtest.h>

#include <latch>

#include "accounts/accounts.hpp"
#include "base/json_text.hpp"
#include "crypto/siwe.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

const std::string session = "/api/v1/auth/session";

class Agents : public ::testing::Test {
protected:
    http::Response enlist_with(const std::string& message, const std::string& signature) {
        return town.harness.ask({.method = "POST",
                                 .target = "/api/v1/agents/accounts",
                                 .body = town.registration(message, signature)});
    }

    Town town;
    crypto::SigningKey wallet = crypto::SigningKey::make(town.harness.random);
};

TEST_F(Agents, RegisterAndUseTheirKey) {
    const auto response = town.enlist(wallet);
    ASSERT_EQ(response.status, 201) << response.body;
    EXPECT_EQ(member(response.body, "account_kind"), "agent");
    EXPECT_EQ(member(response.body, "created"), "true");
    EXPECT_EQ(member(response.body, "api_key.scopes"), R"(["renter"])");
    for (const std::string step : {"fund", "rent", "mcp"})
        EXPECT_TRUE(member(response.body, "next_steps." + step).starts_with("http")) << step;
    const std::string key = member(response.body, "api_key.secret");
    const auto me = town.with_key(key, "GET", session);
    EXPECT_EQ(me.status, 200);
    EXPECT_EQ(member(me.body, "account_kind"), "agent");
    EXPECT_EQ(member(me.body, "email"), "null");
    const auto wallets = town.with_key(key, "GET", "/api/v1/wallets");
    EXPECT_EQ(member(wallets.body, "items.0.address"), crypto::checksummed(wallet.address()));
}

TEST_F(Agents, TheirWalletIsASavedWithdrawalAddress) {
    town.enlist(wallet);
    const auto saved = town.harness.app->database().read([](db::Transaction& tx) {
        return tx.run("SELECT address, state FROM withdrawal_addresses");
    });
    ASSERT_EQ(saved.size(), 1U);
    EXPECT_EQ(saved[0].get<std::string>(0), crypto::to_string(wallet.address()));
    EXPECT_EQ(saved[0].get<std::string>(1), "SAVED");
}

TEST_F(Agents, RegisteringAgainGivesAnotherKeyForTheSameAccount) {
    const auto first = town.enlist(wallet);
    const auto second = town.enlist(wallet);
    EXPECT_EQ(second.status, 201);
    EXPECT_EQ(member(second.body, "created"), "false");
    EXPECT_EQ(member(first.body, "account_id"), member(second.body, "account_id"));
    EXPECT_NE(member(first.body, "api_key.secret"), member(second.body, "api_key.secret"));
    for (const auto& response : {first, second})
        EXPECT_EQ(town.with_key(member(response.body, "api_key.secret"), "GET", session).status,
                  200);
}

TEST_F(Agents, RegisteringAgainMayRevokeTheKeysBefore) {
    const auto key_in = [](const http::Response& response) {
        return member(response.body, "api_key.secret");
    };
    const std::string first = key_in(town.enlist(wallet));
    const std::string message = town.challenge(wallet);
    std::string body = town.registration(message, sign(wallet, message));
    body.insert(body.size() - 1, R"(,"revoke_previous":true)");
    const auto again =
        town.harness.ask({.method = "POST", .target = "/api/v1/agents/accounts", .body = body});
    ASSERT_EQ(again.status, 201) << again.body;
    EXPECT_EQ(town.with_key(first, "GET", session).status, 401);
    EXPECT_EQ(town.with_key(key_in(again), "GET", session).status, 200);
}

TEST_F(Agents, TheirKeysEndAfter400Days) {
    const auto registered = town.enlist(wallet);
    const std::string key = member(registered.body, "api_key.secret");
    EXPECT_EQ(member(registered.body, "api_key.expires_at"),
              to_rfc3339(town.harness.clock.now() + 24h * 400));
    town.harness.clock.advance(24h * 400 - 1s);
    EXPECT_EQ(town.with_key(key, "GET", session).status, 200);
    town.harness.clock.advance(1s);
    EXPECT_EQ(town.with_key(key, "GET", session).status, 401);
}

class AgentKeys : public Agents {
protected:
    http::Response make_key() {
        return town.with_key(key, "POST", keys, R"({"name":"second","scopes":["renter"]})");
    }

    const std::string keys = "/api/v1/account/api-keys";
    const std::string step_up = "/api/v1/account/step-up";
    const std::string key = member(town.enlist(wallet).body, "api_key.secret");
};

TEST_F(AgentKeys, AreListedMadeAndRevokedAfterASignedStepUp) {
    EXPECT_EQ(make_key().status, 403);
    const auto grant = town.step_up(wallet, key, "account-sensitive");
    ASSERT_EQ(grant.status, 200) << grant.body;
    EXPECT_EQ(member(grant.body, "csrf_token"), "null");
    town.harness.clock.advance(1s);  // the list is newest first
    const auto made = make_key();
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(member(made.body, "expires_at"), to_rfc3339(town.harness.clock.now() + 24h * 400));
    const auto list = town.with_key(key, "GET", keys);
    EXPECT_EQ(member(list.body, "items.0.key_id"), member(made.body, "key_id"));
    EXPECT_EQ(member(list.body, "items.1.name"), "agent registration");
    EXPECT_EQ(town.with_key(key, "DELETE", keys + "/" + member(made.body, "key_id")).status, 204);
    EXPECT_EQ(town.with_key(member(made.body, "secret"), "GET", session).status, 401);
    town.harness.clock.advance(5min);
    EXPECT_EQ(make_key().status, 403) << "the grant is over";
}

TEST_F(AgentKeys, AGrantBelongsToTheKeyThatAskedAndToItsPurpose) {
    const std::string other = member(town.enlist(wallet).body, "api_key.secret");
    const auto issued =
        town.with_key(key, "POST", step_up + "/challenge", R"({"purpose":"wallet"})");
    ASSERT_EQ(issued.status, 201) << issued.body;
    const std::string message = member(issued.body, "message");
    const auto give = [&](const std::string& with, const std::string& purpose) {
        return town.with_key(with, "POST", step_up,
                             R"({"purpose":")" + purpose + R"(","message":)" +
                                 json_quoted(message) + R"(,"signature":")" +
                                 sign(wallet, message) + "\"}");
    };
    EXPECT_EQ(error_code(give(other, "wallet")), "AUTHORIZATION_INVALID");
    EXPECT_EQ(error_code(give(key, "wallet")), "AUTHORIZATION_INVALID") << "spent by the first try";
    EXPECT_EQ(town.step_up(wallet, key, "wallet").status, 200);
    EXPECT_EQ(make_key().status, 403) << "that is another purpose";
    EXPECT_EQ(town.step_up(wallet, other, "account-sensitive").status, 200);
    EXPECT_EQ(make_key().status, 403) << "that is another key";
}

TEST_F(AgentKeys, AStepUpNeedsTheAgentsOwnWallet) {
    const auto stranger = crypto::SigningKey::make(town.harness.random);
    EXPECT_EQ(error_code(town.step_up(stranger, key, "account-sensitive")),
              "AUTHORIZATION_INVALID");
    EXPECT_EQ(make_key().status, 403);
    EXPECT_EQ(
        town.with_key(key, "POST", step_up, R"({"purpose":"account-sensitive","code":"123456"})")
            .status,
        403);
    EXPECT_EQ(town.with_key(key, "POST", step_up + "/challenge", R"({"purpose":"admin-sensitive"})")
                  .status,
              403);
}

TEST_F(AgentKeys, PeopleStepUpInASession) {
    Browser ada = town.person("ada@example.org");
    const std::string ada_key = town.key_of(ada);
    EXPECT_EQ(
        town.with_key(ada_key, "POST", step_up + "/challenge", R"({"purpose":"account-sensitive"})")
            .status,
        409);
    EXPECT_EQ(town.with_key(ada_key, "POST", step_up,
                            R"({"purpose":"account-sensitive","message":"m","signature":"s"})")
                  .status,
              403);
    EXPECT_EQ(ada.send("POST", step_up,
                       R"({"purpose":"account-sensitive","message":"m","signature":"s"})")
                  .status,
              403);
}

TEST_F(Agents, MayAskForTheHostScope) {
    const auto response = town.enlist(wallet, R"(["renter","host"])");
    const auto me = town.with_key(member(response.body, "api_key.secret"), "GET", session);
    EXPECT_EQ(member(me.body, "scopes"), R"(["renter","host"])");
    EXPECT_EQ(member(me.body, "host_capability"), "true");
}

TEST_F(Agents, DoNotGetBackAHostCapabilityThatWasTaken) {
    const auto first = town.enlist(wallet, R"(["host"])");
    town.harness.app->database().write([&](db::Transaction& tx) {
        accounts::set_host_capability(tx, {parse_uuid(member(first.body, "account_id")).value()},
                                      false);
    });
    const auto again = town.enlist(wallet, R"(["host"])");
    const auto me = town.with_key(member(again.body, "api_key.secret"), "GET", session);
    EXPECT_EQ(member(me.body, "host_capability"), "false");
    EXPECT_EQ(member(me.body, "scopes"), "[]");
}

TEST_F(Agents, TheChallengeIsAnEip4361MessageForTheirAddress) {
    const auto message = crypto::parse_siwe(town.challenge(wallet));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->address, wallet.address());
    EXPECT_EQ(message->domain, "127.0.0.1:8080");
    EXPECT_EQ(message->chain_id, 8453);
    EXPECT_EQ(message->expiration_time->time, town.harness.clock.now() + 5min);
}

TEST_F(Agents, AProofIsGoodOnceForFiveMinutesAndToTheByte) {
    const std::string used = town.challenge(wallet);
    EXPECT_EQ(enlist_with(used, sign(wallet, used)).status, 201);
    const auto replay = enlist_with(used, sign(wallet, used));
    EXPECT_EQ(replay.status, 403);
    EXPECT_EQ(error_code(replay), "AUTHORIZATION_INVALID");

    const std::string late = town.challenge(wallet);
    town.harness.clock.advance(5min);
    EXPECT_EQ(enlist_with(late, sign(wallet, late)).status, 403);

    std::string edited = town.challenge(wallet);
    edited.replace(edited.find("Register"), 8, "register");
    EXPECT_EQ(enlist_with(edited, sign(wallet, edited)).status, 403);

    std::string windows = town.challenge(wallet);
    for (std::size_t at = 0; (at = windows.find('\n', at)) != windows.npos; at += 2)
        windows.replace(at, 1, "\r\n");
    EXPECT_EQ(enlist_with(windows, sign(wallet, windows)).status, 403);
}

TEST_F(Agents, ABadProofSpendsTheChallenge) {
    const std::string message = town.challenge(wallet);
    const auto stranger = crypto::SigningKey::make(town.harness.random);
    EXPECT_EQ(enlist_with(message, sign(stranger, message)).status, 403);
    EXPECT_EQ(enlist_with(message, sign(wallet, message)).status, 403);
}

TEST_F(Agents, ASmartWalletIsToldSo) {
    const std::string message = town.challenge(wallet);
    std::string suffix;
    for (int i = 0; i < 16; ++i) suffix += "6492";
    const auto response = enlist_with(message, "0x" + std::string(200, '0') + suffix);
    EXPECT_EQ(response.status, 403);
    EXPECT_NE(error_message(response).find("smart"), std::string::npos) << error_message(response);
}

TEST_F(Agents, ADeployedSmartWalletIsToldSoToo) {
    for (const std::size_t digits : {132U, 192U, 260U}) {  // ERC-1271: any length, no mark
        const std::string message = town.challenge(wallet);
        const auto response = enlist_with(message, "0x" + std::string(digits, 'a'));
        EXPECT_EQ(response.status, 403);
        EXPECT_NE(error_message(response).find("ERC-1271"), std::string::npos)
            << error_message(response);
    }
    const std::string message = town.challenge(wallet);  // of its owner's key: 65 bytes
    const auto owner = crypto::SigningKey::make(town.harness.random);
    const auto response = enlist_with(message, sign(owner, message));
    EXPECT_NE(error_message(response).find("smart-contract"), std::string::npos)
        << error_message(response);
}

TEST_F(Agents, OneOfManyRacingProofsWins) {
    const std::string message = town.challenge(wallet);
    const std::string signature = sign(wallet, message);
    constexpr int racers = 12;
    std::atomic<int> won{0};
    std::latch together(racers);
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            together.arrive_and_wait();
            if (enlist_with(message, signature).status == 201) ++won;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
}

TEST_F(Agents, RacingRegistrationsOfOneWalletMakeOneAccount) {
    constexpr int racers = 8;
    std::vector<std::string> messages;
    for (int i = 0; i < racers; ++i) messages.push_back(town.challenge(wallet));
    std::vector<std::string> accounts(racers);
    std::latch together(racers);
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&, n = static_cast<std::size_t>(i)] {
            together.arrive_and_wait();
            accounts[n] =
                member(enlist_with(messages[n], sign(wallet, messages[n])).body, "account_id");
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(accounts[0].empty());
    for (const std::string& account : accounts) EXPECT_EQ(account, accounts[0]);
}

TEST_F(Agents, ASuspendedAgentIsRefused) {
    const auto first = town.enlist(wallet);
    town.suspend(member(first.body, "account_id"));
    EXPECT_EQ(town.with_key(member(first.body, "api_key.secret"), "GET", session).status, 401);
    const auto again = town.enlist(wallet);
    EXPECT_EQ(again.status, 403);
    EXPECT_EQ(error_code(again), "FORBIDDEN");
}

TEST_F(Agents, AWalletOfAPersonIsRefused) {
    Browser ada = town.person("ada@example.org");
    ada.step_up("wallet");
    const auto nonce = ada.send("POST", "/api/v1/wallets/nonce", "", town.harness.new_id());
    crypto::SiweMessage message;
    message.domain = "127.0.0.1:8080";
    message.address = wallet.address();
    message.uri = "http://127.0.0.1:8080";
    message.chain_id = 8453;
    message.nonce = member(nonce.body, "nonce");
    message.issued_at = crypto::SiweTime::of(town.harness.clock.now());
    message.expiration_time =
        crypto::SiweTime::of(parse_rfc3339(member(nonce.body, "expires_at")).value());
    const std::string text = crypto::write_siwe(message).value();
    ASSERT_EQ(ada.send("POST", "/api/v1/wallets/link",
                       R"({"chain_id":8453,"address":")" + crypto::checksummed(wallet.address()) +
                           R"(","siwe_message":)" + json_quoted(text) + R"(,"signature":")" +
                           sign(wallet, text) + "\"}",
                       town.harness.new_id())
                  .status,
              201);
    EXPECT_EQ(town.enlist(wallet).status, 403);
}

TEST_F(Agents, BadInputNamesTheMember) {
    const auto ask = [&](const std::string& target, const std::string& body) {
        return town.harness.ask({.method = "POST", .target = target, .body = body});
    };
    const std::string challenge = "/api/v1/agents/accounts/challenge";
    const std::string accounts = "/api/v1/agents/accounts";
    EXPECT_EQ(ask(challenge, R"({"address":"0x12"})").status, 422);
    EXPECT_EQ(ask(challenge, R"({"address":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"})").status,
              200);
    EXPECT_EQ(ask(challenge, R"({"address":"0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"})").status,
              422)
        << "a wrong mixed-case checksum";
    const auto empty =
        ask(accounts, R"({"message":"m","signature":"s","agent":{"name":"","vendor":"v"}})");
    EXPECT_EQ(empty.status, 422);
    EXPECT_NE(error_message(empty).find("body.agent.name"), std::string::npos);
    EXPECT_EQ(ask(accounts, R"({"message":"m","signature":"s","agent":{"name":"n","vendor":"v"}})")
                  .status,
              403);
}

}  // namespace
}  // namespace berth::test
