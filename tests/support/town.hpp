// A server with real accounts, and the people and agents who use it: browsers that keep cookies and
// send what a browser sends, the mail that arrives, authenticators, wallets.
#pragma once

#include "crypto/secp256k1.hpp"
#include "support/fake_transport.hpp"
#include "support/harness.hpp"

namespace berth::test {

class Town;

// One browser: keeps its session cookie and CSRF token.
class Browser {
public:
    explicit Browser(Town& town) : town_(town) {}

    http::Response send(const std::string& method, const std::string& target,
                        const std::string& body = "", const std::string& key = "");
    // Signs in by the code in the mail; with the second factor too when `totp` has the secret.
    http::Response sign_in(const std::string& email);
    // A step-up for the purpose, by mail or, when `totp` is set, by the authenticator.
    http::Response step_up(const std::string& purpose);
    // Enrolls an authenticator and keeps its secret in `totp`.
    void enroll();
    std::string code();  // of the authenticator, for a step that was not used yet

    std::string cookie;
    std::string csrf;
    std::string user_agent = "Browser/1";
    std::string address = "192.0.2.1";  // of its network
    std::string origin;
    std::string totp;  // raw secret
    std::vector<std::string> recovery_codes;

private:
    Town& town_;
};

class Town {
public:
    explicit Town(Harness::Options options = {});

    Browser person(const std::string& email);  // signed in
    std::string key_of(Browser& browser, const std::string& scopes = R"(["renter"])");
    http::Response with_key(const std::string& key, const std::string& method,
                            const std::string& target, const std::string& body = "");
    // Registers an agent with this wallet; the whole answer.
    http::Response enlist(const crypto::SigningKey& wallet, const std::string& scopes = "");
    // A step-up of an agent's key by a signed challenge; the whole answer.
    http::Response step_up(const crypto::SigningKey& wallet, const std::string& key,
                           const std::string& purpose);
    std::string challenge(const crypto::SigningKey& wallet);  // the message to sign
    std::string registration(const std::string& message, const std::string& signature,
                             const std::string& scopes = "") const;

    std::vector<std::string> mails_to(const std::string& email);  // their texts, in order
    std::string mail_to(const std::string& email);                // the newest
    // Of the newest mail to this address that has one: the six digits, the token of the link.
    std::string code_to(const std::string& email);
    std::string token_to(const std::string& email);
    // The path and the token of the confirmation link.
    struct Link {
        std::string path;
        std::string token;
    };
    Link link_to(const std::string& email);

    void run_tasks();
    void suspend(const std::string& account_id, bool suspended = true);

    FakeTransport* transport;  // owned by the app
    Harness harness;

private:
    std::string newest_match(const std::string& email, const std::string& pattern);
    static Harness::Options prepared(Harness::Options options, FakeTransport*& transport);
};

std::string sign(const crypto::SigningKey& wallet, const std::string& message);  // hex
// A member of a JSON object as text: strings without quotes, the rest as spelled; "" when missing.
std::string member(const std::string& json, const std::string& path);

}  // namespace berth::test
