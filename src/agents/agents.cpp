#include "agents/agents.hpp"

#include <fmt/format.h>

#include "accounts/pages.hpp"
#include "agents/store.hpp"
#include "crypto/hash.hpp"
#include "crypto/siwe.hpp"
#include "transfers/addresses.hpp"
#include "wallets/wallets.hpp"

namespace berth::agents {
namespace {

using accounts::terms_version;

constexpr std::string_view agent_purpose = "agent";

[[noreturn]] void refuse(std::string_view why) {
    throw api::CommittedProblem(Code::authorization_invalid,
                                fmt::format("{}; ask for a new challenge", why));
}

std::string fingerprint(std::string_view message) { return to_hex(crypto::sha256(message)); }

}  // namespace

IssuedChallenge Agents::challenge(api::Call& call, const AskChallenge& request) const {
    const auto address = crypto::parse_address(request.address.value);
    if (!address) throw Problem(Code::invalid_input, "body.address: has a wrong checksum");
    const Time expires_at = call.now + wallets::challenge_lifetime;
    crypto::SiweMessage message;
    message.domain = site_.domain;
    message.address = *address;
    message.statement = fmt::format(
        "Register an agent account and accept the terms of service, version {}.", terms_version);
    message.uri = site_.base_url;
    message.chain_id = wallets::base_chain_id;
    message.nonce = wallets::make_nonce(call.random);
    message.issued_at = crypto::SiweTime::of(call.now);
    message.expiration_time = crypto::SiweTime::of(expires_at);
    message.resources = {terms_url()};
    const auto text = crypto::write_siwe(message);
    require(text.has_value(), "a challenge of ours is a well-formed message");
    wallets::add_challenge(call.tx(), {message.nonce, std::string(agent_purpose), fingerprint(*text),
                              call.now, expires_at});
    return {*text, expires_at, std::string(terms_version), terms_url()};
}

RegisteredAgent Agents::enlist(api::Call& call, const RegisterAgent& request) const {
    const accounts::Scopes scopes =
        request.scopes.value_or(accounts::Scopes{{accounts::Scope::renter}});
    const crypto::Address address = check_proof(call, request);

    const auto fresh = call.make_id<AccountId>();
    const AccountId owner = wallets::reserve_address(call.tx(), address, fresh);
    const bool created = owner == fresh;
    if (created) accounts::add_agent(call.tx(), owner, call.now);
    const auto account = accounts::find_account(call.tx(), owner);
    require(account.has_value(), "the owner of a wallet is an account");
    if (account->kind != accounts::Kind::agent)
        throw api::CommittedProblem(Code::forbidden, "this wallet belongs to a person's account");
    if (account->suspended)
        throw api::CommittedProblem(Code::forbidden, "this account is suspended");

    wallets::bind(call, owner, address);
    transfers::save_own_address(call.tx(), call.make_id<transfers::AddressId>(), owner, address,
                                call.now);
    for (const accounts::Scope scope : scopes.value)
        if (scope == accounts::Scope::host) accounts::become_host(call.tx(), owner);
    put_profile(call.tx(), owner, request.agent, call.now);
    auto key = accounts_.keys().issue(call, {owner, "agent registration", scopes, std::nullopt});
    return {owner,
            accounts::Kind::agent,
            created,
            {crypto::checksummed(address)},
            std::string(terms_version),
            {key.key_id, key.secret, key.prefix, key.scopes},
            {site_.base_url + "/api/v1/funding-intents", site_.base_url + "/api/v1/quotes",
             site_.base_url + "/openapi.json"}};
}

// The text must be the one we issued, to the byte. The challenge is spent whether the proof holds
// or not.
crypto::Address Agents::check_proof(api::Call& call, const RegisterAgent& request) const {
    const std::string& text = request.message.value;
    const auto message = crypto::parse_siwe(text);
    if (!message) refuse(crypto::describe(crypto::SiweFault::malformed));
    const auto challenge =
        wallets::spend_challenge(call.tx(), agent_purpose, message->nonce, call.now);
    if (!challenge) refuse("the challenge is unknown, used or expired");
    if (challenge->bound_to != fingerprint(text))
        refuse("the message is not the one that was issued");
    const auto fault = crypto::verify_siwe({text, request.signature.value},
                                           {.domain = site_.domain,
                                            .uri = site_.base_url,
                                            .chain_id = wallets::base_chain_id,
                                            .nonce = challenge->nonce,
                                            .address = message->address,
                                            .now = call.now,
                                            .issued_ahead_max = wallets::clock_skew_max});
    if (fault) refuse(crypto::describe(*fault));
    return message->address;
}

}  // namespace berth::agents
