// Promotional credits: an account redeems a campaign's code, and what it gets pays for its rentals
// before its balance does. Campaigns are paid from the operator's own money, which is set aside
// when one begins; a credit expires, and is never anybody's balance, so that it cannot be
// withdrawn.
#pragma once

#include "accounts/notices.hpp"
#include "api/router.hpp"
#include "credits/types.hpp"
#include "db/migrate.hpp"
#include "ledger/report.hpp"

namespace berth::credits {

inline constexpr std::int64_t credits_shown_max = 100;
inline constexpr std::int64_t credits_at_once_max = 20;  // that pay for one job

enum class CampaignState { open, closed };
BOOST_DESCRIBE_ENUM(CampaignState, open, closed)

struct Campaign {
    CampaignId campaign_id;
    std::string code;  // in upper case
    std::string name;
    Asset asset = Asset::usdc;
    Micro total;        // what was set aside: all credits together are at most this
    Micro per_account;  // what an account gets, once
    Micro redeemed;     // by all accounts
    Micro returned;     // what went back to the capital
    std::int64_t credit_days = 0;
    Time redeem_until;
    CampaignState state = CampaignState::open;
    AccountId created_by;
    Time created_at;
    std::optional<Time> closed_at = {};
};
BOOST_DESCRIBE_STRUCT(Campaign, (),
                      (campaign_id, code, name, asset, total, per_account, redeemed, returned,
                       credit_days, redeem_until, state, created_by, created_at, closed_at))

// Sets its total aside. False when another campaign has the code.
bool begin_campaign(db::Context context, const Campaign& campaign);
std::optional<Campaign> find_campaign(db::Transaction& tx, CampaignId id);
std::vector<Campaign> list_campaigns(db::Transaction& tx, const std::optional<CampaignId>& before,
                                     std::int64_t rows_max);  // newest first
// Nobody redeems it any more, and what nobody took goes back to the capital: how much. Credits that
// were redeemed stay good. Empty when it is closed already.
std::optional<Micro> close_campaign(db::Context context, CampaignId id);

// What rentals do. Takes up to `wanted` from the account's credits, those first that expire first,
// for this job; how much. FORBIDDEN when the account was closed or suspended meanwhile.
struct Spending {
    AccountId account;
    Asset asset = Asset::usdc;
    JobId job;
    Micro wanted;
};
Micro take(db::Context context, const Spending& spending);
// What the job did not take, or what was refunded of it, back to the credits that paid.
void give_back(db::Transaction& tx, JobId job, Micro amount);

// What the account can still spend.
Micro spendable(db::Transaction& tx, AccountId account, Asset asset, Time now);

// What expired goes back to the capital; up to `rows_max` credits at a time, and how many.
std::int64_t expire_credits(db::Context context, std::int64_t rows_max);

class CreditDesk {
public:
    void add_routes(api::Router& router) const;

    Credit redeem(api::Call& call, const RedeemCode& request) const;
    Credits list(api::Call& call) const;
};

// Holds what credits say against the ledger.
class CreditWitness : public ledger::Witness {
public:
    bool posts(ledger::Movement movement) const override;
    void check_postings(db::Transaction& tx, std::span<const ledger::Posted> postings,
                        ledger::Report& report) const override;
    void check_rows(db::Transaction& tx, const Scope& scope, ledger::Report& report) const override;
};

extern const std::span<const db::Migration> migrations;

}  // namespace berth::credits
