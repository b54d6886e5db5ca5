// API keys, and the tokens left for other services.
#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "accounts/paths.hpp"
#include "accounts/store.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "support/process.hpp"
#include "support/told.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

const std::string keys = "/api/v1/account/api-keys";
const std::string hub = "/api/v1/account/integrations/huggingface";

class ApiKeys : public ::testing::Test {
protected:
    http::Response create(const std::string& body) {
        return ada.send("POST", keys, body, town.harness.new_id());
    }

    Town town;
    Browser ada = town.person("ada@example.org");
};

TEST_F(ApiKeys, ShowTheirSecretOnceAndWork) {
    ada.step_up("account-sensitive");
    const std::string key = town.harness.new_id();
    const std::string body = R"({"name":"ci","scopes":["renter"]})";
    const auto made = ada.send("POST", keys, body, key);
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string secret = member(made.body, "secret");
    EXPECT_TRUE(secret.starts_with("ark_"));
    EXPECT_EQ(member(made.body, "prefix"), secret.substr(0, 12));
    EXPECT_EQ(member(ada.send("POST", keys, body, key).body, "secret"), "null");
    const auto me = town.with_key(secret, "GET", session);
    EXPECT_EQ(me.status, 200);
    EXPECT_EQ(member(me.body, "credential"), "api_key");
    EXPECT_EQ(member(me.body, "scopes"), R"(["renter"])");
    EXPECT_EQ(ada.send("GET", keys).body.find(secret), std::string::npos);
}

TEST_F(ApiKeys, NeedASessionAndAStepUp) {
    EXPECT_EQ(create(R"({"name":"x","scopes":["renter"]})").status, 403);
    const std::string key = town.key_of(ada);
    EXPECT_EQ(town.with_key(key, "POST", keys, R"({"name":"x","scopes":["renter"]})").status, 403);
}

TEST_F(ApiKeys, BadInputNamesTheMember) {
    ada.step_up("account-sensitive");
    const std::string soon = to_rfc3339(town.harness.clock.now() + 1h);
    const std::string past = to_rfc3339(town.harness.clock.now());
    const std::string far = to_rfc3339(town.harness.clock.now() + 24h * 401);
    const std::vector<std::pair<std::string, std::string>> rows{
        {R"({"name":"","scopes":["renter"]})", "body.name"},
        {R"({"name":")" + std::string(61, 'x') + R"(","scopes":["renter"]})", "body.name"},
        {R"({"name":"x","scopes":[]})", "body.scopes"},
        {R"({"name":"x","scopes":["admin"]})", "body.scopes[0]"},
        {R"({"name":"x","scopes":["host","host"]})", "body.scopes"},
        {R"({"name":"x","scopes":["host"],"expires_at":")" + past + "\"}", "body.expires_at"},
        {R"({"name":"x","scopes":["host"],"expires_at":")" + far + "\"}", "body.expires_at"}};
    for (const auto& [body, place] : rows) {
        const auto response = create(body);
        EXPECT_EQ(response.status, 422) << body;
        EXPECT_NE(error_message(response).find(place), std::string::npos)
            << error_message(response);
    }
    EXPECT_EQ(create(R"({"name":"x","scopes":["host"],"expires_at":")" + soon + "\"}").status, 201);
}

TEST_F(ApiKeys, TheOwnerHearsOfThemByMail) {
    const auto newest = [&] { return town.mail_to("ada@example.org"); };
    const std::string prefix = town.key_of(ada).substr(0, 12);
    EXPECT_NE(newest().find("an API key was made"), std::string::npos) << newest();
    EXPECT_NE(newest().find(prefix), std::string::npos) << newest();
    const std::string id = member(ada.send("GET", keys).body, "items.0.key_id");
    ada.send("DELETE", keys + "/" + id, "", town.harness.new_id());
    EXPECT_NE(newest().find("an API key was revoked"), std::string::npos) << newest();
    EXPECT_NE(newest().find(prefix), std::string::npos) << newest();
}

TEST_F(ApiKeys, Expire) {
    ada.step_up("account-sensitive");
    const auto made = create(R"({"name":"x","scopes":["renter"],"expires_at":")" +
                             to_rfc3339(town.harness.clock.now() + 1h) + "\"}");
    const std::string secret = member(made.body, "secret");
    EXPECT_EQ(town.with_key(secret, "GET", session).status, 200);
    town.harness.clock.advance(1h);
    EXPECT_EQ(town.with_key(secret, "GET", session).status, 401);
}

