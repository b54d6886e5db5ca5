// Campaigns of promotional credits, as operators begin and end them. What a campaign may cost is
// set aside from the operator's own money at once; no operator gives a credit to an account.
#pragma once

#include "admin/types.hpp"
#include "api/router.hpp"
#include "credits/credits.hpp"
#include "mail/outbox.hpp"

namespace berth::admin {

using CreditAmount = wire::Amount<1, ledger::amount_max.value>;

struct NewCampaign {
    credits::CampaignCode campaign_code;
    wire::Text<1, 60> name;
    std::optional<ledger::Asset> asset;
    CreditAmount total_micro;
    CreditAmount per_account_micro;
    wire::Integer<1, 3650> credit_days;
    Time redeem_until;
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(NewCampaign, (),
                      (campaign_code, name, asset, total_micro, per_account_micro, credit_days,
                       redeem_until, reason))
constexpr auto wire_docs(const NewCampaign*) {
    return std::to_array<wire::Doc>({
        {"campaign_code", "What users give: letters, digits and hyphens; its case does not matter.",
         "LAUNCH-2026", "", "^[A-Za-z0-9-]+$"},
        {"name", "What users read.", "Launch"},
        {"asset", "", "USDC", "USDC"},
        {"total_micro", "What all credits together may be; it is set aside from capital.",
         "500000000"},
        {"per_account_micro", "What an account gets, once.", "5000000"},
        {"credit_days", "How long a credit can be spent after it was redeemed.", "90"},
        {"redeem_until", "Until when the code can be redeemed.", "2030-12-31T00:00:00Z"},
        api::reason_doc("The launch."),
    });
}

struct CampaignPath {
    credits::CampaignId id;
};
BOOST_DESCRIBE_STRUCT(CampaignPath, (), (id))

struct CloseCampaign {
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(CloseCampaign, (), (reason))
constexpr auto wire_docs(const CloseCampaign*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("The code was posted on a forum."),
    });
}

struct CampaignRecord {
    credits::CampaignId campaign_id;
    std::string campaign_code;
    std::string name;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro total_micro;
    Micro per_account_micro;
    Micro redeemed_micro;
    Micro returned_micro;
    wire::Count credit_days;
    Time redeem_until;
    credits::CampaignState state = credits::CampaignState::open;
    AccountId created_by;
    Time created_at;
    wire::Nullable<Time> closed_at;
};
BOOST_DESCRIBE_STRUCT(CampaignRecord, (),
                      (campaign_id, campaign_code, name, asset, total_micro, per_account_micro,
                       redeemed_micro, returned_micro, credit_days, redeem_until, state, created_by,
                       created_at, closed_at))
constexpr auto wire_docs(const CampaignRecord*) {
    return std::to_array<wire::Doc>({
        {"campaign_code", "What users give.", "LAUNCH-2026"},
        {"name", "", "Launch"},
        {"total_micro", "What was set aside for it.", "500000000"},
        {"per_account_micro", "What an account gets, once.", "5000000"},
        {"redeemed_micro", "What all accounts together got.", "25000000"},
        {"returned_micro", "What went back to the capital: not redeemed, or not spent in time.",
         "0"},
        {"credit_days", "How long a credit can be spent after it was redeemed.", "90"},
        {"redeem_until", "Until when the code can be redeemed.", "2030-12-31T00:00:00Z"},
        {"created_by", "The operator by whose word it began."},
        {"closed_at", "Null while it is open.", "null"},
    });
}

class Campaigns {
public:
    explicit Campaigns(const mail::Outbox& outbox) : outbox_(outbox) {}

    void add_routes(api::Router& router) const;

    api::Page<CampaignRecord> list(api::Call& call, const api::PageQuery& query) const;
    CampaignRecord begin(api::Call& call, const NewCampaign& request) const;
    CampaignRecord close(api::Call& call, const CampaignPath& path,
                         const CloseCampaign& request) const;

private:
    const mail::Outbox& outbox_;  // for admins who are to confirm
};

}  // namespace berth::admin
