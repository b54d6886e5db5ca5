#include "accounts/notices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/settings.hpp"
#include "accounts/told.hpp"

namespace berth::accounts {
namespace {

void tell_owner(api::Call& call, const Notice& notice) {
    const std::string type = "account." + notice.action;
    const auto kind = std::find_if(account_kinds.begin(), account_kinds.end(),
                                   [&](const AccountKind& each) { return each.type == type; });
    require(kind != account_kinds.end(), "every notice has a type of event");
    events::tell(call.context(), *kind, notice.account, notice.account,
                 AccountFacts{notice.action, notice.key_prefix});
}

}  // namespace

std::vector<events::DeclaredKind> event_kinds() {
    return {account_kinds.begin(), account_kinds.end()};
}

void Notices::send(api::Call& call, const Notice& notice) const {
    const auto account = find_account(call.tx(), notice.account);
    require(account.has_value(), "a notice is about an account that is there");
    if (account->email) mail(call, *account->email, notice);
    tell_owner(call, notice);
    audit::record(call.context(), {.actor = audit::Actor::of(notice.account),
                                   .action = notice.action,
                                   .target = {"account", to_string(notice.account)},
                                   .changes = notice.changes,
                                   .request = call.request_id});
}

void Notices::mail(api::Call& call, const std::string& email, const Notice& notice) const {
    outbox_.send(
        call.context(),
        {.to = email,
         .subject = fmt::format("{}: {}", brand(call), notice.what),
         .text = fmt::format(
             "In your account at {}, {}.{}\n\nWhen: {}\nFrom the network address: {}\n\n"
             "If this was you, there is nothing to do. If not, somebody else is in your account: "
             "sign in, end all sessions, revoke the keys you do not know, and write to support.\n",
             site_.base_url, notice.what, notice.detail.empty() ? "" : " " + notice.detail,
             to_rfc3339(call.now), call.request.client_address)});
}

}  // namespace berth::accounts
