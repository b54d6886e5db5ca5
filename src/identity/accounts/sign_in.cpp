#include "accounts/sign_in.hpp"

#include <fmt/format.h>

#include "accounts/allow_list.hpp"
#include "accounts/policies.hpp"
#include "accounts/settings.hpp"
#include "api/rate_limit.hpp"
#include "mail/address.hpp"

namespace berth::accounts {
namespace {

constexpr std::string_view step_up_purpose = "step-up";

std::string normalized(const Email& email) { return mail::normalized_email(email.value).value(); }

mail::Message sign_in_mail(const api::Call& call, const Site& site, const std::string& email,
                           const EmailCodes::Issued& issued) {
    return {.to = email,
            .subject = fmt::format("Your {} sign-in code", brand(call)),
            .text = fmt::format("Your sign-in code for {}: {}\n\n"
                                "Or open this link and press the button:\n{}/sign-in#{}\n\n"
                                "Both work once, for ten minutes. If you did not ask for this, "
                                "ignore it: nobody can sign in without this mail.\n",
                                site.base_url, issued.code, site.base_url, issued.token),
            .useful_until = issued.expires_at};
}

mail::Message step_up_mail(const api::Call& call, const Site& site, const std::string& email,
                           const EmailCodes::Issued& issued) {
    return {.to = email,
            .subject = fmt::format("Your {} confirmation code", brand(call)),
            .text = fmt::format("Your code to confirm a change of your account at {}: {}\n\n"
                                "It works once, for ten minutes, in the browser that asked for it. "
                                "If you did not ask for this, somebody is in your account: sign "
                                "out everywhere and write to support.\n",
                                site.base_url, issued.code),
            .useful_until = issued.expires_at};
}

void note_way_in(api::Call& call, AccountId account) {
    note_network(call.tx(), account, api::address_key(call.request.client_address), call.now);
}

}  // namespace

// Every address is written to and answered in the same way and with the same work. A mailbox that
// had its share of mail gets no more of it, and that does not show in the answer either.
CodeSent SignIn::start(api::Call& call, const StartSignIn& request) const {
    sessions_.check_origin(call.request);
    const std::string email = normalized(request.email);
    const auto issued = codes_.issue(call, {std::string(sign_in_purpose), email, "", true});
    if (issued.to_be_sent) outbox_.send(call.context(), sign_in_mail(call, site_, email, issued));
    return {true, issued.expires_at};
}

SignedIn SignIn::verify(api::Call& call, const VerifySignIn& request) const {
    sessions_.check_origin(call.request);
    std::string email;
    if (const auto* by_code = std::get_if<SignInByCode>(&request.value)) {
        email = normalized(by_code->email);
        codes_.redeem(call, {std::string(sign_in_purpose), email, "", false}, by_code->code.value);
    } else {
        const auto& by_link = std::get<SignInByLink>(request.value);
        email = codes_.redeem_link(call, sign_in_purpose, by_link.token.value);
    }
    const Account account = account_of(call, email);
    if (account.suspended)
        throw api::CommittedProblem(Code::unauthenticated,
                                    "this account is suspended; write to support");
    const bool pending = account.totp_secret.has_value();
    const auto fresh = sessions_.open(call, account.id, pending);
    if (!pending) note_way_in(call, account.id);
    return {account.id, account.role, pending, fresh.csrf_token, fresh.expires_at};
}

// Noting the sign-in locks the account before it is read: an authenticator that is being turned on
// at this moment is either seen here, or its confirmation sees and ends the session made here.
Account SignIn::account_of(api::Call& call, const std::string& email) const {
    // Two codes of one mailbox may be used at once: the second finds the place on the list taken,
    // and the account that the first one made.
    const auto is_known = [&] { return find_account_by_email(call.tx(), email).has_value(); };
    const auto fresh = call.make_id<AccountId>();
    if (!is_known() && is_promised(call.tx(), email, fresh, call.now))
        throw api::CommittedProblem(Code::forbidden,
                                    "an account that lost its mailbox is to be reached by this "
                                    "address; sign in once that is done");
    if (!is_known() && !lets_mailbox_in(call, email) && !is_known()) refuse_entrance();
    add_human(call.tx(), fresh, email, call.now);
    note_sign_in(call.tx(), email, call.now);
    auto account = find_account_by_email(call.tx(), email);
    // The account that had this address got another one at this very moment; the code stays good.
    if (!account) throw Problem(Code::conflict, "the address was just changed; try again");
    return *account;
}

SignedIn SignIn::second_factor(api::Call& call, const SecondFactor& request) const {
    if (call.caller.credential != api::Credential::pending_session)
        throw Problem(Code::conflict, "no second factor is awaited");
    const auto account = find_account(call.tx(), call.caller.account);
    require(account.has_value(), "a caller has an account");
    factors_.redeem(call, *account, request.code.value);
    const auto fresh = sessions_.rotate(call);
    note_sign_in(call.tx(), account->id, call.now);
    note_way_in(call, account->id);
    return {account->id, account->role, false, fresh.csrf_token, fresh.expires_at};
}

void SignIn::sign_out(api::Call& call) const { sessions_.close(call); }

// The way out when a session was stolen, so it asks for nothing that could have been stolen with
// it.
void SignIn::revoke_sessions(api::Call& call) const {
    delete_sessions(call.tx(), call.caller.account);
    sessions_.close(call);
    notices_.send(call, {call.caller.account, "end_sessions", "all sessions were ended"});
}

void SignIn::revoke_session(api::Call& call, SessionId id) const {
    if (id.uuid == call.caller.credential_id) return sessions_.close(call);
    if (!delete_session(call.tx(), call.caller.account, id))
        throw Problem(Code::not_found, "the account has no such session");
    audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                   .action = "end_session",
                                   .target = {"account", to_string(call.caller.account)},
                                   .changes = {{"session", to_string(id), std::nullopt}},
                                   .request = call.request_id});
}

