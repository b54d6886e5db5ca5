// Signing in by mail: codes, links, sessions, and what an attacker may try.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>

#include "accounts/paths.hpp"
#include "accounts/sessions.hpp"
#include "base/json_text.hpp"
#include "base/letters.hpp"
#include "support/told.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

class SignIn : public ::testing::Test {
protected:
    Browser visitor() {
        Browser browser(town);
        browser.origin = "http://127.0.0.1:8080";
        return browser;
    }
    std::string by_code(const std::string& email, const std::string& code) {
        return R"({"email":)" + json_quoted(email) + R"(,"code":")" + code + "\"}";
    }
    std::string ask_code(const std::string& email) {
        EXPECT_EQ(visitor().send("POST", start, R"({"email":)" + json_quoted(email) + "}").status,
                  202);
        return town.code_to(email);
    }

    Town town;
};

TEST_F(SignIn, ByTheMailedCodeOpensASession) {
    Browser browser = visitor();
    const auto response = browser.sign_in("ada@example.org");
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(member(response.body, "role"), "renter");
    EXPECT_EQ(member(response.body, "mfa_required"), "false");
    const auto me = browser.send("GET", session);
    ASSERT_EQ(me.status, 200);
    EXPECT_EQ(member(me.body, "email"), "ada@example.org");
    EXPECT_EQ(member(me.body, "account_kind"), "human");
    EXPECT_EQ(member(me.body, "csrf_token"), browser.csrf);
}

TEST_F(SignIn, ByTheMailedLinkOpensASession) {
    Browser browser = visitor();
    ask_code("ada@example.org");
    const std::string body = R"({"token":")" + town.token_to("ada@example.org") + "\"}";
    EXPECT_EQ(browser.send("POST", verify, body).status, 200);
    EXPECT_EQ(visitor().send("POST", verify, body).status, 403) << "a link works once";
}

TEST_F(SignIn, UsingTheCodeSpendsTheLinkToo) {
    const std::string code = ask_code("ada@example.org");
    const std::string token = town.token_to("ada@example.org");
    EXPECT_EQ(visitor().send("POST", verify, by_code("ada@example.org", code)).status, 200);
    EXPECT_EQ(visitor().send("POST", verify, R"({"token":")" + token + "\"}").status, 403);
}

// Somebody's command line waits for the code, and they press the link of the same mail.
TEST_F(SignIn, UsingTheLinkLeavesTheCode) {
    const std::string code = ask_code("ada@example.org");
    const std::string link = R"({"token":")" + town.token_to("ada@example.org") + "\"}";
    const std::string digits = by_code("ada@example.org", code);
    EXPECT_EQ(visitor().send("POST", verify, link).status, 200);
    EXPECT_EQ(visitor().send("POST", verify, digits).status, 200);
    EXPECT_EQ(visitor().send("POST", verify, digits).status, 403) << "once";
    EXPECT_EQ(visitor().send("POST", verify, link).status, 403) << "once";
}

// Scanners of mail open what they find, and some show it to a browser of theirs.
TEST_F(SignIn, OpeningTheLinkSpendsNothing) {
    const std::string code = ask_code("ada@example.org");
    const std::string token = town.token_to("ada@example.org");
    for (const char* method : {"GET", "HEAD"})
        EXPECT_EQ(visitor().send(method, "/sign-in").status, 200);
    EXPECT_EQ(visitor().send("GET", verify).status, 404);
    EXPECT_EQ(visitor().send("POST", verify, R"({"token":")" + token + "\"}").status, 200);
    EXPECT_EQ(visitor().send("POST", verify, by_code("ada@example.org", code)).status, 200);
}

TEST_F(SignIn, TheSameAddressInAnySpellingIsTheSameAccount) {
    Browser first = visitor();
    Browser second = visitor();
    const auto a = first.sign_in("ada@example.org");
    second.send("POST", start, R"({"email":"Ada@Example.ORG"})");
    const auto b =
        second.send("POST", verify, by_code("ADA@example.org", town.code_to("ada@example.org")));
    EXPECT_EQ(member(a.body, "account_id"), member(b.body, "account_id"));
}

TEST_F(SignIn, KnownUnknownAndSuspendedAddressesAreAnsweredAlike) {
    Browser ada = town.person("ada@example.org");
    Browser eve = town.person("eve@example.org");
    town.suspend(member(eve.send("GET", session).body, "account_id"));
    const auto known = visitor().send("POST", start, R"({"email":"ada@example.org"})");
    const auto unknown = visitor().send("POST", start, R"({"email":"new@example.org"})");
    const auto suspended = visitor().send("POST", start, R"({"email":"eve@example.org"})");
    EXPECT_EQ(known.body, unknown.body);
    EXPECT_EQ(known.body, suspended.body);
    const std::string code = town.code_to("eve@example.org");
    EXPECT_FALSE(code.empty()) << "the mail is the same, too";
    EXPECT_EQ(visitor().send("POST", verify, by_code("eve@example.org", code)).status, 401);
}

