// Linking wallets by a signed message: what binds, what does not, and what stays for ever.
#include <gtest/gtest.h>

#include <latch>

#include "base/json_text.hpp"
#include "crypto/siwe.hpp"
#include "support/told.hpp"
#include "support/town.hpp"
#include "wallets/wallets.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

class Wallets : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(ada.step_up("wallet").status, 200); }

    struct Nonce {
        std::string nonce;
        Time expires_at;
    };
    Nonce nonce(Browser& browser) {
        const auto response =
            browser.send("POST", "/api/v1/wallets/nonce", "", town.harness.new_id());
        EXPECT_EQ(response.status, 201) << response.body;
        return {member(response.body, "nonce"),
                parse_rfc3339(member(response.body, "expires_at")).value_or(Time{})};
    }
    crypto::SiweMessage message(const Nonce& with) {
        crypto::SiweMessage out;
        out.domain = "127.0.0.1:8080";
        out.address = wallet.address();
        out.uri = "http://127.0.0.1:8080";
        out.chain_id = 8453;
        out.nonce = with.nonce;
        out.issued_at = crypto::SiweTime::of(town.harness.clock.now());
        out.expiration_time = crypto::SiweTime::of(with.expires_at);
        return out;
    }
    std::string body(const std::string& text, const std::string& signature) {
        return R"({"chain_id":8453,"address":")" + crypto::checksummed(wallet.address()) +
               R"(","siwe_message":)" + json_quoted(text) + R"(,"signature":)" +
               json_quoted(signature) + "}";
    }
    http::Response send_link(Browser& browser, const std::string& body_text) {
        return browser.send("POST", "/api/v1/wallets/link", body_text, town.harness.new_id());
    }
    http::Response link(Browser& browser) {
        const std::string text = crypto::write_siwe(message(nonce(browser))).value();
        return send_link(browser, body(text, sign(wallet, text)));
    }
    http::Response unlink(Browser& browser, const std::string& id) {
        return browser.send("DELETE", "/api/v1/wallets/" + id, "", town.harness.new_id());
    }

    Town town;
    Browser ada = town.person("ada@example.org");
    crypto::SigningKey wallet = crypto::SigningKey::make(town.harness.random);
};

TEST_F(Wallets, ASignedMessageBindsTheWallet) {
    const auto linked = link(ada);
    ASSERT_EQ(linked.status, 201) << linked.body;
    EXPECT_EQ(member(linked.body, "address"), crypto::checksummed(wallet.address()));
    EXPECT_EQ(member(linked.body, "version"), "1");
    EXPECT_EQ(member(linked.body, "unlinked_at"), "null");
    EXPECT_EQ(ada.send("GET", "/api/v1/wallets").body, R"({"items":[)" + linked.body + "]}");
}

TEST_F(Wallets, TheWholeMessageIsWrittenForAWalletThatIsNamed) {
    const auto named = [&](const std::string& address) {
        return ada.send("POST", "/api/v1/wallets/nonce?address=" + address, "",
                        town.harness.new_id());
    };
    const auto made = named(crypto::to_string(wallet.address()));
    ASSERT_EQ(made.status, 201) << made.body;
    const auto read = wire::decode<wallets::WalletNonce>(made.body);
    ASSERT_TRUE(read.message.has_value());
    const auto text = crypto::parse_siwe(*read.message);
    ASSERT_TRUE(text.has_value()) << *read.message;
    EXPECT_EQ(text->nonce, read.nonce);
    EXPECT_NE(read.message->find(crypto::checksummed(wallet.address())), std::string::npos);
    const auto linked = send_link(ada, body(*read.message, sign(wallet, *read.message)));
    EXPECT_EQ(linked.status, 201) << linked.body;
    EXPECT_NE(send_link(ada, body(*read.message, sign(wallet, *read.message))).status, 201)
        << "a nonce is good once";

    const auto without = ada.send("POST", "/api/v1/wallets/nonce", "", town.harness.new_id());
    EXPECT_EQ(without.body.find("message"), std::string::npos) << without.body;
    for (const char* bad : {"0x12", "", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}) {
        const auto refused = named(bad);
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_NE(error_message(refused).find("query.address"), std::string::npos) << refused.body;
    }
}

