// An operator of a server in a process of its own: signs in by the mail that it writes into a
// folder, enrolls an authenticator, and gives fresh proofs.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "http/client.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/totp.hpp"
#include "support/town.hpp"

namespace berth::test {

class Operator {
public:
    // `email` was made an admin beside the server.
    Operator(std::string url, std::string mail_folder, const std::string& email)
        : url_(std::move(url)), mail_folder_(std::move(mail_folder)) {
        send("POST", "/api/v1/auth/email/start", R"({"email":")" + email + "\"}", 202);
        send("POST", "/api/v1/auth/email/verify",
             R"({"email":")" + email + R"(","code":")" + next_code() + "\"}", 200);
        send("POST", "/api/v1/account/step-up/code", "", 202);
        send("POST", "/api/v1/account/step-up",
             R"({"purpose":"account-sensitive","code":")" + next_code() + "\"}", 200);
        const std::string begun = send("POST", "/api/v1/account/mfa/totp", "", 201);
        const std::string secret = crypto::from_base32(member(begun, "secret")).value();
        // A step is used once, and the one before the present is good too.
        const auto step = fresh_totp_step();
        send("POST", "/api/v1/account/mfa/totp/confirm",
             R"({"enrollment_id":")" + member(begun, "enrollment_id") + R"(","code":")" +
                 crypto::totp_code(secret, step - 1) + "\"}",
             200);
        send("POST", "/api/v1/account/step-up",
             R"({"purpose":"admin-sensitive","code":")" + crypto::totp_code(secret, step) + "\"}",
             200);
    }

    // The body of the answer; throws when it is another than expected.
    std::string send(const std::string& method, const std::string& target, const std::string& body,
                     int status) {
        http::Outbound request{.method = method, .url = url_ + target, .headers = {}};
        request.headers.add("Origin", url_);
        request.headers.add("User-Agent", "Browser/1");
        if (!cookie_.empty()) request.headers.add("Cookie", cookie_);
        if (!csrf_.empty()) request.headers.add("X-CSRF-Token", csrf_);
        if (method != "GET")
            request.headers.add("Idempotency-Key",
                                to_string(make_uuid(SystemClock().now(), random_)));
        if (!body.empty()) request.headers.add("Content-Type", "application/json");
        request.body = body;
        const http::Response response = client_.send(request);
        if (response.status != status) throw std::runtime_error(target + " " + response.body);
        if (const auto set = response.headers.find("Set-Cookie"))
            cookie_ = std::string(set->substr(0, set->find(';')));
        if (const std::string fresh = member(response.body, "csrf_token"); fresh.size() > 4)
            csrf_ = fresh;
        return response.body;
    }

    void suspend(const std::string& account, bool suspended) {
        const std::string user = send("GET", "/api/v1/admin/users/" + account, "", 200);
        send("POST", "/api/v1/admin/users/" + account + "/actions",
             std::string(R"({"action":"set_suspension","suspended":)") +
                 (suspended ? "true" : "false") +
                 R"(,"reason":"asked by the test","expected_version":")" + member(user, "version") +
                 "\"}",
             200);
    }

private:
    // Of the next mail that has one.
    std::string next_code() {
        std::string code;
        EXPECT_TRUE(support::eventually(
            [&] {
                if (!std::filesystem::exists(mail_folder_)) return false;
                for (const auto& entry : std::filesystem::directory_iterator(mail_folder_)) {
                    const std::string text = read_text(entry.path().string());
                    std::smatch found;
                    if (used_.contains(entry.path().string()) ||
                        !std::regex_search(text, found, std::regex(": ([0-9]{6})\\s")))
                        continue;
                    used_.insert(entry.path().string());
                    code = found[1].str();
                    return true;
                }
                return false;
            },
            {.look_every = std::chrono::milliseconds(50)}));
        return code;
    }

    const std::string url_;
    const std::string mail_folder_;
    http::CurlClient client_;
    SystemRandom random_;
    std::string cookie_;
    std::string csrf_;
    std::set<std::string> used_;
};

}  // namespace berth::test
