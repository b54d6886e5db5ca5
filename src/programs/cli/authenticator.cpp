// Authenticators: turning one on, and the codes of one whose secret is kept in a file.
#include <fmt/format.h>

#include "base/json_text.hpp"
#include "cli/codes.hpp"
#include "cli/qr.hpp"
#include "cli/special.hpp"
#include "crypto/totp.hpp"

namespace berth::cli {
namespace {

constexpr std::size_t group_letters = 4;

std::string in_groups(std::string_view secret) {
    std::string out;
    for (; !secret.empty(); secret.remove_prefix(std::min(group_letters, secret.size())))
        out += (out.empty() ? "" : " ") + std::string(secret.substr(0, group_letters));
    return out;
}

void show_secret(Console& console, const Reading& enrollment) {
    const auto lines = qr_lines(enrollment.text("otpauth_uri"),
                                {console.question_columns(), console.question_colours()});
    if (lines) {
        console.say("scan this with an authenticator app:\n");
        console.draw(*lines);
        console.say("\nor type its secret there:");
    } else {
        console.say(
            "type this secret into an authenticator app (the terminal is too narrow for a "
            "QR code of it):");
    }
    console.say("\n  " + in_groups(enrollment.text("secret")) + "\n");
}

void show_recovery_codes(Console& console, const Reading& confirmed) {
    console.say(
        "\nthe authenticator is on. These recovery codes are shown this once; each replaces "
        "it once, so keep them where it is not:\n");
    if (const auto codes = confirmed.find("recovery_codes"))
        for (const Reading::Place code : confirmed.items(*codes))
            console.say("  " + confirmed.text(code));
    console.say("");
}

}  // namespace

void enroll_authenticator(Context& context) {
    Api& api = context.api();
    const Reading enrollment(
        api.send({.method = "POST", .path = "/api/v1/account/mfa/totp", .access = Access::session})
            .body);
    show_secret(context.console(), enrollment);
    const Reading confirmed(
        give_code(context, {"", "code that your authenticator shows now"},
                  [&](const std::string& code) {
                      return api.send(
                          {.method = "POST",
                           .path = "/api/v1/account/mfa/totp/confirm",
                           .body = fmt::format("{{\"enrollment_id\":{},\"code\":{}}}",
                                               json_quoted(enrollment.text("enrollment_id")),
                                               json_quoted(code)),
                           .access = Access::session});
                  })
            .body);
    show_recovery_codes(context.console(), confirmed);
}

// A person has it turned on here and now; a program gets the secret and confirms it by itself.
int add_authenticator(Context& context) {
    if (context.is_rehearsal() || context.output() != Output::table || !context.console().can_ask())
        return run_row(context);
    enroll_authenticator(context);
    return 0;
}

int print_code(Context& context) {
    const auto secret =
        crypto::from_base32(read_secret(context.arguments().get("secret-file"), "--secret-file"));
    if (!secret || secret->empty())
        throw Failure(Exit::usage, "--secret-file: must hold the secret in base 32, in capitals");
    const std::string code = crypto::totp_code(*secret, crypto::totp_step(context.now()));
    context.console().write(code + "\n");  // and nothing else, for --proof-file -
    context.console().flush();
    return 0;
}

}  // namespace berth::cli
