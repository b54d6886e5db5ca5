#include "support/town.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <regex>

#include "accounts/accounts.hpp"
#include "base/json_text.hpp"
#include "crypto/totp.hpp"

namespace berth::test {
namespace {

constexpr int tasks_max = 1000;

// Of the body of a mail: soft line ends and =XX.
std::string decode_quoted_printable(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '=') {
            out += text[i];
        } else if (text.compare(i, 3, "=\r\n") == 0) {
            i += 2;
        } else {
            out += from_hex(text.substr(i + 1, 2)).value_or("?");
            i += 2;
        }
    }
    return out;
}

std::string match(const std::string& text, const std::string& pattern) {
    std::smatch found;
    return std::regex_search(text, found, std::regex(pattern)) ? found[1].str() : "";
}

}  // namespace

std::string member(const std::string& json, const std::string& path) {
    boost::system::error_code error;
    boost::json::value value = boost::json::parse(json, error);
    std::size_t begin = 0;
    while (begin <= path.size()) {
        const std::size_t end = std::min(path.find('.', begin), path.size());
        const std::string name = path.substr(begin, end - begin);
        if (value.is_array()) {
            const std::size_t index = std::stoul(name);
            if (index >= value.as_array().size()) return "";
            boost::json::value item = value.as_array()[index];
            value = std::move(item);
        } else {
            if (!value.is_object() || !value.as_object().contains(name)) return "";
            boost::json::value item = value.as_object()[name];
            value = std::move(item);
        }
        begin = end + 1;
    }
    return value.is_string() ? std::string(value.as_string()) : boost::json::serialize(value);
}

std::string sign(const crypto::SigningKey& wallet, const std::string& message) {
    return "0x" + to_hex(wallet.sign(crypto::personal_message_hash(message)).bytes());
}

http::Response Browser::send(const std::string& method, const std::string& target,
                             const std::string& body, const std::string& key) {
    Ask ask{.method = method, .target = target, .key = key, .body = body};
    ask.from = address;
    ask.headers.push_back({"User-Agent", user_agent});
    if (!cookie.empty()) ask.headers.push_back({"Cookie", "theme=dark; " + cookie});
    if (!csrf.empty()) ask.headers.push_back({"X-CSRF-Token", csrf});
    if (!origin.empty()) ask.headers.push_back({"Origin", origin});
    const auto response = town_.harness.ask(ask);
    if (const auto set = response.headers.find("Set-Cookie"))
        cookie = std::string(set->substr(0, set->find(';')));
    const std::string fresh = member(response.body, "csrf_token");
    if (!fresh.empty() && fresh != "null") csrf = fresh;
    return response;
}

http::Response Browser::sign_in(const std::string& email) {
    send("POST", "/api/v1/auth/email/start", R"({"email":)" + json_quoted(email) + "}");
    auto response =
        send("POST", "/api/v1/auth/email/verify",
             R"({"email":)" + json_quoted(email) + R"(,"code":")" + town_.code_to(email) + "\"}");
    if (!totp.empty()) response = send("POST", "/api/v1/auth/mfa", R"({"code":")" + code() + "\"}");
    return response;
}

std::string Browser::code() {
    town_.harness.clock.advance(std::chrono::seconds(30));  // a step is used once
    return crypto::totp_code(totp, crypto::totp_step(town_.harness.clock.now()));
}

http::Response Browser::step_up(const std::string& purpose) {
    std::string proof;
    if (totp.empty()) {
        send("POST", "/api/v1/account/step-up/code");
        const auto me = send("GET", "/api/v1/auth/session").body;
        proof = town_.code_to(member(me, "email"));
    } else {
        proof = code();
    }
    return send("POST", "/api/v1/account/step-up",
                R"({"purpose":")" + purpose + R"(","code":")" + proof + "\"}");
}

void Browser::enroll() {
    ASSERT_EQ(step_up("account-sensitive").status, 200);
    const auto begun = send("POST", "/api/v1/account/mfa/totp");
    ASSERT_EQ(begun.status, 201) << begun.body;
    totp = crypto::from_base32(member(begun.body, "secret")).value();
    const auto confirmed = send("POST", "/api/v1/account/mfa/totp/confirm",
                                R"({"enrollment_id":")" + member(begun.body, "enrollment_id") +
                                    R"(","code":")" + code() + "\"}");
    ASSERT_EQ(confirmed.status, 200) << confirmed.body;
    for (int i = 0; i < 10; ++i)
        recovery_codes.push_back(member(confirmed.body, "recovery_codes." + std::to_string(i)));
}

