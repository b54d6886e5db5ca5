// Rows of credits, for the files of this folder.
#pragma once

#include "credits/credits.hpp"

namespace berth::credits {

struct CreditRow {
    CreditId credit_id;
    CampaignId campaign_id;
    AccountId account_id;
    Asset asset = Asset::usdc;
    Micro amount;
    Micro remaining;
    Time redeemed_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(CreditRow, (),
                      (credit_id, campaign_id, account_id, asset, amount, remaining, redeemed_at,
                       expires_at))

std::optional<Campaign> find_campaign_by_code(db::Transaction& tx, std::string_view code);
// False when it is closed, over, or used up.
bool redeem_campaign(db::Transaction& tx, CampaignId id, Time now);
// False when the account has redeemed the campaign before.
bool add_credit(db::Transaction& tx, const CreditRow& credit);
std::vector<CreditRow> list_credits(db::Transaction& tx, AccountId account);  // longest lived first

}  // namespace berth::credits
