#include "wallets/step_up.hpp"

#include <fmt/format.h>

#include "wallets/store.hpp"

namespace berth::wallets {
namespace {

using accounts::Purpose;

bool by_key(const api::Call& call) { return call.caller.credential == api::Credential::api_key; }

bool is_agent(api::Call& call) {
    const auto account = accounts::find_account(call.tx(), call.caller.account);
    require(account.has_value(), "a caller has an account");
    return account->kind == accounts::Kind::agent;
}

void check_purpose(Purpose purpose) {
    if (purpose == Purpose::admin_sensitive)
        throw Problem(Code::forbidden, "this purpose needs a session and an authenticator");
}

// The grant is for the key that asked, and for the purpose it named then.
Challenges::Scope scope_of(const api::Call& call, Purpose purpose) {
    return {"step-up", fmt::format("{}:{}:", to_string(call.caller.credential_id),
                                   accounts::wire_name(purpose))};
}

}  // namespace

StepUpChallenge StepUps::challenge(api::Call& call, const AskStepUpChallenge& request) const {
    if (!is_agent(call))
        throw Problem(Code::conflict, "this account confirms by mail or with its authenticator");
    check_purpose(request.purpose);
    std::optional<crypto::Address> wallet;
    for (const Binding& binding : list_bindings(call.tx(), call.caller.account))
        if (!binding.unlinked_at) wallet = binding.address;
    if (!wallet) throw Problem(Code::conflict, "this account has no wallet to sign with");
    const auto issued = challenges_.issue_text(
        call, scope_of(call, request.purpose),
        {.address = *wallet,
         .statement = fmt::format("Let one API key of this agent account make changes of the kind "
                                  "{} for five minutes.",
                                  accounts::wire_name(request.purpose))});
    return {issued.text, issued.expires_at};
}

accounts::Grant StepUps::step_up(api::Call& call, const AskStepUp& request) const {
    if (const auto* signed_text = std::get_if<StepUpByWallet>(&request.value))
        return by_wallet(call, *signed_text);
    if (by_key(call))
        throw Problem(Code::forbidden,
                      "a session is needed to confirm with a code; an agent signs a challenge");
    const auto& by_code = std::get<StepUpByCode>(request.value);
    return accounts_.step_up(call, by_code.purpose, by_code.code.value);
}

accounts::Grant StepUps::by_wallet(api::Call& call, const StepUpByWallet& request) const {
    if (!by_key(call) || !is_agent(call))
        throw Problem(Code::forbidden,
                      "a session is needed, and a code: signed challenges are for agents");
    check_purpose(request.purpose);
    challenges_.redeem_text(call, scope_of(call, request.purpose),
                            {request.message.value, request.signature.value});
    return accounts_.keys().grant(call, request.purpose);
}

}  // namespace berth::wallets
