#include "agent_accounts/agents.hpp"

#include <fmt/format.h>

#include "accounts/allow_list.hpp"
#include "accounts/pages.hpp"
#include "agent_accounts/store.hpp"
#include "crypto/evm.hpp"
#include "transfers/addresses.hpp"
#include "wallets/wallets.hpp"

namespace berth::agent_accounts {
namespace {

using accounts::terms_version;

// Nobody is known yet: whoever has the text may answer.
const wallets::Challenges::Scope agent_scope{"agent", ""};

}  // namespace

IssuedChallenge Agents::challenge(api::Call& call, const AskChallenge& request) const {
    const auto address = crypto::parse_address(request.address.value);
    if (!address) throw Problem(Code::invalid_input, "body.address: has a wrong checksum");
    const auto issued = challenges_.issue_text(
        call, agent_scope,
        {.address = *address,
         .statement =
             fmt::format("Register an agent account and accept the terms of service, version {}.",
                         terms_version),
         .resources = {{terms_url()}}});
    return {issued.text, issued.expires_at, std::string(terms_version), terms_url()};
}

RegisteredAgent Agents::enlist(api::Call& call, const RegisterAgent& request) const {
    const accounts::Scopes scopes =
        request.scopes.value_or(accounts::Scopes{{accounts::Scope::renter}});
    const crypto::Address address =
        challenges_.redeem_text(call, agent_scope, {request.message.value, request.signature.value})
            .address;

    // Of two that come at once, one takes the place on the list, and the other finds its account.
    const auto is_known = [&] { return wallets::find_owner(call.tx(), address).has_value(); };
    if (!is_known() && !accounts::lets_wallet_in(call, crypto::to_string(address)) && !is_known())
        accounts::refuse_entrance();

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

    if (wallets::is_barred(call.tx(), address))
        throw api::CommittedProblem(Code::forbidden,
                                    "another wallet has taken the place of this one");

    wallets::bind(call, owner, address);
    transfers::save_own_address(call.context(), owner, address);
    for (const accounts::Scope scope : scopes.value)
        if (scope == accounts::Scope::host) accounts::become_host(call.tx(), owner);
    put_profile(call.tx(), owner, request.agent, call.now);
    if (request.revoke_previous.value_or(false)) accounts_.keys().revoke_all(call, owner);
    auto key =
        accounts_.keys().issue(call, {owner, "agent registration", scopes,
                                      call.now + accounts::key_lifetime_max, request.policy});
    return {owner,
            accounts::Kind::agent,
            created,
            {crypto::checksummed(address)},
            std::string(terms_version),
            {key.key_id, key.secret, key.prefix, key.scopes, key.expires_at},
            {site_.base_url + "/api/v1/funding-intents", site_.base_url + "/api/v1/quotes",
             site_.base_url + "/openapi.json"}};
}

}  // namespace berth::agent_accounts
