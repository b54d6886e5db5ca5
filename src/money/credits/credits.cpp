#include "credits/credits.hpp"

#include "accounts/allowances.hpp"
#include "base/letters.hpp"
#include "credits/rows.hpp"
#include "credits/settings.hpp"

namespace berth::credits {
namespace {

const api::RateRule code_rate{"campaign codes",
                              api::rate_setting<&Settings::rate_campaign_codes_per_hour>,
                              std::chrono::hours(1), api::RateRule::By::account};

// Accounts that one network address may redeem codes for in a day.
constexpr std::int64_t redeemed_per_address = 10;

Credit shown(const CreditRow& row, const std::string& campaign) {
    return {row.credit_id, campaign,        row.asset,     row.amount,
            row.remaining, row.redeemed_at, row.expires_at};
}

// Operators begin campaigns, and therefore do not gain by one. A credit is for each account once,
// which means nothing where accounts cost nothing: agents register by the hundred, and people who
// never paid in are as many as they have addresses. They are refused before the code is looked at,
// so that guessing one costs something, too.
void require_customer(api::Call& call) {
    const auto account = accounts::find_account(call.tx(), call.caller.account);
    require(account.has_value(), "a caller has an account");
    if (account->role == accounts::Role::admin || account->desk_role)
        throw Problem(Code::forbidden, "operators do not redeem their own market's codes");
    if (account->kind == accounts::Kind::agent)
        throw Problem(Code::forbidden, "agents redeem no codes");
    if (!ledger::has_deposited(call.tx(), account->id))
        throw Problem(Code::forbidden, "codes are for accounts that have paid something in before");
}

// Keeps: whoever wants many credits has to bring as much money to each account as its credit gives,
// and one network does not do so by the hundred. The same money may come to one after the other.
void require_worth(api::Call& call, const Campaign& campaign) {
    const Micro paid_in = ledger::deposited(call.tx(), call.caller.account, campaign.asset);
    if (paid_in < campaign.per_account)
        throw Problem(Code::forbidden,
                      "codes are for accounts that have paid in at least as much as the credit");
}

void count_address(api::Call& call) {
    const accounts::Allowance allowance{"campaign codes",
                                        api::address_key(call.request.client_address),
                                        redeemed_per_address, std::chrono::hours(24)};
    if (!accounts::take(call.tx(), allowance, 1, call.now)) throw Problem::rate_limited();
}

}  // namespace

Credit CreditDesk::redeem(api::Call& call, const RedeemCode& request) const {
    require_customer(call);
    std::string code;
    for (const char c : request.campaign_code.value) code += to_upper(c);
    const auto campaign = find_campaign_by_code(call.tx(), code);
    if (!campaign) throw Problem(Code::not_found, "body.campaign_code: there is no such code");
    require_worth(call, *campaign);
    const CreditRow row{.credit_id = call.make_id<CreditId>(),
                        .campaign_id = campaign->campaign_id,
                        .account_id = call.caller.account,
                        .asset = campaign->asset,
                        .amount = campaign->per_account,
                        .remaining = campaign->per_account,
                        .redeemed_at = call.now,
                        .expires_at = call.now + std::chrono::hours(24 * campaign->credit_days)};
    if (!add_credit(call.tx(), row))
        throw Problem(Code::conflict, "this account has redeemed the code before");
    if (!redeem_campaign(call.tx(), campaign->campaign_id, call.now))
        throw Problem(Code::conflict, "the campaign is over, or nothing is left of it");
    count_address(call);
    return shown(row, campaign->name);
}

Credits CreditDesk::list(api::Call& call) const {
    Credits own;
    for (const CreditRow& row : list_credits(call.tx(), call.caller.account)) {
        const auto campaign = find_campaign(call.tx(), row.campaign_id);
        require(campaign.has_value(), "a credit is of a campaign that is there");
        own.items.push_back(shown(row, campaign->name));
    }
    return own;
}

void CreditDesk::add_routes(api::Router& router) const {
    using api::Access;
    using api::Work;
    router.add({.method = "GET",
                .path = "/api/v1/billing/credits",
                .name = "list_credits",
                .group = "billing",
                .summary = "The account's promotional credits, those that live longest first.",
                .access = Access::renter},
               [this](api::Call& call) { return list(call); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/billing/credits",
         .name = "redeem_code",
         .group = "billing",
         .summary = "Redeems a campaign's code for a credit that pays for rentals first.",
         .access = Access::renter,
         .work = Work::write,
         .idempotent = true,
         .status = 201,
         .errors = {{Code::not_found, "there is no such code"},
                    {Code::forbidden, "the caller is an operator or an agent"},
                    {Code::forbidden, "the account has paid in less than the credit"},
                    {Code::conflict, "the account has redeemed it before"},
                    {Code::conflict, "the campaign is over, or nothing is left of it"}},
         .rate = &code_rate},
        [this](api::Call& call, const api::Body<RedeemCode>& body) { return redeem(call, *body); });
}

}  // namespace berth::credits