TEST_F(SignIn, ACodeWorksOnceAndForTenMinutes) {
    const std::string code = ask_code("ada@example.org");
    EXPECT_EQ(visitor().send("POST", verify, by_code("ada@example.org", code)).status, 200);
    const auto again = visitor().send("POST", verify, by_code("ada@example.org", code));
    EXPECT_EQ(again.status, 403);
    EXPECT_EQ(error_code(again), "AUTHORIZATION_INVALID");
    const std::string late = ask_code("ada@example.org");
    town.harness.clock.advance(10min);
    EXPECT_EQ(visitor().send("POST", verify, by_code("ada@example.org", late)).status, 403);
}

TEST_F(SignIn, ACodeOfOneAddressDoesNotOpenAnother) {
    const std::string code = ask_code("ada@example.org");
    EXPECT_EQ(visitor().send("POST", verify, by_code("bob@example.org", code)).status, 403);
}

TEST_F(SignIn, OfManyAtOnceOneWins) {
    const std::string code = ask_code("ada@example.org");
    constexpr int tries = 16;
    std::atomic<int> won{0};
    std::latch together(tries);
    std::vector<std::thread> threads;
    for (int i = 0; i < tries; ++i)
        threads.emplace_back([&] {
            together.arrive_and_wait();
            if (visitor().send("POST", verify, by_code("ada@example.org", code)).status == 200)
                ++won;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
}

TEST_F(SignIn, BadInputNamesTheMember) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {start, R"({"email":"no"})"},
        {start, R"({"email":"a@b@c.org"})"},
        {start, R"({"email":"a b@c.org"})"},
        {start, R"({"email":"a@c.org\r\nBcc: x@y.z"})"},
        {start, R"({})"},
        {verify, R"({})"},
        {verify, R"({"email":"a@c.org"})"},
        {verify, R"({"code":"123456"})"},
        {verify, R"({"email":"a@c.org","code":"12345"})"},
        {verify, R"({"email":"a@c.org","code":"123456","token":"x"})"}};
    for (const auto& [target, body] : rows) {
        const auto response = visitor().send("POST", target, body);
        EXPECT_EQ(response.status, 422) << body;
        EXPECT_TRUE(error_message(response).starts_with("body")) << error_message(response);
    }
}

TEST_F(SignIn, AnotherOriginIsRefused) {
    Browser evil = visitor();
    evil.origin = "https://evil.example";
    EXPECT_EQ(evil.send("POST", start, R"({"email":"ada@example.org"})").status, 403);
}

class SessionRules : public SignIn {
protected:
    Browser ada = town.person("ada@example.org");
};

TEST_F(SessionRules, TheCookieIsHttpOnlyLaxAndSecureOverHttps) {
    const auto cookie = [](Town& in) {
        Browser browser(in);
        browser.send("POST", start, R"({"email":"a@example.org"})");
        const auto response = browser.send(
            "POST", verify,
            R"({"email":"a@example.org","code":")" + in.code_to("a@example.org") + "\"}");
        return std::string(response.headers.find("Set-Cookie").value_or(""));
    };
    const std::string plain = cookie(town);
    EXPECT_TRUE(plain.starts_with("session=brs_")) << plain;
    for (const char* part : {"; Path=/", "; HttpOnly", "; SameSite=Lax", "; Max-Age=43200"})
        EXPECT_NE(plain.find(part), std::string::npos) << plain;
    EXPECT_EQ(plain.find("Secure"), std::string::npos);
    EXPECT_EQ(plain.find("Domain"), std::string::npos);
}

TEST_F(SessionRules, OverHttpsTheCookieIsSecureAndBoundToTheHost) {
    Harness::Options options;
    options.flags["base-url"] = "https://Berth.Example:443";
    Town secure(std::move(options));
    Browser browser(secure);
    browser.origin = "https://berth.example";
    browser.send("POST", start, R"({"email":"a@example.org"})");
    const auto response = browser.send(
        "POST", verify,
        R"({"email":"a@example.org","code":")" + secure.code_to("a@example.org") + "\"}");
    const std::string cookie(response.headers.find("Set-Cookie").value_or(""));
    EXPECT_TRUE(cookie.starts_with("__Host-session=brs_")) << cookie;
    EXPECT_NE(cookie.find("; Secure"), std::string::npos) << cookie;
    EXPECT_EQ(browser.send("GET", session).status, 200);
}