Harness::Options Town::prepared(Harness::Options options, FakeTransport*& transport) {
    auto owned = std::make_unique<FakeTransport>();
    transport = owned.get();
    options.overrides.transport = std::move(owned);
    options.real_accounts = true;
    options.flags.insert({{"base-url", "http://127.0.0.1:8080"},
                          {"rate-sign-in-per-hour", "1000000"},
                          {"rate-challenge-per-hour", "1000000"},
                          {"rate-public-per-minute", "1000000"},
                          {"rate-account-per-minute", "1000000"}});
    return options;
}

Town::Town(Harness::Options options)
    : transport(nullptr), harness(prepared(std::move(options), transport)) {}

Browser Town::person(const std::string& email) {
    Browser browser(*this);
    browser.origin = "http://127.0.0.1:8080";
    const auto response = browser.sign_in(email);
    EXPECT_EQ(response.status, 200) << response.body;
    return browser;
}

std::string Town::key_of(Browser& browser, const std::string& scopes) {
    EXPECT_EQ(browser.step_up("account-sensitive").status, 200);
    const auto made = browser.send("POST", "/api/v1/account/api-keys",
                                   R"({"name":"test","scopes":)" + scopes + "}", harness.new_id());
    EXPECT_EQ(made.status, 201) << made.body;
    return member(made.body, "secret");
}

http::Response Town::with_key(const std::string& key, const std::string& method,
                              const std::string& target, const std::string& body) {
    return harness.ask({.method = method,
                        .target = target,
                        .as = key,
                        .key = method == "GET" ? "" : harness.new_id(),
                        .body = body});
}

std::string Town::challenge(const crypto::SigningKey& wallet) {
    const auto response =
        harness.ask({.method = "POST",
                     .target = "/api/v1/agents/accounts/challenge",
                     .body = R"({"address":")" + crypto::to_string(wallet.address()) + "\"}"});
    EXPECT_EQ(response.status, 200) << response.body;
    return member(response.body, "message");
}

std::string Town::registration(const std::string& message, const std::string& signature,
                               const std::string& scopes) const {
    return R"({"message":)" + json_quoted(message) + R"(,"signature":)" + json_quoted(signature) +
           R"(,"agent":{"name":"Scout","vendor":"Example","model":"m-1"})" +
           (scopes.empty() ? "" : R"(,"scopes":)" + scopes) + "}";
}

http::Response Town::enlist(const crypto::SigningKey& wallet, const std::string& scopes) {
    const std::string message = challenge(wallet);
    return harness.ask({.method = "POST",
                        .target = "/api/v1/agents/accounts",
                        .body = registration(message, sign(wallet, message), scopes)});
}

http::Response Town::step_up(const crypto::SigningKey& wallet, const std::string& key,
                             const std::string& purpose) {
    const auto issued = with_key(key, "POST", "/api/v1/account/step-up/challenge",
                                 R"({"purpose":")" + purpose + "\"}");
    EXPECT_EQ(issued.status, 201) << issued.body;
    const std::string message = member(issued.body, "message");
    return with_key(key, "POST", "/api/v1/account/step-up",
                    R"({"purpose":")" + purpose + R"(","message":)" + json_quoted(message) +
                        R"(,"signature":")" + sign(wallet, message) + "\"}");
}

void Town::run_tasks() {
    for (int i = 0; i < tasks_max && harness.app->worker().run_one(); ++i) {
    }
}

std::vector<std::string> Town::mails_to(const std::string& email) {
    run_tasks();
    std::vector<std::string> texts;
    for (const auto& envelope : transport->sent())
        if (envelope.to == email) texts.push_back(decode_quoted_printable(envelope.message));
    return texts;
}

std::string Town::mail_to(const std::string& email) {
    const auto texts = mails_to(email);
    return texts.empty() ? "" : texts.back();
}

std::string Town::newest_match(const std::string& email, const std::string& pattern) {
    std::string found;
    for (const std::string& text : mails_to(email))
        if (auto here = match(text, pattern); !here.empty()) found = std::move(here);
    return found;
}

std::string Town::code_to(const std::string& email) {
    return newest_match(email, ": ([0-9]{6})\\s");
}

std::string Town::token_to(const std::string& email) {
    return newest_match(email, "#(brl_[0-9A-Za-z]+)");
}

Town::Link Town::link_to(const std::string& email) {
    return {newest_match(email, "(/confirm/[0-9a-f-]{36})#"),
            newest_match(email, "#(brc_[0-9A-Za-z]+)")};
}

void Town::suspend(const std::string& account_id, bool suspended) {
    harness.app->database().write([&](db::Transaction& tx) {
        accounts::set_suspended(tx, {parse_uuid(account_id).value()}, suspended);
    });
}

}  // namespace berth::test