TEST_F(ApiKeys, AreRevokedWithAStepUpAndAtOnce) {
    const std::string secret = town.key_of(ada);
    const std::string id = member(ada.send("GET", keys).body, "items.0.key_id");
    Browser eve = town.person("eve@example.org");
    eve.step_up("account-sensitive");
    EXPECT_EQ(eve.send("DELETE", keys + "/" + id, "", town.harness.new_id()).status, 404);
    Browser without = town.person("ada@example.org");
    EXPECT_EQ(without.send("DELETE", keys + "/" + id, "", town.harness.new_id()).status, 403);
    EXPECT_EQ(without.send("DELETE", keys + "/" + town.harness.new_id(), "", town.harness.new_id())
                  .status,
              404)
        << "what is not there is told before the step-up";
    EXPECT_EQ(ada.send("DELETE", keys + "/" + id, "", town.harness.new_id()).status, 204);
    EXPECT_EQ(town.with_key(secret, "GET", session).status, 401);
    EXPECT_EQ(ada.send("GET", keys).body, R"({"items":[],"next_cursor":null})");
    EXPECT_EQ(
        untold(town.harness.app->database(), {"account.make_api_key", "account.revoke_api_key"}),
        "");
}

TEST_F(ApiKeys, FollowTheirAccountFromTheNextRequestOn) {
    const std::string secret = town.key_of(ada, R"(["renter","host"])");
    const std::string account = member(ada.send("GET", session).body, "account_id");
    const auto scopes = [&] {
        return member(town.with_key(secret, "GET", session).body, "scopes");
    };
    const auto let_host = [&](bool enabled) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            accounts::set_host_capability(tx, {parse_uuid(account).value()}, enabled);
        });
    };
    let_host(true);
    EXPECT_EQ(scopes(), R"(["renter","host"])");
    let_host(false);
    EXPECT_EQ(scopes(), R"(["renter"])");
    town.suspend(account);
    EXPECT_EQ(town.with_key(secret, "GET", session).status, 401);
    town.suspend(account, false);
    EXPECT_EQ(scopes(), R"(["renter"])");
}

TEST_F(ApiKeys, AreFoundByTheWholeHash) {
    const std::string secret = town.key_of(ada);
    const Bytes hash = crypto::sha256(secret);
    town.harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_TRUE(accounts::find_key(tx, hash));
        for (std::size_t i = 0; i < hash.size(); ++i) {
            Bytes other = hash;
            other[i] = static_cast<char>(other[i] ^ 1);
            EXPECT_FALSE(accounts::find_key(tx, other)) << i;
        }
    });
}

TEST_F(ApiKeys, ShowWhenTheyWereLastUsed) {
    const std::string secret = town.key_of(ada);
    EXPECT_EQ(member(ada.send("GET", keys).body, "items.0.last_used_at"), "null");
    town.with_key(secret, "GET", session);
    EXPECT_EQ(member(ada.send("GET", keys).body, "items.0.last_used_at"),
              to_rfc3339(town.harness.clock.now()));
}

TEST_F(ApiKeys, MadeUpOnesAreRefused) {
    const std::string secret = town.key_of(ada);
    std::string other = secret;
    other[20] = other[20] == 'a' ? 'b' : 'a';
    for (const std::string& guess : {other, std::string("ark_"), std::string("x"), secret + "0",
                                     secret.substr(0, secret.size() - 1), " " + secret})
        EXPECT_EQ(town.with_key(guess, "GET", session).status, 401) << guess;
    http::Request twice = make_request({.target = session, .as = secret});
    twice.headers.add("Authorization", "Bearer " + secret);
    EXPECT_EQ(town.harness.app->service().answer(twice).status, 401);
}

TEST_F(ApiKeys, AHeadWithoutTheFormOfACredentialNeedsNoBody) {
    const auto limit = [&](const http::Request& head) {
        return town.harness.app->service().body_bytes_max(head);
    };
    const Ask ask{.method = "POST", .target = "/api/v1/account/api-keys"};
    EXPECT_EQ(limit(make_request(ask)), 0u);
    http::Request basic = make_request(ask);
    basic.headers.add("Authorization", "Basic YTpi");
    EXPECT_EQ(limit(basic), 0u);
    http::Request with_key = make_request(ask);
    with_key.headers.add("Authorization", "Bearer " + town.key_of(ada));
    EXPECT_GT(limit(with_key), 0u);
    with_key.headers.add("Authorization", "Bearer " + town.key_of(ada));
    EXPECT_EQ(limit(with_key), 0u);
    http::Request with_cookie = make_request(ask);
    with_cookie.headers.add("Cookie", ada.cookie);
    EXPECT_GT(limit(with_cookie), 0u);
}