TEST_F(SessionRules, AChangeNeedsTheCsrfTokenAndOrigin) {
    const std::string out = "/api/v1/auth/sign-out";
    Browser no_token = ada;
    no_token.csrf = "";
    EXPECT_EQ(no_token.send("POST", out).status, 403);
    Browser wrong_token = ada;
    wrong_token.csrf.back() = wrong_token.csrf.back() == 'A' ? 'B' : 'A';
    EXPECT_EQ(wrong_token.send("POST", out).status, 403);
    Browser no_origin = ada;
    no_origin.origin = "";
    EXPECT_EQ(no_origin.send("POST", out).status, 403);
    Browser elsewhere = ada;
    elsewhere.origin = "http://127.0.0.1:8081";
    EXPECT_EQ(elsewhere.send("POST", out).status, 403);
    EXPECT_EQ(ada.send("POST", out).status, 204);
}

TEST_F(SessionRules, AnotherUserAgentIs401) {
    ada.user_agent = "Other/2";
    EXPECT_EQ(ada.send("GET", session).status, 401);
}

TEST_F(SessionRules, EndAfterThirtyIdleMinutes) {
    for (int i = 0; i < 5; ++i) {
        town.harness.clock.advance(29min);
        EXPECT_EQ(ada.send("GET", session).status, 200);
    }
    town.harness.clock.advance(30min);
    EXPECT_EQ(ada.send("GET", session).status, 401);
}

TEST_F(SessionRules, EndAfterTwelveHoursHoweverBusy) {
    for (int i = 0; i < 26; ++i) {
        town.harness.clock.advance(27min);
        EXPECT_EQ(ada.send("GET", session).status, 200);
    }
    town.harness.clock.advance(18min);
    EXPECT_EQ(ada.send("GET", session).status, 401);
}

TEST_F(SessionRules, AStepUpDoesNotMakeThemLonger) {
    const auto end = [&] { return member(ada.send("GET", session).body, "expires_at"); };
    const std::string before = end();
    town.harness.clock.advance(20min);
    ada.step_up("wallet");
    EXPECT_EQ(end(), before);
}

TEST_F(SessionRules, SignOutEndsThem) {
    Browser copy = ada;
    EXPECT_EQ(ada.send("POST", "/api/v1/auth/sign-out").status, 204);
    EXPECT_EQ(copy.send("GET", session).status, 401);
}

TEST_F(SessionRules, AreListedNewestFirst) {
    town.harness.clock.advance(1s);
    Browser phone(town);
    phone.origin = ada.origin;
    phone.user_agent = "Phone/\xC3\xA9";
    phone.address = "198.51.100.7";
    phone.sign_in("ada@example.org");
    const auto list = ada.send("GET", "/api/v1/account/sessions");
    ASSERT_EQ(list.status, 200) << list.body;
    EXPECT_EQ(member(list.body, "items.0.user_agent"), "Phone/??");
    EXPECT_EQ(member(list.body, "items.0.network_address"), "198.51.100.7");
    EXPECT_EQ(member(list.body, "items.0.current"), "false");
    EXPECT_EQ(member(list.body, "items.1.user_agent"), "Browser/1");
    EXPECT_EQ(member(list.body, "items.1.current"), "true");
    EXPECT_EQ(member(list.body, "items.2.session_id"), "");
    const auto page = ada.send("GET", "/api/v1/account/sessions?limit=1");
    const auto next = ada.send(
        "GET", "/api/v1/account/sessions?limit=1&cursor=" + member(page.body, "next_cursor"));
    EXPECT_EQ(member(next.body, "items.0.current"), "true");
    Browser eve = town.person("eve@example.org");
    EXPECT_EQ(member(eve.send("GET", "/api/v1/account/sessions").body, "items.1.session_id"), "");
    town.harness.clock.advance(30min);
    Browser later = town.person("ada@example.org");
    EXPECT_EQ(member(later.send("GET", "/api/v1/account/sessions").body, "items.1.session_id"), "")
        << "idle ones are over";
}

TEST_F(SessionRules, AreEndedOneByOneByTheirOwner) {
    const std::string sessions = "/api/v1/account/sessions";
    const auto id_of = [&](Browser& browser) {
        return member(browser.send("GET", sessions + "?limit=1").body, "items.0.session_id");
    };
    const std::string own = id_of(ada);
    town.harness.clock.advance(1s);
    Browser phone = town.person("ada@example.org");
    Browser eve = town.person("eve@example.org");
    const std::string other = id_of(ada);
    EXPECT_EQ(eve.send("DELETE", sessions + "/" + other).status, 404) << "it is somebody else's";
    EXPECT_EQ(ada.send("DELETE", sessions + "/" + id_of(eve)).status, 404);
    EXPECT_EQ(ada.send("DELETE", sessions + "/revoke").status, 404);
    EXPECT_EQ(ada.send("DELETE", sessions + "/none").status, 422);
    EXPECT_EQ(phone.send("GET", session).status, 200);
    EXPECT_EQ(ada.send("DELETE", sessions + "/" + other).status, 204);
    EXPECT_EQ(phone.send("GET", session).status, 401);
    EXPECT_EQ(ada.send("DELETE", sessions + "/" + other).status, 404) << "it is over";
    EXPECT_EQ(ada.send("DELETE", sessions + "/" + own).status, 204);
    EXPECT_EQ(ada.send("GET", session).status, 401);
    EXPECT_EQ(eve.send("GET", session).status, 200);
}

