// The tables of campaigns and credits, and every statement that moves one.
#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "credits/credits.hpp"
#include "credits/rows.hpp"
#include "ledger/journal.hpp"

namespace berth::credits {
namespace {

constexpr db::Migration history[] = {
    {.feature = "credits",
     .number = 1,
     .sql = "CREATE TABLE campaigns ("
            "  campaign_id @id NOT NULL PRIMARY KEY,"
            "  code @text NOT NULL UNIQUE,"
            "  name @text NOT NULL,"
            "  asset @text NOT NULL,"
            "  total @int NOT NULL CHECK (total > 0),"
            "  per_account @int NOT NULL CHECK (per_account > 0),"
            "  redeemed @int NOT NULL CHECK (redeemed >= 0),"
            "  returned @int NOT NULL CHECK (returned >= 0),"
            "  credit_days @int NOT NULL,"
            "  redeem_until @int NOT NULL,"
            "  state @text NOT NULL CHECK (state IN ('open', 'closed')),"
            "  created_by @id NOT NULL,"
            "  created_at @int NOT NULL,"
            "  closed_at @int,"
            "  CHECK (redeemed <= total),"
            "  CHECK (returned <= total)"
            ") @strict;"
            // An account redeems a campaign once.
            "CREATE TABLE credits ("
            "  credit_id @id NOT NULL PRIMARY KEY,"
            "  campaign_id @id NOT NULL,"
            "  account_id @id NOT NULL,"
            "  asset @text NOT NULL,"
            "  amount @int NOT NULL CHECK (amount > 0),"
            "  remaining @int NOT NULL CHECK (remaining >= 0),"
            "  redeemed_at @int NOT NULL,"
            "  expires_at @int NOT NULL,"
            "  UNIQUE (campaign_id, account_id),"
            "  CHECK (remaining <= amount)"
            ") @strict;"
            "CREATE INDEX credits_by_account ON credits (account_id, asset, expires_at);"
            "CREATE INDEX credits_by_end ON credits (expires_at) WHERE remaining > 0;"
            // What pays for a job, and what of it came back.
            "CREATE TABLE credit_uses ("
            "  job_id @id NOT NULL,"
            "  credit_id @id NOT NULL,"
            "  asset @text NOT NULL,"
            "  taken @int NOT NULL CHECK (taken > 0),"
            "  given_back @int NOT NULL CHECK (given_back >= 0),"
            "  PRIMARY KEY (job_id, credit_id),"
            "  CHECK (given_back <= taken)"
            ") @strict;"},
};

const db::Query<Campaign> add_campaign_sql(
    "INSERT INTO campaigns ({}) VALUES ({$}) ON CONFLICT (code) DO NOTHING");
const db::Query<Campaign> find_campaign_sql("SELECT {} FROM campaigns WHERE campaign_id = $1");
const db::Query<Campaign> find_by_code_sql("SELECT {} FROM campaigns WHERE code = $1");
const db::Query<Campaign> list_campaigns_sql(
    "SELECT {} FROM campaigns WHERE (campaign_id < $1 OR $1 IS NULL) "
    "ORDER BY campaign_id DESC LIMIT $2");
// Keeps: all credits of a campaign are at most its total, however many redeem it at once.
constexpr std::string_view redeem_sql =
    "UPDATE campaigns SET redeemed = redeemed + per_account WHERE campaign_id = $1 "
    "AND state = 'open' AND redeem_until > $2 AND redeemed + per_account <= total";
const db::Query<Campaign> close_campaign_sql(
    "UPDATE campaigns SET state = 'closed', closed_at = $2, "
    "returned = returned + total - redeemed "
    "WHERE campaign_id = $1 AND state = 'open' RETURNING {}");
constexpr std::string_view note_returned_sql =
    "UPDATE campaigns SET returned = returned + $2 WHERE campaign_id = $1";

const db::Query<CreditRow> add_credit_sql(
    "INSERT INTO credits ({}) VALUES ({$}) ON CONFLICT (campaign_id, account_id) DO NOTHING");
const db::Query<CreditRow> own_credits_sql(
    "SELECT {} FROM credits WHERE account_id = $1 ORDER BY expires_at DESC, credit_id LIMIT $2");
const db::Query<CreditRow> spendable_credits_sql(
    "SELECT {} FROM credits WHERE account_id = $1 AND asset = $2 AND expires_at > $3 "
    "AND remaining > 0 ORDER BY expires_at, credit_id LIMIT $4");
constexpr std::string_view spendable_sql =
    "SELECT CAST(COALESCE(SUM(remaining), 0) AS BIGINT) FROM credits "
    "WHERE account_id = $1 AND asset = $2 AND expires_at > $3";
// Keeps: no part of a credit pays twice.
constexpr std::string_view take_sql =
    "UPDATE credits SET remaining = remaining - $2 WHERE credit_id = $1 AND remaining >= $2 "
    "AND expires_at > $3";
constexpr std::string_view add_use_sql =
    "INSERT INTO credit_uses (job_id, credit_id, asset, taken, given_back) "
    "VALUES ($1, $2, $3, $4, 0)";
struct Use {
    CreditId credit_id;
    Micro taken;
    Micro given_back;
};
BOOST_DESCRIBE_STRUCT(Use, (), (credit_id, taken, given_back))
// What was taken last comes back first: it lives longest.
const db::Query<Use> uses_sql(
    "SELECT {} FROM (SELECT u.credit_id, u.taken, u.given_back, c.expires_at FROM credit_uses u "
    "JOIN credits c ON c.credit_id = u.credit_id WHERE u.job_id = $1) AS uses "
    "ORDER BY expires_at DESC, credit_id DESC");
constexpr std::string_view give_back_use_sql =
    "UPDATE credit_uses SET given_back = given_back + $3 WHERE job_id = $1 AND credit_id = $2";
constexpr std::string_view give_back_sql =
    "UPDATE credits SET remaining = remaining + $2 WHERE credit_id = $1";
const db::Query<CreditRow> expired_sql(
    "SELECT {} FROM credits WHERE remaining > 0 AND expires_at <= $1 ORDER BY credit_id LIMIT $2");
constexpr std::string_view expire_sql =
    "UPDATE credits SET remaining = 0 WHERE credit_id = $1 AND remaining = $2";

// Each way back to the capital has a name of its own.
void end_funding(db::Context context, CampaignId campaign, Asset asset, Micro amount) {
    if (amount == Micro{}) return;
    ledger::move_own(
        context, {ledger::Movement::campaign_end, asset, amount,
                  to_string(campaign) + ":" + to_string(make_uuid(context.now, context.random))});
}

}  // namespace

const std::span<const db::Migration> migrations = history;

bool begin_campaign(db::Context context, const Campaign& campaign) {
    if (context.tx.insert(add_campaign_sql, campaign).affected != 1) return false;
    ledger::fund_campaign(context, campaign.asset, campaign.total, to_string(campaign.campaign_id));
    return true;
}

std::optional<Campaign> find_campaign(db::Transaction& tx, CampaignId id) {
    return tx.fetch_one(find_campaign_sql, id);
}

std::optional<Campaign> find_campaign_by_code(db::Transaction& tx, std::string_view code) {
    return tx.fetch_one(find_by_code_sql, code);
}

std::vector<Campaign> list_campaigns(db::Transaction& tx, const std::optional<CampaignId>& before,
                                     std::int64_t rows_max) {
    return tx.fetch(list_campaigns_sql, before, rows_max);
}

// The platform's row comes first, as where credits expire.
std::optional<Micro> close_campaign(db::Context context, CampaignId id) {
    const auto open = find_campaign(context.tx, id);
    if (open) ledger::lock_accounts(context, open->asset, {ledger::platform});
    const auto closed = context.tx.fetch_one(close_campaign_sql, id, context.now);
    if (!closed) return std::nullopt;
    const Micro left = closed->total - closed->redeemed;
    end_funding(context, id, closed->asset, left);
    return left;
}

bool redeem_campaign(db::Transaction& tx, CampaignId id, Time now) {
    return tx.run(redeem_sql, id, now).affected == 1;
}

bool add_credit(db::Transaction& tx, const CreditRow& credit) {
    return tx.insert(add_credit_sql, credit).affected == 1;
}

std::vector<CreditRow> list_credits(db::Transaction& tx, AccountId account) {
    return tx.fetch(own_credits_sql, account, credits_shown_max);
}

// Keeps: nothing is rented for an account that is being closed. One with a credit rents without a
// balance, so it takes the turn that closing takes, and looks again. The account's row of the
// ledger comes before its credits, as where a job is settled: neither waits for the other in a
// circle. What expires meanwhile is left alone, and the balance pays.
Micro take(db::Context context, const Spending& spending) {
    Micro taken;
    if (spendable(context.tx, spending.account, spending.asset, context.now) == Micro{})
        return taken;
    accounts::take_turn(context.tx, spending.account);
    const auto account = accounts::find_account(context.tx, spending.account);
    if (!account || account->suspended)
        throw Problem(Code::forbidden, "the account is closed or suspended");
    ledger::lock_accounts(context, spending.asset, {spending.account});
    for (const CreditRow& credit :
         context.tx.fetch(spendable_credits_sql, spending.account, spending.asset, context.now,
                          credits_at_once_max)) {
        const Micro part = std::min(credit.remaining, spending.wanted - taken);
        if (part == Micro{}) break;
        if (context.tx.run(take_sql, credit.credit_id, part, context.now).affected != 1) continue;
        context.tx.start(add_use_sql, spending.job, credit.credit_id, spending.asset, part);
        taken += part;
    }
    return taken;
}

void give_back(db::Transaction& tx, JobId job, Micro amount) {
    Micro left = amount;
    if (left == Micro{}) return;
    for (const Use& use : tx.fetch(uses_sql, job)) {
        const Micro part = std::min(left, use.taken - use.given_back);
        if (part == Micro{}) continue;
        tx.run(give_back_use_sql, job, use.credit_id, part);
        tx.run(give_back_sql, use.credit_id, part);
        left -= part;
    }
    require(left == Micro{}, "no more comes back than a job took");
}

Micro spendable(db::Transaction& tx, AccountId account, Asset asset, Time now) {
    return tx.fetch_value<Micro>(spendable_sql, account, asset, now).value();
}

// The platform's rows come before the credits, as where a refund gives one back.
std::int64_t expire_credits(db::Context context, std::int64_t rows_max) {
    const auto over = context.tx.fetch(expired_sql, context.now, rows_max);
    std::set<Asset> used;
    for (const CreditRow& credit : over) used.insert(credit.asset);
    for (const Asset asset : used) ledger::lock_accounts(context, asset, {ledger::platform});
    for (const CreditRow& credit : over) {
        if (context.tx.run(expire_sql, credit.credit_id, credit.remaining).affected != 1)
            continue;  // some of it came back at this very moment: the next run has it
        context.tx.run(note_returned_sql, credit.campaign_id, credit.remaining);
        end_funding(context, credit.campaign_id, credit.asset, credit.remaining);
    }
    return static_cast<std::int64_t>(over.size());
}

}  // namespace berth::credits
