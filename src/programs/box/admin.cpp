#include "box/admin.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/reading.hpp"
#include "crypto/totp.hpp"

namespace berth::box {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t code_length = 6;
constexpr Duration confirm_max = std::chrono::seconds(5);

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The digits behind "code…: ", or nothing.
std::string code_in(const std::string& mail) {
    for (std::size_t at = mail.find("ode"); at != mail.npos; at = mail.find("ode", at + 1)) {
        const std::size_t colon = mail.find(": ", at);
        if (colon == mail.npos) return "";
        const std::string code = mail.substr(colon + 2, code_length);
        if (code.size() == code_length && code.find_first_not_of("0123456789") == code.npos)
            return code;
    }
    return "";
}

}  // namespace

Admin::Admin(Parts parts)
    : parts_(std::move(parts)),
      clock_(parts_.folder + "/simulated-clock", SharedClock::Use::read),
      api_({parts_.url, "", "", ""},
           {client_, console_, profiles_, random_, [this](Duration) { parts_.pause(); }}) {}

std::string Admin::enroll() {
    const std::string email = fmt::format(R"("email":"{}")", parts_.email);
    send("/api/v1/auth/email/start", fmt::format("{{{}}}", email), cli::Access::anyone);
    const cli::Reading opened(send("/api/v1/auth/email/verify",
                                   fmt::format(R"({{{},"code":"{}"}})", email, mailed_code()),
                                   cli::Access::anyone));
    api_.session->expires_at = parse_rfc3339(opened.text("expires_at")).value();
    send("/api/v1/account/step-up/code", "", cli::Access::session);
    send("/api/v1/account/step-up",
         fmt::format(R"({{"purpose":"account-sensitive","code":"{}"}})", mailed_code()),
         cli::Access::session);
    const cli::Reading made(send("/api/v1/account/mfa/totp", "", cli::Access::session));
    const std::string secret = made.text("secret");
    // The code before the present one, which is left for whoever signs in next. It is good until
    // the present step ends, which must not be before it arrives.
    while (crypto::totp_step(clock_.now()) != crypto::totp_step(clock_.now() + confirm_max))
        parts_.pause();
    const std::string code =
        crypto::totp_code(crypto::from_base32(secret).value(), crypto::totp_step(clock_.now()) - 1);
    send("/api/v1/account/mfa/totp/confirm",
         fmt::format(R"({{"enrollment_id":"{}","code":"{}"}})", made.text("enrollment_id"), code),
         cli::Access::session);
    // A key that somebody put there stays.
    cli::Profile profile = profiles_.load().value_or(cli::Profile{});
    if (profile.server.empty()) {
        profile.server = parts_.url;
        profiles_.save(profile);
    }
    profiles_.save_session(*api_.session);
    return secret;
}

std::string Admin::send(const std::string& path, const std::string& body, cli::Access access) {
    const cli::Answer answer =
        api_.send({.method = "POST", .path = path, .body = body, .access = access});
    return answer.body;
}

std::string Admin::mailed_code() {
    for (;; parts_.pause()) {
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(parts_.folder + "/mail", none)) {
            if (entry.path().extension() != ".eml" || read_.contains(entry.path())) continue;
            const std::string mail = text_of(entry.path());
            read_.insert(entry.path());
            if (mail.find("To: " + parts_.email) == mail.npos) continue;
            if (const std::string code = code_in(mail); !code.empty()) return code;
        }
    }
}

}  // namespace berth::box