TEST_F(ApiKeys, ARefusalSaysWhatIsWrongWithTheCredential) {
    const auto said = [&](const std::string& authorization) {
        http::Request request = make_request({.target = session});
        if (!authorization.empty()) request.headers.add("Authorization", authorization);
        return error_message(town.harness.app->service().answer(request));
    };
    EXPECT_NE(said("").find("a credential is required"), std::string::npos);
    EXPECT_NE(said("Basic YTpi").find("must be Bearer and an API key"), std::string::npos);
    EXPECT_NE(said("Bearer password").find("must be Bearer and an API key"), std::string::npos);
    const std::string other = crypto::make_token(issued::api_key, town.harness.random);
    EXPECT_NE(said("Bearer " + other).find("unknown, or has ended"), std::string::npos);
    http::Request ended = make_request({.target = session});
    ended.headers.add("Cookie", ada.cookie + "x");
    EXPECT_NE(error_message(town.harness.app->service().answer(ended)).find("session has ended"),
              std::string::npos);
}

TEST_F(ApiKeys, TheSchemeIsTakenInAnyCase) {
    const std::string secret = town.key_of(ada);
    for (const char* scheme : {"bearer ", "BEARER "}) {
        http::Request request = make_request({.target = session});
        request.headers.add("Authorization", scheme + secret);
        EXPECT_EQ(town.harness.app->service().answer(request).status, 200) << scheme;
    }
}

TEST_F(ApiKeys, ARefusalSaysWhichCredentialIsWanted) {
    const auto anonymous = town.harness.ask({.target = session});
    EXPECT_EQ(anonymous.status, 401);
    EXPECT_EQ(anonymous.headers.find("WWW-Authenticate"), "Bearer");
    const std::string secret = town.key_of(ada);
    for (const auto& [method, target, body] :
         std::vector<std::tuple<std::string, std::string, std::string>>{
             {"POST", "/api/v1/account/mfa/totp", ""},
             {"POST", keys, R"({"name":"x","scopes":["renter"]})"},
             {"DELETE", keys + "/" + town.harness.new_id(), ""}}) {
        const auto refused = town.with_key(secret, method, target, body);
        EXPECT_EQ(refused.status, 403) << target;
        EXPECT_TRUE(error_message(refused).starts_with("a session is needed")) << refused.body;
    }
    const auto host = town.with_key(secret, "GET", "/api/v1/hosts/payouts");
    EXPECT_NE(error_message(host).find("scope host"), std::string::npos) << host.body;
}

TEST_F(ApiKeys, AKeyIsAskedBeforeACookie) {
    http::Request request = make_request({.target = session, .as = "ark_nonsense"});
    request.headers.add("Cookie", ada.cookie);
    request.headers.add("User-Agent", ada.user_agent);
    EXPECT_EQ(town.harness.app->service().answer(request).status, 401);
}

TEST_F(ApiKeys, AnIntegrationTokenIsKeptAndNeverShown) {
    const std::string secret = town.key_of(ada);
    EXPECT_EQ(town.with_key(secret, "GET", hub).body,
              R"({"provider":"huggingface","set":false,"updated_at":null})");
    EXPECT_EQ(town.with_key(secret, "PUT", hub, R"({"token":"hf_secret_of_ada"})").status, 200);
    const auto shown = town.with_key(secret, "GET", hub);
    EXPECT_EQ(member(shown.body, "set"), "true");
    EXPECT_EQ(shown.body.find("hf_"), std::string::npos);
    Browser eve = town.person("eve@example.org");
    EXPECT_EQ(member(eve.send("GET", hub).body, "set"), "false");
    EXPECT_EQ(town.with_key(secret, "DELETE", hub).status, 204);
    EXPECT_EQ(member(town.with_key(secret, "GET", hub).body, "set"), "false");
    EXPECT_EQ(town.with_key(secret, "GET", "/api/v1/account/integrations/other").status, 404);
    EXPECT_EQ(town.with_key(secret, "PUT", hub, R"({"token":""})").status, 422);
}

TEST_F(ApiKeys, AnAdminsKeyIsAnOrdinaryKey) {
    town.harness.app->database().write([&](db::Transaction& tx) {
        accounts::make_admin({tx, town.harness.random, town.harness.clock.now()},
                             "Root@Example.org");
    });
    Browser root = town.person("root@example.org");
    EXPECT_EQ(member(root.send("GET", session).body, "role"), "admin");
    const auto me = town.with_key(town.key_of(root), "GET", session);
    EXPECT_EQ(me.status, 200);
    EXPECT_EQ(member(me.body, "scopes"), R"(["renter"])");
}

}  // namespace
}  // namespace berth::test