TEST_F(Wallets, AreNotTriedWithoutEnd) {
    const std::string request = body("no message", "0x11");
    for (std::int64_t i = 0; i < wallets::links_per_ten_minutes; ++i)
        EXPECT_NE(send_link(ada, request).status, 429) << i;
    EXPECT_EQ(send_link(ada, request).status, 429);
    town.harness.clock.advance(11min);
    EXPECT_NE(send_link(ada, request).status, 429);
}

TEST_F(Wallets, LinkingOnesOwnActiveWalletAgainGivesTheSameBinding) {
    EXPECT_EQ(link(ada).body, link(ada).body);
}

TEST_F(Wallets, TheOwnerHearsOfLinkingAndUnlinkingByMail) {
    const auto newest = [&] { return town.mail_to("ada@example.org"); };
    const std::string id = member(link(ada).body, "binding_id");
    EXPECT_NE(newest().find("a wallet was linked"), std::string::npos) << newest();
    EXPECT_NE(newest().find(crypto::checksummed(wallet.address())), std::string::npos) << newest();
    const std::size_t mails = town.mails_to("ada@example.org").size();
    link(ada);
    EXPECT_EQ(town.mails_to("ada@example.org").size(), mails) << "nothing changed";
    unlink(ada, id);
    EXPECT_NE(newest().find("a wallet was unlinked"), std::string::npos) << newest();
    EXPECT_EQ(
        untold(town.harness.app->database(), {"account.link_wallet", "account.unlink_wallet"}), "");
}

TEST_F(Wallets, UnlinkingKeepsTheAddressReservedAndLinkingAgainCountsTheVersion) {
    const std::string id = member(link(ada).body, "binding_id");
    EXPECT_EQ(unlink(ada, id).status, 204);
    EXPECT_EQ(unlink(ada, id).status, 404);
    Browser eve = town.person("eve@example.org");
    eve.step_up("wallet");
    EXPECT_EQ(link(eve).status, 409);
    const auto again = link(ada);
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(member(again.body, "version"), "2");
    EXPECT_NE(member(ada.send("GET", "/api/v1/wallets").body, "items.0.unlinked_at"), "null");
}

TEST_F(Wallets, AWalletOfAnotherAccountIsAConflict) {
    link(ada);
    Browser eve = town.person("eve@example.org");
    eve.step_up("wallet");
    const auto response = link(eve);
    EXPECT_EQ(response.status, 409);
    EXPECT_EQ(error_code(response), "CONFLICT");
}

TEST_F(Wallets, ForeignBindingsCannotBeUnlinked) {
    const std::string id = member(link(ada).body, "binding_id");
    Browser eve = town.person("eve@example.org");
    eve.step_up("wallet");
    EXPECT_EQ(unlink(eve, id).status, 404);
}

TEST_F(Wallets, EveryWayAMessageCanBeWrongIsRefused) {
    const auto attempt = [&](const std::function<void(crypto::SiweMessage&)>& change) {
        crypto::SiweMessage altered = message(nonce(ada));
        change(altered);
        const std::string text = crypto::write_siwe(altered).value_or("not a message");
        return send_link(ada, body(text, sign(wallet, text)));
    };
    const Time now = town.harness.clock.now();
    const std::vector<std::pair<const char*, std::function<void(crypto::SiweMessage&)>>> rows{
        {"domain", [](auto& m) { m.domain = "evil.example"; }},
        {"uri", [](auto& m) { m.uri = "http://127.0.0.1:8080/other"; }},
        {"chain", [](auto& m) { m.chain_id = 1; }},
        {"nonce", [](auto& m) { m.nonce = "abcdefgh12345678"; }},
        {"address",
         [&](auto& m) { m.address = crypto::SigningKey::make(town.harness.random).address(); }},
        {"expired", [&](auto& m) { m.expiration_time = crypto::SiweTime::of(now - 1s); }},
        {"no end", [](auto& m) { m.expiration_time.reset(); }},
        {"longer than the nonce",
         [&](auto& m) { m.expiration_time = crypto::SiweTime::of(now + 1h); }},
        {"not yet", [&](auto& m) { m.not_before = crypto::SiweTime::of(now + 1min); }},
        {"from the future", [&](auto& m) { m.issued_at = crypto::SiweTime::of(now + 2min); }},
        {"from long ago", [&](auto& m) { m.issued_at = crypto::SiweTime::of(now - 2min); }}};
    for (const auto& [what, change] : rows) {
        const auto response = attempt(change);
        EXPECT_EQ(response.status, 403) << what;
        EXPECT_EQ(error_code(response), "AUTHORIZATION_INVALID") << what;
    }
    EXPECT_EQ(ada.send("GET", "/api/v1/wallets").body, R"({"items":[]})");
}

