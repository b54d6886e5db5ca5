// Requests and responses of promotional credits, as who has them sees them.
#pragma once

#include <boost/describe.hpp>

#include "ledger/ledger.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::credits {

using ledger::Asset;
using CampaignId = Id<struct CampaignTag>;
using CreditId = Id<struct CreditTag>;

using CampaignCode = wire::Text<6, 40>;

struct RedeemCode {
    CampaignCode campaign_code;
};
BOOST_DESCRIBE_STRUCT(RedeemCode, (), (campaign_code))
constexpr auto wire_docs(const RedeemCode*) {
    return std::to_array<wire::Doc>({
        {"campaign_code", "Of the campaign; its case does not matter.", "LAUNCH-2026"},
    });
}

struct Credit {
    CreditId credit_id;
    std::string campaign;
    Asset asset = Asset::usdc;
    Micro amount_micro;
    Micro remaining_micro;
    Time redeemed_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(Credit, (),
                      (credit_id, campaign, asset, amount_micro, remaining_micro, redeemed_at,
                       expires_at))
constexpr auto wire_docs(const Credit*) {
    return std::to_array<wire::Doc>({
        {"campaign", "What the campaign is called.", "Launch"},
        {"amount_micro", "", "5000000"},
        {"remaining_micro",
         "What pays for the next rentals, before the balance does. It cannot be withdrawn.",
         "3800000"},
        {"redeemed_at", "When its code was given."},
        {"expires_at", "Until when a rental can be reserved with it."},
    });
}

struct Credits {
    std::vector<Credit> items;
};
BOOST_DESCRIBE_STRUCT(Credits, (), (items))

}  // namespace berth::credits