WhoAmI SignIn::who_am_i(api::Call& call) const {
    const auto account = find_account(call.tx(), call.caller.account);
    require(account.has_value(), "a caller has an account");
    const bool by_key = call.caller.credential == api::Credential::api_key;
    WhoAmI me;
    me.account_id = account->id;
    me.account_kind = account->kind;
    me.email = account->email;
    me.role = account->role;
    me.host_capability = account->host_capability;
    me.credential = by_key ? CredentialKind::api_key : CredentialKind::session;
    if (call.caller.renter) me.scopes.push_back(Scope::renter);
    if (call.caller.host) me.scopes.push_back(Scope::host);
    me.mfa_enrolled = account->totp_secret.has_value();
    me.mfa_required = call.caller.credential == api::Credential::pending_session;
    if (by_key) {
        const KeyId key{call.caller.credential_id};
        me.policy = find_policy(call.tx(), key);
        me.policy_left = find_left(call.tx(), key, call.now);
    } else {
        me.csrf_token = sessions_.csrf_token(call.request);
        if (const auto open = sessions_.find(call.request, call.tx(), call.now))
            me.expires_at = open->session.expires_at;
    }
    return me;
}

CodeSent SignIn::send_step_up_code(api::Call& call) const {
    const auto account = find_account(call.tx(), call.caller.account);
    require(account && account->email, "a session belongs to a person");
    if (account->totp_secret)
        throw Problem(Code::conflict, "this account confirms with its authenticator");
    const auto issued = codes_.issue(call, {std::string(step_up_purpose), *account->email,
                                            to_string(call.caller.credential_id), false});
    outbox_.send(call.context(), step_up_mail(call, site_, *account->email, issued));
    return {true, issued.expires_at};
}

Grant SignIn::step_up(api::Call& call, Purpose purpose, const std::string& code) const {
    const auto account = find_account(call.tx(), call.caller.account);
    require(account && account->email, "a session belongs to a person");
    const bool admin = purpose == Purpose::admin_sensitive;
    if (admin && !account->totp_secret)
        throw Problem(Code::forbidden, "this purpose needs an enrolled authenticator");
    if (admin)
        factors_.redeem_authenticator(call, *account, code);
    else if (account->totp_secret)
        factors_.redeem(call, *account, code);
    else
        codes_.redeem(call,
                      {std::string(step_up_purpose), *account->email,
                       to_string(call.caller.credential_id), false},
                      code);
    const Time until = call.now + step_up_lifetime;
    set_step_up(call.tx(), SessionId{call.caller.credential_id}, purpose, until);
    const auto fresh = sessions_.rotate(call);
    return {call.make_id<GrantId>(), purpose, until, fresh.csrf_token};
}

TotpConfirmed SignIn::confirm_totp(api::Call& call, const ConfirmTotp& request) const {
    auto codes = factors_.confirm(call, request);
    // Sessions that were opened without it would pass for ones that had it.
    delete_other_sessions(call.tx(), call.caller.account, {call.caller.credential_id});
    return {true, std::move(codes), sessions_.rotate(call).csrf_token};
}

}  // namespace berth::accounts