TEST_F(Wallets, BadSignaturesAreRefused) {
    for (const std::string& signature :
         {std::string("0x"), std::string("0x12"), "0x" + std::string(130, '0'),
          "0x" + std::string(132, '1'), "0x" + std::string(129, '1'), std::string("zz"),
          "0x" + std::string(64, '6') +
              "6492649264926492649264926492649264926492649264926492649264926492"}) {
        const std::string text = crypto::write_siwe(message(nonce(ada))).value();
        EXPECT_EQ(send_link(ada, body(text, signature)).status, 403) << signature;
    }
}

TEST_F(Wallets, ANonceIsSpentByAGoodProofAndByABadOne) {
    const std::string text = crypto::write_siwe(message(nonce(ada))).value();
    EXPECT_EQ(send_link(ada, body(text, "0x" + std::string(130, '1'))).status, 403);
    EXPECT_EQ(send_link(ada, body(text, sign(wallet, text))).status, 403);
}

TEST_F(Wallets, ANonceLastsFiveMinutes) {
    const std::string text = crypto::write_siwe(message(nonce(ada))).value();
    town.harness.clock.advance(4min + 30s);
    ada.step_up("wallet");
    town.harness.clock.advance(30s);
    EXPECT_EQ(send_link(ada, body(text, sign(wallet, text))).status, 403);
}

TEST_F(Wallets, ANonceBelongsToItsSession) {
    const std::string text = crypto::write_siwe(message(nonce(ada))).value();
    Browser other = town.person("ada@example.org");
    other.step_up("wallet");
    EXPECT_EQ(send_link(other, body(text, sign(wallet, text))).status, 403);
}

TEST_F(Wallets, OneOfManyRacingProofsSpendsTheNonce) {
    const std::string text = crypto::write_siwe(message(nonce(ada))).value();
    const std::string request = body(text, sign(wallet, text));
    constexpr int racers = 12;
    std::atomic<int> won{0};
    std::latch together(racers);
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            Browser copy = ada;
            together.arrive_and_wait();
            if (send_link(copy, request).status == 201) ++won;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
}

TEST_F(Wallets, OneAddressRacedForByTwoAccountsHasOneOwner) {
    Browser eve = town.person("eve@example.org");
    eve.step_up("wallet");
    std::atomic<int> won{0};
    std::latch together(2);
    const auto race = [&](Browser& browser) {
        const std::string text = crypto::write_siwe(message(nonce(browser))).value();
        const std::string request = body(text, sign(wallet, text));
        together.arrive_and_wait();
        if (send_link(browser, request).status == 201) ++won;
    };
    std::thread first([&] { race(ada); });
    std::thread second([&] { race(eve); });
    first.join();
    second.join();
    EXPECT_EQ(won, 1);
}

TEST_F(Wallets, BadInputNamesTheMember) {
    const std::string text = crypto::write_siwe(message(nonce(ada))).value();
    std::string address = crypto::checksummed(wallet.address());
    for (char& c : address) {  // one letter in the other case
        if (c >= 'a' && c <= 'f') {
            c = static_cast<char>(c - 32);
            break;
        }
    }
    const std::string wrong =
        R"({"chain_id":8453,"address":")" + address + R"(","siwe_message":"x","signature":"y"})";
    EXPECT_NE(error_message(send_link(ada, wrong)).find("body.address"), std::string::npos);
    const std::string chain = R"({"chain_id":1,"address":")" +
                              crypto::checksummed(wallet.address()) +
                              R"(","siwe_message":"x","signature":"y"})";
    EXPECT_NE(error_message(send_link(ada, chain)).find("body.chain_id"), std::string::npos);
}

}  // namespace
}  // namespace berth::test
