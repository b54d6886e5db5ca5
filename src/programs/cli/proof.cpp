// Fresh proofs of who is calling: a code, or the wallet's signature.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>

#include "base/json_text.hpp"
#include "cli/codes.hpp"
#include "cli/special.hpp"
#include "cli/wallet.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view admin_purpose = "admin-sensitive";
constexpr auto purposes =
    std::to_array<std::string_view>({"account-sensitive", "wallet", admin_purpose});
constexpr const char* step_up_path = "/api/v1/account/step-up";

Answer send_code(Context& context, std::string_view purpose, const std::string& code) {
    return context.api().send({.method = "POST",
                               .path = step_up_path,
                               .body = fmt::format("{{\"purpose\":{},\"code\":{}}}",
                                                   json_quoted(purpose), json_quoted(code)),
                               .access = Access::session});
}

void prove_by_code(Context& context, std::string_view purpose) {
    Api& api = context.api();
    const bool has_authenticator =
        Reading(api.get("/api/v1/auth/session", Access::session).body).text("mfa_enrolled") ==
        "true";
    const bool is_admin = purpose == admin_purpose;
    if (is_admin && !has_authenticator)
        throw Failure(Exit::refused,
                      "what operators do needs an authenticator: `berth login --admin` adds one");
    if (!has_authenticator)
        api.send(
            {.method = "POST", .path = "/api/v1/account/step-up/code", .access = Access::session});
    // A recovery code stands in for the authenticator but for operators.
    give_code(context,
              {.flag = "proof-file",
               .question =
                   has_authenticator ? "code of your authenticator" : "code that was mailed to you",
               .is_digits = is_admin || !has_authenticator},
              [&](const std::string& code) { return send_code(context, purpose, code); });
}

void prove_by_wallet(Context& context, std::string_view purpose) {
    Api& api = context.api();
    const crypto::SigningKey wallet = open_wallet(context);
    const Reading challenge(
        api.send({.method = "POST",
                  .path = "/api/v1/account/step-up/challenge",
                  .body = fmt::format("{{\"purpose\":{}}}", json_quoted(purpose))})
            .body);
    const std::string message = challenge.text("message");
    api.send({.method = "POST",
              .path = step_up_path,
              .body = fmt::format("{{\"purpose\":{},\"message\":{},\"signature\":{}}}",
                                  json_quoted(purpose), json_quoted(message),
                                  json_quoted(sign_message(context, wallet, message)))});
}

// What somebody does instead who cannot be asked; empty where it can be proven here.
std::string way_to_prove(Context& context, Access access, std::string_view purpose) {
    if (context.console().can_ask()) return "";
    if (access == Access::session)
        return context.arguments().has("proof-file")
                   ? ""
                   : fmt::format(
                         "`{} step-up {}` at a terminal is good for five minutes, or "
                         "--proof-file FILE brings the code",
                         context.profiles().command(), purpose);
    return ::getenv("BERTH_WALLET_PASSPHRASE") != nullptr
               ? ""
               : fmt::format(
                     "`{} step-up {}` at a terminal is good for five minutes, or "
                     "BERTH_WALLET_PASSPHRASE opens the wallet",
                     context.profiles().command(), purpose);
}

void prove(Context& context, Access access, std::string_view purpose) {
    if (access == Access::session)
        prove_by_code(context, purpose);
    else
        prove_by_wallet(context, purpose);
}

}  // namespace

std::string give_proof(Context& context, Access access, std::string_view purpose) {
    const auto profile = context.profiles().load();
    if (access == Access::key && !(profile && profile->wallet))
        return fmt::format(
            "a key cannot give it, but a session can: `{} login --session`, with a "
            "profile of its own",
            context.profiles().command());
    if (std::string instead = way_to_prove(context, access, purpose); !instead.empty())
        return instead;
    context.console().say("this needs a fresh proof that it is you");
    prove(context, access, purpose);
    return "";
}

void offer_proof(Context& context, std::string_view purpose) {
    context.console().say(
        "each change asks for a code; with the next one that your authenticator shows (they change "
        "every 30 seconds) none does for five minutes");
    give_code(context, {.flag = "", .question = "next code, or Enter", .may_skip = true},
              [&](const std::string& code) { return send_code(context, purpose, code); });
}

int step_up(Context& context) {
    if (context.rehearse_all()) return 0;
    const auto& operands = context.arguments().operands;
    const std::string purpose = operands.empty() ? "account-sensitive" : operands[0];
    if (std::find(purposes.begin(), purposes.end(), purpose) == purposes.end())
        throw Failure(Exit::usage, fmt::format("{}: is none of {}", printable(purpose),
                                               fmt::join(purposes, ", ")));
    const Access access = context.api().access_for(Access::key);
    if (std::string instead = way_to_prove(context, access, purpose); !instead.empty())
        throw Failure(Exit::usage, std::move(instead));
    prove(context, access, purpose);
    context.console().say("for five minutes, changes of this kind ask for nothing more");
    return 0;
}

}  // namespace berth::cli