TEST_F(SessionRules, AreEndedEverywhereAtOnce) {
    Browser thief = town.person("ada@example.org");
    Browser eve = town.person("eve@example.org");
    const std::string key = town.key_of(ada);
    EXPECT_EQ(town.with_key(key, "POST", "/api/v1/account/sessions/revoke").status, 403);
    EXPECT_EQ(ada.send("POST", "/api/v1/account/sessions/revoke").status, 204);
    EXPECT_EQ(thief.send("GET", session).status, 401);
    EXPECT_EQ(ada.send("GET", session).status, 401);
    EXPECT_EQ(eve.send("GET", session).status, 200);
    EXPECT_EQ(town.with_key(key, "GET", session).status, 200) << "keys are revoked one by one";
    const auto mails = town.mails_to("ada@example.org");
    EXPECT_TRUE(std::any_of(mails.begin(), mails.end(), [](const std::string& text) {
        return text.find("all sessions were ended") != text.npos;
    }));
    EXPECT_EQ(untold(town.harness.app->database(), {"account.end_sessions"}), "");
}

TEST_F(SessionRules, ASuspendedAccountIs401OnTheNextRequestAndAtSignIn) {
    const std::string key = town.key_of(ada);
    town.suspend(member(ada.send("GET", session).body, "account_id"));
    EXPECT_EQ(ada.send("GET", session).status, 401);
    EXPECT_EQ(town.with_key(key, "GET", session).status, 401);
    const std::string code = ask_code("ada@example.org");
    EXPECT_EQ(visitor().send("POST", verify, by_code("ada@example.org", code)).status, 401);
}

TEST_F(SessionRules, TwoSessionCookiesAreNone) {
    Browser doubled = ada;
    doubled.cookie = ada.cookie + "; " + ada.cookie;
    EXPECT_EQ(doubled.send("GET", session).status, 401);
}

TEST_F(SessionRules, MadeUpCookiesAreRefused) {
    for (const char* value :
         {"", "x", "brs_", "brs_0000000000000000000000000000000000000000000000000"}) {
        Browser guess = ada;
        guess.cookie = std::string("session=") + value;
        EXPECT_EQ(guess.send("GET", session).status, 401) << value;
    }
}

TEST_F(SessionRules, TheDatabaseHoldsNoUsableCredential) {
    const std::string key = town.key_of(ada);
    ada.enroll();
    ada.send("PUT", "/api/v1/account/integrations/huggingface", R"({"token":"hf_abcdefghijk"})",
             town.harness.new_id());
    const std::string code = ask_code("eve@example.org");
    std::string records = dump(town.harness.app->database());
    std::transform(records.begin(), records.end(), records.begin(), to_lower);
    const std::string token = ada.cookie.substr(ada.cookie.find('=') + 1);
    for (std::string secret : {key, token, ada.csrf, code, town.token_to("eve@example.org"),
                               std::string("hf_abcdefghijk"), ada.recovery_codes.at(0), ada.totp}) {
        EXPECT_EQ(records.find(to_hex(secret)), std::string::npos) << "as bytes: " << secret;
        std::transform(secret.begin(), secret.end(), secret.begin(), to_lower);
        EXPECT_EQ(records.find(secret), std::string::npos) << secret;
    }
}

TEST_F(SessionRules, TheSignInPageCarriesNoTokenAndAStrictPolicy) {
    const auto page = town.harness.app->service().answer(make_request({.target = "/sign-in"}));
    EXPECT_EQ(page.status, 200);
    EXPECT_TRUE(page.content_type.starts_with("text/html"));
    const auto policy = page.headers.find("Content-Security-Policy");
    ASSERT_TRUE(policy);
    EXPECT_NE(policy->find("default-src 'none'"), std::string::npos);
}

TEST(Cookies, AreFoundByTheirExactName) {
    http::Request request;
    request.headers.add("Cookie", "a=1; session=x; other_session=y");
    request.headers.add("Cookie", "b=2");
    EXPECT_EQ(accounts::find_cookie(request, "session"), "x");
    EXPECT_EQ(accounts::find_cookie(request, "b"), "2");
    EXPECT_EQ(accounts::find_cookie(request, "c"), std::nullopt);
    EXPECT_EQ(accounts::find_cookie(request, "Session"), std::nullopt);
}

}  // namespace
}  // namespace berth::test
