// Signing in by mail, and out again.
#include <fmt/format.h>

#include "accounts/types.hpp"
#include "base/json_text.hpp"
#include "cli/codes.hpp"
#include "cli/credentials.hpp"
#include "cli/special.hpp"

namespace berth::cli {
namespace {

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
    const Answer made = api.send(request);
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

void open_session(Context& context, const std::string& email) {
    Api& api = context.api();
    api.send({.method = "POST",
              .path = "/api/v1/auth/email/start",
              .body = fmt::format("{{\"email\":{}}}", json_quoted(email)),
              .access = Access::anyone});
    const Answer verified =
        give_code(context, {"code-file", "code that was mailed to " + printable(email)},
                  [&](const std::string& code) {
                      return api.send({.method = "POST",
                                       .path = "/api/v1/auth/email/verify",
                                       .body = fmt::format("{{\"email\":{},\"code\":{}}}",
                                                           json_quoted(email), json_quoted(code)),
                                       .access = Access::anyone});
                  });
    const auto signed_in = read_answer<accounts::SignedIn>(verified.body, "answer");
    if (!api.session) throw Failure(Exit::unexpected, "the server opened no session");
    api.session->expires_at = signed_in.expires_at;
    if (!signed_in.mfa_required) return;
    give_code(context,
              {.flag = "proof-file", .question = "code of your authenticator", .is_digits = false},
              [&](const std::string& code) {
                  return api.send({.method = "POST",
                                   .path = "/api/v1/auth/mfa",
                                   .body = fmt::format("{{\"code\":{}}}", json_quoted(code)),
                                   .access = Access::session});
              });
}

// Later commands go to the server of the profile, and would not find a session with another.
void refuse_other_server(Context& context) {
    const auto profile = context.profiles().load();
    const std::string& origin = context.api().target().origin;
    const bool is_named = context.arguments().has("server");
    if (!is_named || !profile || profile->server.empty() || profile->server == origin) return;
    throw Failure(Exit::conflict,
                  fmt::format("profile {} is of {}: keep a session with another server by `berth "
                              "--profile NAME --server {} login`",
                              context.profiles().name(), profile->server, origin));
}

void keep_session(Context& context) {
    context.api().keep_session();
    Profile profile = context.profiles().load().value_or(Profile{});
    if (!profile.server.empty()) return;
    profile.server = context.api().target().origin;
    context.profiles().save(profile);
}

// Of an account that may do something as an operator, the session can do it from here on.
void become_operator(Context& context, const std::string& email) {
    Api& api = context.api();
    const Reading who(api.get("/api/v1/auth/session", Access::session).body);
    if (who.text("mfa_enrolled") != "true") {
        context.console().say("operators need an authenticator, and this account has none yet");
        enroll_authenticator(context);
    }
    try {
        api.get("/api/v1/admin/overview", Access::session);
    } catch (const Failure& failure) {
        if (failure.exit != Exit::refused) throw;
        throw Failure(failure.exit,
                      fmt::format("{} is signed in, and is no operator: on the server, `berthd "
                                  "admin create --email {}` makes it one",
                                  email, email),
                      failure.body);
    }
    if (context.console().can_ask()) offer_proof(context, "admin-sensitive");
}

}  // namespace

int log_in(Context& context) {
    if (context.rehearse_all()) return 0;
    const std::string email = context.arguments().has("email")
                                  ? context.arguments().get("email")
                                  : context.console().ask("mail address");
    const bool is_operator = context.arguments().is_on("admin");
    const bool keeps_session = is_operator || context.arguments().is_on("session");
    if (keeps_session)
        refuse_other_server(context);
    else
        agree_to_fill(context, email);
    open_session(context, email);
    if (!keeps_session) {
        make_key(context, email);
        return 0;
    }
    keep_session(context);
    if (is_operator) become_operator(context, email);
    context.console().say(fmt::format("signed in as {}; `{} logout` ends the session", email,
                                      context.profiles().command()));
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
