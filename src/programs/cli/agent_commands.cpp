// Accounts that wallets open, and wallets that accounts link.
#include <fmt/format.h>

#include "agent_accounts/types.hpp"
#include "base/json_text.hpp"
#include "cli/credentials.hpp"
#include "cli/special.hpp"
#include "cli/wallet.hpp"
#include "crypto/siwe.hpp"
#include "wallets/types.hpp"

namespace berth::cli {
namespace {

// The members of a registration: the description of the agent, and the scopes and policy of its
// key.
std::string registration_members(const Arguments& given) {
    std::string agent;
    for (const auto& [flag, member] :
         std::initializer_list<std::pair<std::string_view, std::string_view>>{
             {"name", "name"},
             {"vendor", "vendor"},
             {"model", "model"},
             {"operator-contact", "operator_contact"},
             {"homepage", "homepage"}})
        if (given.has(flag))
            agent += fmt::format("{}\"{}\":{}", agent.empty() ? "" : ",", member,
                                 json_quoted(given.get(flag)));
    std::string scopes;
    for (std::string rest = given.get("scopes", "renter"); !rest.empty();) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        scopes += (scopes.empty() ? "" : ",") + json_quoted(rest.substr(0, comma));
        rest.erase(0, comma + 1);
    }
    std::string out = fmt::format("\"agent\":{{{}}},\"scopes\":[{}]", agent, scopes);
    if (given.is_on("revoke-previous")) out += ",\"revoke_previous\":true";
    if (const auto policy = given.find("policy")) {
        const std::string json =
            policy->starts_with('@') ? read_input(policy->substr(1), "--policy") : *policy;
        wire::Document document;
        if (document.parse(json)) throw Failure(Exit::usage, "--policy: must be JSON, or @FILE");
        out += ",\"policy\":" + json;
    }
    return out;
}

// Puts the new key into the profile. Returns the file of the copy of another account's profile,
// else nothing.
std::string save_key(Context& context, const agent_accounts::RegisteredAgent& made,
                     const std::string& wallet_file) {
    std::string copy;
    Profile profile = make_room(context, made.address.value, copy);
    if (has_key(profile))
        context.console().say(
            fmt::format("the new key takes the place of {} of the same account, which works until "
                        "`berth keys revoke` ends it",
                        profile.key_id.value_or("another key")));
    profile.api_key = made.api_key.secret.value;
    profile.key_id = to_string(made.api_key.key_id);
    profile.expires_at = made.api_key.expires_at.value;
    profile.account = made.address.value;
    if (!wallet_file.empty()) profile.wallet = wallet_file;
    context.profiles().save(profile);
    return copy;
}

// Before a wallet is made, or anything sent: a profile of another account stays as it is.
crypto::SigningKey choose_wallet(Context& context, std::string& wallet_file) {
    const bool is_new = !has_wallet(context);
    if (is_new) agree_to_fill(context, "the account of a new wallet");
    crypto::SigningKey wallet = open_or_make_wallet(context, wallet_file);
    if (!is_new) agree_to_fill(context, crypto::checksummed(wallet.address()));
    return wallet;
}

}  // namespace

int register_agent(Context& context) {
    Api& api = context.api();
    const std::string wanted = registration_members(context.arguments());
    if (context.is_rehearsal()) {
        context.rehearse({.method = "POST",
                          .path = "/api/v1/agents/accounts/challenge",
                          .body = "{\"address\":\"ADDRESS\"}",
                          .access = Access::anyone});
        context.rehearse({.method = "POST",
                          .path = "/api/v1/agents/accounts",
                          .body = "{\"message\":\"TEXT OF THE CHALLENGE\",\"signature\":"
                                  "\"SIGNATURE\"," +
                                  wanted + "}",
                          .access = Access::anyone});
        return 0;
    }
    std::string wallet_file;
    const crypto::SigningKey wallet = choose_wallet(context, wallet_file);
    const std::string address = crypto::checksummed(wallet.address());
    const Answer challenge =
        api.send({.method = "POST",
                  .path = "/api/v1/agents/accounts/challenge",
                  .body = fmt::format("{{\"address\":{}}}", json_quoted(address)),
                  .access = Access::anyone});
    const auto issued = read_answer<agent_accounts::IssuedChallenge>(challenge.body, "challenge");
    context.console().say(fmt::format("registering accepts the terms of {} at {}",
                                      issued.terms_version, issued.terms_url));
    const Answer answer = api.send(
        {.method = "POST",
         .path = "/api/v1/agents/accounts",
         .body = fmt::format("{{\"message\":{},\"signature\":{},{}}}", json_quoted(issued.message),
                             json_quoted(sign_message(context, wallet, issued.message)), wanted),
         .access = Access::anyone});
    const auto made = read_answer<agent_accounts::RegisteredAgent>(answer.body, "answer");
    const std::string copy = save_key(context, made, wallet_file);
    context.console().say("the key is in " + context.profiles().file() +
                          "; next: berth funding create, berth offers list");
    // Not the API's own body: the secret is in the file, and nowhere else.
    const std::string account = to_string(made.account_id);
    context.print_own(
        fmt::format("{{\"account_id\":\"{}\",\"address\":\"{}\",\"created\":{},\"key_id\":\"{}\","
                    "\"profile\":{}{}}}",
                    account, address, made.created, to_string(made.api_key.key_id),
                    json_quoted(context.profiles().name()),
                    copy.empty() ? "" : ",\"copy\":" + json_quoted(copy)),
        fmt::format("account  {}\nwallet   {}\nprofile  {}\n", account, address,
                    context.profiles().name()));
    return 0;
}

int link_wallet(Context& context) {
    if (context.is_rehearsal()) {
        context.rehearse(
            {.method = "POST", .path = "/api/v1/wallets/nonce", .access = Access::session});
        context.rehearse({.method = "POST",
                          .path = "/api/v1/wallets/link",
                          .body = "{\"chain_id\":8453,\"address\":\"ADDRESS\",\"siwe_message\":"
                                  "\"TEXT\",\"signature\":\"SIGNATURE\"}",
                          .access = Access::session});
        return 0;
    }
    const crypto::SigningKey wallet = open_wallet(context);
    const std::string& origin = context.api().target().origin;
    const Answer nonce = context.api().send(
        {.method = "POST", .path = "/api/v1/wallets/nonce", .access = Access::session});
    crypto::SiweMessage text;
    text.domain = host_of(origin);
    text.address = wallet.address();
    text.statement = "Link this wallet to my account.";
    text.uri = origin;
    text.chain_id = wallets::base_chain_id;
    const Reading given(nonce.body);
    text.nonce = given.text("nonce");
    text.issued_at = crypto::SiweTime::of(context.now());
    text.expiration_time = crypto::SiweTime::parse(given.text("expires_at"));
    const auto message = crypto::write_siwe(text);
    if (!message) throw Failure(Exit::unexpected, "the server gave a nonce that is none");
    const Answer linked = context.api().send(
        {.method = "POST",
         .path = "/api/v1/wallets/link",
         .body = fmt::format(
             "{{\"chain_id\":{},\"address\":{},\"siwe_message\":{},"
             "\"signature\":{}}}",
             wallets::base_chain_id, json_quoted(crypto::checksummed(wallet.address())),
             json_quoted(*message), json_quoted(sign_message(context, wallet, *message))),
         .access = Access::session});
    context.print(linked.body, "");
    return 0;
}

}  // namespace berth::cli
