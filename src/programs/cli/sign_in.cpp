// Signing in by mail, and fresh proofs of who is calling.
#include <fmt/format.h>
#include <stdlib.h>

#include "accounts/types.hpp"
#include "base/json_text.hpp"
#include "cli/credentials.hpp"
#include "cli/special.hpp"
#include "cli/wallet.hpp"
#include "crypto/totp.hpp"

namespace berth::cli {
namespace {

std::string code_from(Context& context, std::string_view flag, std::string_view question) {
    if (const auto file = context.arguments().find(flag))
        return read_secret(*file, "--" + std::string(flag));
    if (!context.console().can_ask())
        throw Failure(Exit::usage,
                      fmt::format("without a terminal, --{} FILE brings the {}", flag, question));
    return context.console().ask(question);
}

// Keeps the CSRF token, without which a session changes nothing; every renewal gives another one.
void renew_csrf(Context& context, const Reading& answer) {
    if (!context.api().session) return;
    if (const std::string token = answer.text("csrf_token"); !token.empty())
        context.api().session->csrf_token = token;
}

void prove_by_code(Context& context, std::string_view purpose) {
    Api& api = context.api();
    const Reading who(api.get("/api/v1/auth/session", Access::session).body);
    const bool has_authenticator = who.text("mfa_enrolled") == "true";
    if (!has_authenticator)
        api.send(
            {.method = "POST", .path = "/api/v1/account/step-up/code", .access = Access::session});
    const std::string code =
        code_from(context, "proof-file",
                  has_authenticator ? "code of your authenticator" : "code that was mailed to you");
    const Answer granted = api.send({.method = "POST",
                                     .path = "/api/v1/account/step-up",
                                     .body = fmt::format("{{\"purpose\":{},\"code\":{}}}",
                                                         json_quoted(purpose), json_quoted(code)),
                                     .access = Access::session});
    renew_csrf(context, Reading(granted.body));
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
              .path = "/api/v1/account/step-up",
              .body = fmt::format("{{\"purpose\":{},\"message\":{},\"signature\":{}}}",
                                  json_quoted(purpose), json_quoted(message),
                                  json_quoted(sign_message(context, wallet, message)))});
}

bool can_prove(Context& context, Access access) {
    if (access == Access::session)
        return context.arguments().has("proof-file") || context.console().can_ask();
    const auto profile = context.profiles().load();
    return profile && profile->wallet &&
           (context.console().can_ask() || ::getenv("BERTH_WALLET_PASSPHRASE") != nullptr);
}

// A key that ends by itself, in the place of the session.
void make_key(Context& context, const std::string& email) {
    Api& api = context.api();
    const auto lifetime = parse_seconds(context.arguments().get("expires-in", "30d"));
    if (!lifetime) throw Failure(Exit::usage, "--expires-in: must be a duration such as 30d");
    std::string scopes;
    for (std::string rest = context.arguments().get("scopes", "renter"); !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        scopes += (scopes.empty() ? "" : ",") + json_quoted(rest.substr(0, comma));
        rest.erase(0, comma + 1);
    }
    const Request request{
        .method = "POST",
        .path = "/api/v1/account/api-keys",
        .body =
            fmt::format("{{\"name\":{},\"scopes\":[{}],\"expires_at\":\"{}\"}}",
                        json_quoted(context.arguments().get("key-name", "berth on this machine")),
                        scopes, to_rfc3339(context.now() + std::chrono::seconds(*lifetime))),
        .access = Access::session};
    const Answer made = send_with_proof(context, request, "account-sensitive");
    const Reading key(made.body);
    if (key.text("secret").empty())
        throw Failure(Exit::unexpected, "the answer was lost and the key with it: log in again");
    std::string copy;
    Profile profile = make_room(context, email, copy);
    profile.api_key = key.text("secret");
    profile.key_id = key.text("key_id");
    profile.expires_at = parse_rfc3339(key.text("expires_at"));
    profile.account = email;
    context.profiles().save(profile);
    api.send({.method = "POST", .path = "/api/v1/auth/sign-out", .access = Access::session});
    context.console().say(fmt::format("signed in as {}; the key is in {} and works until {}", email,
                                      context.profiles().file(), key.text("expires_at")));
    context.print_own(fmt::format("{{\"profile\":{},\"key_id\":{},\"expires_at\":{}{}}}",
                                  json_quoted(context.profiles().name()),
                                  json_quoted(*profile.key_id), json_quoted(key.text("expires_at")),
                                  copy.empty() ? "" : ",\"copy\":" + json_quoted(copy)),
                      "");
}

// A key that the account's mail or wallet makes again at any time is forgotten as asked; of any
// other a copy stays.
bool is_last_credential(const std::optional<Profile>& profile) {
    return profile && has_key(*profile) && !can_make_another_key(*profile);
}

