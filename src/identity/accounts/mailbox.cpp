#include "accounts/mailbox.hpp"

#include <fmt/format.h>

#include "accounts/operators.hpp"
#include "accounts/settings.hpp"
#include "base/check.hpp"
#include "mail/address.hpp"

namespace berth::accounts {
namespace {

Account own_person(api::Call& call) {
    auto account = find_account(call.tx(), call.caller.account);
    require(account && account->email, "a session belongs to a person");
    return *account;
}

// A code is for one account and one address; what others ask for and guess at the same address is
// counted as theirs, so that nobody keeps the account from it.
EmailCodes::Order order_of(const Account& account, const std::string& email) {
    return {"new email of " + to_string(account.id), email, to_string(account.id), false};
}

// Keeps: whoever took an account over neither moves it out of an operator's reach while it is
// frozen, nor makes so many addresses former ones that the owner's is told of nothing.
void require_may_change(api::Call& call, const Account& account) {
    require_not_frozen(call.tx(), account.id);
    const auto lately = list_former_emails(call.tx(), account.id, call.now - email_changes_window);
    if (static_cast<std::int64_t>(lately.size()) >= email_changes_max)
        throw Problem(Code::conflict,
                      "the address was changed too often in the last 30 days; write to support");
}

mail::Message code_mail(const api::Call& call, const Site& site, const std::string& email,
                        const EmailCodes::Issued& issued) {
    return {.to = email,
            .subject = fmt::format("Your {} confirmation code", brand(call)),
            .text = fmt::format("Your code to sign in to {} by this address from now on: {}\n\n"
                                "It works once, for ten minutes, in the account that asked for "
                                "it. If you did not ask for this, ignore it: nothing changes "
                                "without this code.\n",
                                site.base_url, issued.code),
            .useful_until = issued.expires_at};
}

mail::Message taken_mail(const api::Call& call, const Site& site, const std::string& email) {
    return {.to = email,
            .subject = fmt::format("Your {} account stays as it is", brand(call)),
            .text = fmt::format("Somebody wanted to sign in to another account at {} by this "
                                "address, which has an account of its own. Nothing was changed, "
                                "and there is nothing to do.\n",
                                site.base_url)};
}

}  // namespace

CodeSent Mailboxes::ask(api::Call& call, const NewEmail& request) const {
    const std::string email = mail::normalized_email(request.email.value).value();
    const Account account = own_person(call);
    call.require_step_up();
    if (email == *account.email)
        throw Problem(Code::conflict, "the account signs in by this address already");
    require_may_change(call, account);
    const auto issued = codes_.issue(call, order_of(account, email));
    outbox_.send(call.context(), find_account_by_email(call.tx(), email)
                                     ? taken_mail(call, site_, email)
                                     : code_mail(call, site_, email, issued));
    notices_.send(call, {.account = account.id,
                         .action = "ask_new_email",
                         .what = "another address of mail was named",
                         .detail = fmt::format("It is {}. Nothing changes before a code that was "
                                               "mailed there is given.",
                                               masked_email(email)),
                         .changes = {{"email", std::nullopt, masked_email(email)}}});
    return {true, issued.expires_at};
}

// Keeps: nobody takes an account over by a session alone. The proof of presence came by the old
// address or the authenticator, the code by the new one, and sessions that were open elsewhere end.
EmailChanged Mailboxes::confirm(api::Call& call, const ConfirmEmail& request) const {
    const std::string email = mail::normalized_email(request.email.value).value();
    const Account account = own_person(call);
    call.require_step_up();
    require_may_change(call, account);
    codes_.redeem(call, order_of(account, email), request.code.value);
    if (!put_email(call.context(), account.id, email))
        throw Problem(Code::conflict,
                      "this address has an account of its own; sign in there, or name another one");
    delete_other_sessions(call.tx(), account.id, {call.caller.credential_id});
    const std::string csrf = sessions_.rotate(call).csrf_token;
    const Notice notice{
        .account = account.id,
        .action = "change_email",
        .what = "the address of mail was changed",
        .detail = fmt::format("From now on one signs in by {}.", masked_email(email)),
        .changes = {{"email", masked_email(*account.email), masked_email(email)}}};
    // The one before is among them, and the owner's own, where that was changed a while ago.
    const Time since = call.now - email_changes_window;
    for (const std::string& former : list_former_emails(call.tx(), account.id, since))
        notices_.mail(call, former, notice);
    notices_.send(call, notice);
    return {account.id, email, csrf};
}

std::string masked_email(std::string_view email) {
    return fmt::format("{}…@{}", email.substr(0, 1), mail::domain_of(email));
}

}  // namespace berth::accounts