void forget_key(Context& context) {
    auto profile = context.profiles().load();
    if (!profile || !has_key(*profile)) return;
    std::string copy;
    if (is_last_credential(profile)) copy = copy_credentials(context, context.profiles());
    const std::string id = profile->key_id.value_or("ID");
    profile->api_key.reset();
    profile->key_elsewhere.reset();
    profile->key_id.reset();
    profile->expires_at.reset();
    context.profiles().save(*profile);
    context.console().say(
        fmt::format("the key is forgotten here; only `berth keys revoke {}` ends it", id));
    if (!copy.empty()) context.print_own(fmt::format("{{\"copy\":{}}}", json_quoted(copy)), "");
}

}  // namespace

void step_up(Context& context, Access access, std::string_view purpose) {
    if (access == Access::session)
        prove_by_code(context, purpose);
    else
        prove_by_wallet(context, purpose);
}

Answer send_with_proof(Context& context, Request request, std::string_view purpose) {
    request.access = context.api().access_for(request.access);
    if (request.method != "GET" && !request.idempotency_key)
        request.idempotency_key = context.api().make_key();
    const bool is_kept =
        request.access == Access::session && context.profiles().load_session().has_value();
    const auto send = [&] {
        const Answer answer = context.api().send(request);
        if (request.access == Access::session && !answer.body.empty())
            renew_csrf(context, Reading(answer.body));
        if (is_kept) context.profiles().save_session(*context.api().session);
        return answer;
    };
    try {
        return send();
    } catch (const Failure& failure) {
        // A bad signature or an ended session is refused, too, and no proof helps there.
        if (purpose.empty() || failure.body.empty() ||
            Reading(failure.body).text("error.code") != "FORBIDDEN" ||
            !can_prove(context, request.access))
            throw;
    }
    context.console().say("this needs a fresh proof that it is you");
    step_up(context, request.access, purpose);
    // The proof has renewed the session, whatever comes of the request.
    if (is_kept) context.profiles().save_session(*context.api().session);
    return send();
}

int log_in(Context& context) {
    if (context.rehearse_all()) return 0;
    Api& api = context.api();
    const std::string email = context.arguments().has("email")
                                  ? context.arguments().get("email")
                                  : context.console().ask("mail address");
    if (!context.arguments().is_on("session")) agree_to_fill(context, email);
    api.send({.method = "POST",
              .path = "/api/v1/auth/email/start",
              .body = fmt::format("{{\"email\":{}}}", json_quoted(email)),
              .access = Access::anyone});
    const std::string code =
        code_from(context, "code-file", "code that was mailed to " + printable(email));
    const Answer verified = api.send(
        {.method = "POST",
         .path = "/api/v1/auth/email/verify",
         .body = fmt::format("{{\"email\":{},\"code\":{}}}", json_quoted(email), json_quoted(code)),
         .access = Access::anyone});
    const auto signed_in = read_answer<accounts::SignedIn>(verified.body, "answer");
    if (!api.session) throw Failure(Exit::unexpected, "the server opened no session");
    api.session->csrf_token = signed_in.csrf_token;
    api.session->expires_at = signed_in.expires_at;
    if (signed_in.mfa_required) {
        const std::string second = code_from(context, "proof-file", "code of your authenticator");
        const Answer given = api.send({.method = "POST",
                                       .path = "/api/v1/auth/mfa",
                                       .body = fmt::format("{{\"code\":{}}}", json_quoted(second)),
                                       .access = Access::session});
        renew_csrf(context, Reading(given.body));
    }
    if (!context.arguments().is_on("session")) {
        make_key(context, email);
        return 0;
    }
    context.profiles().save_session(*api.session);
    Profile profile = context.profiles().load().value_or(Profile{});
    if (profile.server.empty()) {
        profile.server = api.target().origin;
        context.profiles().save(profile);
    }
    context.console().say("signed in as " + email + "; `berth logout` ends the session");
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

int log_out(Context& context) {
    if (context.rehearse_all()) return 0;
    if (is_last_credential(context.profiles().load()))
        agree_to_drop(context, context.profiles(), "forget it here?",
                      "nothing else on this machine opens the account");
    if (const auto session = context.profiles().load_session()) {
        // Wherever other commands go now, it ends where it was opened.
        Target there = context.api().target();
        there.origin = session->server;
        context.api().set_target(there);
        try {
            context.api().send(
                {.method = "POST", .path = "/api/v1/auth/sign-out", .access = Access::session});
        } catch (const Failure& failure) {
            if (failure.exit != Exit::refused) throw;
        }
        context.profiles().forget_session();
        context.console().say("the session has ended");
    }
    forget_key(context);
    return 0;
}

}  // namespace berth::cli
