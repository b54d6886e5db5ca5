#include "ledger/ledger.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/problem.hpp"
#include "ledger/journal.hpp"
#include "ledger/maturing.hpp"

namespace berth::ledger {
namespace {

constexpr std::string_view add_job_sql =
    "INSERT INTO ledger_jobs (job_id, renter_id, host_id, machine_id, asset, rate_per_hour, "
    "fee_bps, budget, runtime_ms, charged, charged_before, refunded, refunded_before, disputed, "
    "closed, payout_delay_hours, credit) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, 0, 0, 0, 0, $9, $10)";
// A row of ledger_jobs.
struct JobRow {
    JobId job_id;
    AccountId renter_id;
    AccountId host_id;
    MachineId machine_id;
    Asset asset{};
    Micro rate_per_hour;
    std::int64_t fee_bps = 0;
    Micro budget;
    std::int64_t runtime_ms = 0;
    Micro charged;
    Micro charged_before;  // what the last capture found
    Micro refunded;
    Micro refunded_before;  // what the last refund found
    Micro disputed;
    bool closed = false;
    std::int64_t earned_day = 0;         // the last one on which it was charged
    std::int64_t earned_day_before = 0;  // what the last capture found
    std::int64_t payout_delay_hours = 0;
    Micro credit;  // of the budget
};
BOOST_DESCRIBE_STRUCT(JobRow, (),
                      (job_id, renter_id, host_id, machine_id, asset, rate_per_hour, fee_bps,
                       budget, runtime_ms, charged, charged_before, refunded, refunded_before,
                       disputed, closed, earned_day, earned_day_before, payout_delay_hours, credit))

const db::Query<JobRow> find_job_sql("SELECT {} FROM ledger_jobs WHERE job_id = $1");
const db::Query<JobRow> raise_sql(
    "UPDATE ledger_jobs SET budget = budget + $2 WHERE job_id = $1 AND closed = 0 RETURNING {}");
const db::Query<JobRow> capture_sql(
    "UPDATE ledger_jobs SET charged_before = charged, charged = $2, runtime_ms = $3, "
    "earned_day_before = earned_day, earned_day = CASE WHEN $2 > charged AND $4 > earned_day "
    "THEN $4 ELSE earned_day END WHERE job_id = $1 AND closed = 0 AND charged <= $2 "
    "AND runtime_ms <= $3 AND $2 <= budget "
    "RETURNING {}");
const db::Query<JobRow> close_sql(
    "UPDATE ledger_jobs SET closed = 1 WHERE job_id = $1 AND closed = 0 RETURNING {}");
const db::Query<JobRow> refund_sql(
    "UPDATE ledger_jobs SET refunded_before = refunded, refunded = refunded + $2 "
    "WHERE job_id = $1 AND closed = 1 AND $2 <= charged - refunded RETURNING {}");
// Changes nothing, and keeps the row as it is until the transaction ends.
const db::Query<JobRow> lock_job_sql(
    "UPDATE ledger_jobs SET closed = closed WHERE job_id = $1 RETURNING {}");
constexpr std::string_view dispute_job_sql =
    "UPDATE ledger_jobs SET disputed = disputed + $2 WHERE job_id = $1";
constexpr std::string_view add_dispute_sql =
    "INSERT INTO ledger_disputes (dispute_id, job_id, host_id, asset, amount, closed) "
    "VALUES ($1, $2, $3, $4, $5, 0)";
struct DisputeRow {
    JobId job_id;
    AccountId host_id;
    Asset asset{};
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(DisputeRow, (), (job_id, host_id, asset, amount))
const db::Query<DisputeRow> end_dispute_sql(
    "UPDATE ledger_disputes SET closed = 1 WHERE dispute_id = $1 AND closed = 0 RETURNING {}");
constexpr std::string_view end_dispute_job_sql =
    "UPDATE ledger_jobs SET disputed = disputed - $2 WHERE job_id = $1";
constexpr std::string_view add_transfer_sql =
    "INSERT INTO ledger_transfers (transfer_id, account_id, asset, amount, source, state) "
    "VALUES ($1, $2, $3, $4, $5, 'locked')";
struct EndedTransfer {
    AccountId account_id;
    Asset asset{};
    Micro amount;
    Source source{};
};
BOOST_DESCRIBE_STRUCT(EndedTransfer, (), (account_id, asset, amount, source))
const db::Query<EndedTransfer> end_transfer_sql(
    "UPDATE ledger_transfers SET state = $2 WHERE transfer_id = $1 AND state = 'locked' "
    "RETURNING {}");
const db::Query<Balances> balances_sql(
    "SELECT {} FROM ledger_accounts WHERE account_id = $1 AND asset = $2");
// What has a place is found by its owner, and a renter's first entries are deposits.
constexpr std::string_view deposited_sql =
    "SELECT transaction_id FROM ledger_entries WHERE owner_id = $1 AND asset IN ('USDC', 'USDT') "
    "AND place > 0 AND kind = 'deposit' LIMIT 1";
constexpr std::string_view fees_sql =
    "SELECT CAST(COALESCE(SUM(fees), 0) AS BIGINT) FROM ledger_accounts WHERE asset = $1";
// What happened to the operator's own money beside fees coming in.
struct OwnSum {
    Pocket pocket{};
    Kind kind{};
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(OwnSum, (), (pocket, kind, amount))
const db::Query<OwnSum> own_sums_sql(
    "SELECT {} FROM (SELECT pocket, kind, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM ledger_entries WHERE asset = $1 AND pocket IN ('fee_income', 'expenses', 'capital') "
    "AND kind IN ('gas', 'fee_take_out', 'top_up', 'debt_covered', 'campaign_fund', "
    "'campaign_end') "
    "GROUP BY pocket, kind) AS sums");

Micro fee_of(Micro charge, std::int64_t fee_bps) { return scale_floor(charge, {fee_bps, 10'000}); }

template <class SomeId>
std::string reference(std::string_view what, SomeId id) {
    return std::string(what) + ":" + to_string(id);
}

// Nobody has more than the largest amount.
void check_amount(Micro amount) {
    require(amount > Micro{}, "an amount that moves is above zero");
    if (amount > amount_max)
        throw Problem(Code::insufficient_funds, "the balance does not cover this amount");
}

// Why a job could not be changed.
[[noreturn]] void refuse_job(db::Transaction& tx, JobId job, std::string_view why_open,
                             std::string_view why_closed) {
    const auto found = find_job(tx, job);
    if (!found) throw Problem(Code::not_found, "no such job");
    throw Problem(Code::conflict, std::string(found->closed ? why_closed : why_open));
}

Job job_of(const JobRow& row) {
    return {.job = row.job_id,
            .renter = row.renter_id,
            .host = row.host_id,
            .machine = row.machine_id,
            .asset = row.asset,
            .budget = row.budget,
            .rate_per_hour = row.rate_per_hour,
            .fee_bps = row.fee_bps,
            .payout_delay_hours = row.payout_delay_hours,
            .runtime_ms = row.runtime_ms,
            .credit = row.credit,
            .charged = row.charged,
            .fee = fee_of(row.charged, row.fee_bps),
            .refunded = row.refunded,
            .fee_refunded = fee_of(row.refunded, row.fee_bps),
            .closed = row.closed};
}

// What the host's earnings do not pay of its part. What a dispute held for this refund is for it
// alone: an older debt does not take it away.
Micro shortfall_of(const Funds& funds, Micro secured, Micro part) {
    const Micro others = std::max(Micro{}, funds.payable - secured);
    return std::max(Micro{}, part - secured - others);
}

struct Borne {
    Micro shortfall;
    Micro fee;  // that the same refund takes from the fees
};
// The platform pays from its fees, then from its capital, and never from what is others'.
void bear_shortfall(Context context, const JobRow& job, RefundId refund, const Borne& borne) {
    const Means has = means(context.tx, job.asset);
    const Micro fees = has.fees - borne.fee;
    const Micro from_fees = std::clamp(fees, Micro{}, borne.shortfall);
    const Micro from_capital = borne.shortfall - from_fees;
    const Micro capital = has.capital + std::min(fees, Micro{});
    if (from_capital > capital)
        throw Shortfall(borne.shortfall, "the platform's own fees and capital do not cover this");
    const auto cover = [&](Movement movement, Micro amount) {
        if (amount == Micro{}) return;
        post(context, {.movement = movement,
                       .asset = job.asset,
                       .reference = reference(name(movement), refund),
                       .shares = {{platform, amount}, {job.host_id, amount}}});
    };
    cover(Movement::debt_cover_fees, from_fees);
    cover(Movement::debt_cover_capital, from_capital);
}

// The fee of a refund comes from the platform's own means, whoever bears the host's part: when its
// fees have been taken out, customers' money does not stand in for them.
void require_fee(Context context, Asset asset, const Borne& borne) {
    const Means has = means(context.tx, asset);
    if (has.fees + has.capital < borne.fee)
        throw Shortfall(borne.shortfall,
                        "the platform's own fees and capital do not cover the fee's part of this");
}

// A part of a job's charge: from what was charged before to what is now.
struct Charge {
    Micro from;
    Micro to;
    std::int64_t delay_hours = 0;
    Time since;
    bool first_of_day = false;
};
void post_charge(Context context, const JobRow& row, const Charge& part) {
    const Micro charge = part.to - part.from;
    const Micro fee = fee_of(part.to, row.fee_bps) - fee_of(part.from, row.fee_bps);
    const TransactionId id = post(
        context, {.movement = Movement::charge,
                  .asset = row.asset,
                  .reference = reference("charge", row.job_id) + ":" + to_string(part.to),
                  .shares = {{row.renter_id, charge}, {row.host_id, charge - fee}, {platform, fee}},
                  .job = row.job_id,
                  .machine = row.machine_id,
                  .host = row.host_id,
                  .first_of_day = part.first_of_day});
    let_mature(context, {.transaction = id,
                         .host = row.host_id,
                         .asset = row.asset,
                         .job = row.job_id,
                         .amount = charge - fee,
                         .delay_hours = part.delay_hours,
                         .since = part.since});
}

// What was spent last is refunded first: what the renter paid, and then what the credit paid.
Micro renters_part(const JobRow& row, Micro amount) {
    const Micro paid = row.charged - std::min(row.credit, row.charged);
    return std::clamp(paid - row.refunded_before, Micro{}, amount);
}

// Keeps: credits come from the operator's own money. Nobody is owed one, so a host's debt gives
// back only what the renter had paid: of a debt that is never repaid a credit, and when it expires
// capital, would be made that nobody put in.
void require_no_credit_of_debt(const JobRow& row, const Refund& refund, const Funds& funds,
                               Micro shortfall) {
    const Micro debt = shortfall - std::clamp(funds.available, Micro{}, shortfall);
    const Micro from = row.refunded_before;
    const Micro to = from + renters_part(row, refund.amount);
    const Micro fee = fee_of(to, row.fee_bps) - fee_of(from, row.fee_bps);
    if (debt > to - from - fee)
        throw Shortfall(shortfall,
                        "the host's money does not pay back what a credit had paid: only the "
                        "platform can bear that");
}

// Keeps: a credit is never money that can be withdrawn. What it paid goes back to where credits
// come from.
void post_refund(Context context, const JobRow& row, const Refund& refund, Refunded& made) {
    const Micro before = row.refunded_before;
    const Micro to_renter = renters_part(row, refund.amount);
    made.to_credit = refund.amount - to_renter;
    const auto give = [&](Movement movement, AccountId to, Micro from, Micro amount) {
        if (amount == Micro{}) return;
        const Micro fee = fee_of(from + amount, row.fee_bps) - fee_of(from, row.fee_bps);
        made.transaction =
            post(context, {.movement = movement,
                           .asset = row.asset,
                           .reference = reference(name(movement), refund.id),
                           .shares = {{to, amount}, {row.host_id, amount - fee}, {platform, fee}},
                           .job = refund.job,
                           .machine = row.machine_id,
                           .host = row.host_id,
                           .renter = row.renter_id});
    };
    give(Movement::credit_refund, platform, before + to_renter, made.to_credit);
    give(Movement::refund, row.renter_id, before, to_renter);
}

// Keeps: what matures is not paid out. Asked after the host's row was changed: then it is locked,
// and no earning is added meanwhile.
void leave_maturing(Context context, const Lock& lock) {
    const Maturing kept = maturing(context.tx, lock.account, lock.asset, context.now);
    if (balances(context.tx, lock.account, lock.asset).payable >= kept.amount) return;
    throw Problem(Code::insufficient_funds,
                  "the balance does not cover this amount: " + to_string(kept.amount) +
                      " of the earnings can be paid out later, all by " + to_rfc3339(*kept.last));
}

EndedTransfer end_transfer(db::Transaction& tx, TransferId transfer, std::string_view state) {
    const auto ended = tx.fetch_one(end_transfer_sql, transfer, state);
    if (!ended) throw Problem(Code::conflict, "this transfer has ended already");
    return *ended;
}

}  // namespace

void deposit(Context context, const Deposit& deposit) {
    check_amount(deposit.amount);
    post(context, {.movement = Movement::deposit,
                   .asset = deposit.asset,
                   .reference = "deposit:" + deposit.reference,
                   .shares = {{platform, deposit.amount}, {deposit.account, deposit.amount}}});
}

void park(Context context, const Deposit& deposit) {
    check_amount(deposit.amount);
    post(context, {.movement = Movement::park,
                   .asset = deposit.asset,
                   .reference = "park:" + deposit.reference,
                   .shares = {{platform, deposit.amount}, {platform, deposit.amount}}});
}

// The reference is that of a plain deposit: a transfer is credited once, by whichever way.
void match(Context context, const Deposit& deposit) {
    check_amount(deposit.amount);
    post(context, {.movement = Movement::match,
                   .asset = deposit.asset,
                   .reference = "deposit:" + deposit.reference,
                   .shares = {{platform, deposit.amount}, {deposit.account, deposit.amount}}});
}

// Keeps: what a credit pays was set aside before, is held for this job and becomes nobody's
// balance. The job's first posting has its plain reference, whichever pays.
void hold(Context context, const Hold& hold) {
    check_amount(hold.budget);
    require(hold.credit >= Micro{} && hold.credit <= hold.budget, "a credit is within the budget");
    context.tx.start(add_job_sql, hold.job, hold.renter, hold.host, hold.machine, hold.asset,
                     hold.rate_per_hour, hold.fee_bps, hold.budget, hold.payout_delay_hours,
                     hold.credit);
    const Micro paid = hold.budget - hold.credit;
    if (paid > Micro{})
        post(context, {.movement = Movement::hold,
                       .asset = hold.asset,
                       .reference = reference("hold", hold.job),
                       .shares = {{hold.renter, paid}, {hold.renter, paid}},
                       .job = hold.job});
    if (hold.credit > Micro{})
        post(context, {.movement = Movement::credit_hold,
                       .asset = hold.asset,
                       .reference = reference(paid > Micro{} ? "credit_hold" : "hold", hold.job),
                       .shares = {{platform, hold.credit}, {hold.renter, hold.credit}},
                       .job = hold.job});
}

void raise_hold(Context context, JobId job, Micro add, std::int64_t version) {
    check_amount(add);
    const auto row = context.tx.fetch_one(raise_sql, job, add);
    if (!row) refuse_job(context.tx, job, "", "the job is over");
    post(context, {.movement = Movement::hold,
                   .asset = row->asset,
                   .reference = reference("hold", job) + ":" + std::to_string(version),
                   .shares = {{row->renter_id, add}, {row->renter_id, add}},
                   .job = job});
}

void capture(Context context, JobId job, const Usage& usage) {
    require(usage.charge >= Micro{}, "a charge is not negative");
    if (usage.charge > amount_max)
        throw Problem(Code::insufficient_funds, "the charge is above the budget of the job");
    const auto row =
        context.tx.fetch_one(capture_sql, job, usage.charge, usage.runtime_ms, day_of(context.now));
    if (!row) {
        const auto found = find_job(context.tx, job);
        if (found && !found->closed && usage.charge > found->budget)
            throw Problem(Code::insufficient_funds, "the charge is above the budget of the job");
        refuse_job(context.tx, job, "a charge or runtime cannot fall", "the job is over");
    }
    const Micro before = row->charged_before;
    const Micro by_credit = std::max(before, std::min(row->credit, usage.charge));
    const Time since = std::max(context.now, usage.heard_at.value_or(context.now));
    bool first_of_day = row->earned_day_before < row->earned_day;
    const auto charge = [&](Micro from, Micro to, std::int64_t delay_hours) {
        if (from == to) return;
        post_charge(context, *row, {from, to, delay_hours, since, first_of_day});
        first_of_day = false;
    };
    charge(before, by_credit, std::max(row->payout_delay_hours, credit_delay_hours));
    charge(by_credit, usage.charge, row->payout_delay_hours);
}

Micro release(Context context, JobId job) {
    const auto row = context.tx.fetch_one(close_sql, job);
    if (!row) {
        if (!find_job(context.tx, job)) throw Problem(Code::not_found, "no such job");
        return {};
    }
    const Micro unspent = row->credit - std::min(row->credit, row->charged);
    const Micro rest = row->budget - row->charged - unspent;
    if (rest > Micro{})
        post(context, {.movement = Movement::release,
                       .asset = row->asset,
                       .reference = reference("release", job),
                       .shares = {{row->renter_id, rest}, {row->renter_id, rest}},
                       .job = job});
    if (unspent > Micro{})
        post(context, {.movement = Movement::credit_release,
                       .asset = row->asset,
                       .reference = reference("credit_release", job),
                       .shares = {{row->renter_id, unspent}, {platform, unspent}},
                       .job = job});
    return unspent;
}

std::optional<Job> find_job(db::Transaction& tx, JobId job) {
    const auto row = tx.fetch_one(find_job_sql, job);
    return row ? std::optional(job_of(*row)) : std::nullopt;
}

std::optional<Job> lock_job(Context context, JobId job) {
    const auto row = context.tx.fetch_one(lock_job_sql, job);
    if (!row) return std::nullopt;
    lock_accounts(context, row->asset, {platform, row->renter_id, row->host_id});
    return job_of(*row);
}

Micro hosts_part(const Job& job, Micro refund) {
    return refund -
           (fee_of(job.refunded + refund, job.fee_bps) - fee_of(job.refunded, job.fee_bps));
}

// Keeps: what a refund gives the renter comes from the host's earnings, from the fee, from whoever
// was named to bear the rest, and from nobody else. The rows of all of them are locked before it is
// computed, so that no payout and no fee that is taken out comes between.
Refunded refund(Context context, const Refund& refund) {
    check_amount(refund.amount);
    const auto row = context.tx.fetch_one(refund_sql, refund.job, refund.amount);
    if (!row)
        refuse_job(context.tx, refund.job, "the job is not over yet",
                   "all refunds of a job are at most its charge");
    const Micro fee =
        fee_of(row->refunded, row->fee_bps) - fee_of(row->refunded_before, row->fee_bps);
    std::set<AccountId> parties{row->renter_id, row->host_id};
    if (refund.bearer == Bearer::platform || fee > Micro{}) parties.insert(platform);
    const Funds funds = lock_accounts(context, row->asset, parties).at(row->host_id);
    Refunded made;
    made.total = row->refunded;
    made.refundable = row->charged - row->refunded;
    made.shortfall = shortfall_of(funds, refund.secured, refund.amount - fee);
    if (made.shortfall > Micro{} && !refund.bearer)
        throw Shortfall(made.shortfall,
                        "the host's earnings do not pay its part of this refund: say who bears the "
                        "rest");
    if (refund.bearer == Bearer::host_debt)
        require_no_credit_of_debt(*row, refund, funds, made.shortfall);
    if (fee > Micro{}) require_fee(context, row->asset, {made.shortfall, fee});
    if (made.shortfall > Micro{} && refund.bearer == Bearer::platform) {
        bear_shortfall(context, *row, refund.id, {made.shortfall, fee});
        made.from_platform = made.shortfall;
    }
    post_refund(context, *row, refund, made);
    made.from_available =
        funds.available - balances(context.tx, row->host_id, row->asset).available;
    return made;
}

// Keeps: a hold never takes payable below zero, and never holds what is not there.
Micro dispute(Context context, const Dispute& dispute) {
    check_amount(dispute.amount);
    const auto row = context.tx.fetch_one(lock_job_sql, dispute.job);
    constexpr std::string_view too_much = "a dispute is at most what the host has of the job";
    if (!row || !row->closed) refuse_job(context.tx, dispute.job, "the job is not over yet", "");
    const Micro kept = row->charged - row->refunded;
    const Micro fee = fee_of(row->charged, row->fee_bps) - fee_of(row->refunded, row->fee_bps);
    if (dispute.amount > kept - fee - row->disputed)
        throw Problem(Code::conflict, std::string(too_much));
    const Funds funds = lock_accounts(context, row->asset, {row->host_id}).at(row->host_id);
    const Micro held = std::clamp(funds.payable, Micro{}, dispute.amount);
    if (held == Micro{}) return held;
    context.tx.start(dispute_job_sql, dispute.job, held);
    context.tx.start(add_dispute_sql, dispute.id, dispute.job, row->host_id, row->asset, held);
    post(context, {.movement = Movement::dispute,
                   .asset = row->asset,
                   .reference = reference("dispute", dispute.id),
                   .shares = {{row->host_id, held}, {row->host_id, held}},
                   .job = dispute.job});
    return held;
}

Micro end_dispute(Context context, DisputeId id) {
    const auto row = context.tx.fetch_one(end_dispute_sql, id);
    if (!row) return {};
    context.tx.start(end_dispute_job_sql, row->job_id, row->amount);
    post(context, {.movement = Movement::dispute_end,
                   .asset = row->asset,
                   .reference = reference("dispute_end", id),
                   .shares = {{row->host_id, row->amount}, {row->host_id, row->amount}},
                   .job = row->job_id});
    return row->amount;
}

void lock(Context context, const Lock& lock) {
    check_amount(lock.amount);
    const bool payout = lock.source == Source::payout;
    const Movement movement = payout ? Movement::payout_lock : Movement::withdrawal_lock;
    context.tx.start(add_transfer_sql, lock.transfer, lock.account, lock.asset, lock.amount,
                     lock.source);
    post(context, {.movement = movement,
                   .asset = lock.asset,
                   .reference = reference(name(movement), lock.transfer),
                   .shares = {{lock.account, lock.amount}, {lock.account, lock.amount}}});
    if (payout) leave_maturing(context, lock);
}

void settle(Context context, TransferId transfer) {
    const EndedTransfer ended = end_transfer(context.tx, transfer, "settled");
    const Movement movement =
        ended.source == Source::payout ? Movement::payout_settle : Movement::withdrawal_settle;
    post(context, {.movement = movement,
                   .asset = ended.asset,
                   .reference = reference(name(movement), transfer),
                   .shares = {{ended.account_id, ended.amount}, {platform, ended.amount}}});
}

void give_back(Context context, TransferId transfer) {
    const EndedTransfer ended = end_transfer(context.tx, transfer, "returned");
    const Movement movement =
        ended.source == Source::payout ? Movement::payout_return : Movement::withdrawal_return;
    post(context, {.movement = movement,
                   .asset = ended.asset,
                   .reference = reference(name(movement), transfer),
                   .shares = {{ended.account_id, ended.amount}, {ended.account_id, ended.amount}}});
}

// Keeps: what was paid on the chain is debited to whom it was paid, and no pocket but payable falls
// below zero for it. The advance counts as paid out, since it is.
Micro adopt(Context context, const Lock& to_adopt) {
    check(to_adopt.source == Source::withdrawal, "what is adopted comes out of available");
    check_amount(to_adopt.amount);
    const Micro has = balances(context.tx, to_adopt.account, to_adopt.asset).available;
    const Micro advance = std::max(Micro{}, to_adopt.amount - has);
    if (advance > Micro{})
        post(context, {.movement = Movement::advance,
                       .asset = to_adopt.asset,
                       .reference = reference(name(Movement::advance), to_adopt.transfer),
                       .shares = {{to_adopt.account, advance}, {to_adopt.account, advance}}});
    lock(context, to_adopt);
    settle(context, to_adopt.transfer);
    return advance;
}

void move_own(Context context, const Own& own) {
    check_amount(own.amount);
    check(own.movement >= Movement::gas, "a customer's money is not the operator's own");
    post(context, {.movement = own.movement,
                   .asset = own.asset,
                   .reference = reference_of(own),
                   .shares = {{platform, own.amount}, {platform, own.amount}}});
}

std::string reference_of(const Own& own) {
    return std::string(name(own.movement)) + ":" + own.transfer;
}

// Keeps: credits are paid from the operator's own money. The platform's row is locked, so that
// nothing else takes the same capital.
void fund_campaign(Context context, Asset asset, Micro amount, const std::string& campaign) {
    check_amount(amount);
    lock_accounts(context, asset, {platform});
    const Means has = means(context.tx, asset);
    if (has.capital + std::min(has.fees, Micro{}) < amount)
        throw Problem(Code::conflict, "the operator's own money does not cover this: top it up");
    move_own(context, {Movement::campaign_fund, asset, amount, campaign});
}

Micro fees_earned(db::Transaction& tx, Asset asset) {
    Micro fees = tx.fetch_value<Micro>(fees_sql, asset).value();
    for (const OwnSum& sum : tx.fetch(own_sums_sql, asset))
        if (sum.pocket == Pocket::fee_income && sum.kind == Kind::debt_covered) fees += sum.amount;
    return fees;
}

Means means(db::Transaction& tx, Asset asset) {
    Means has{tx.fetch_value<Micro>(fees_sql, asset).value(), {}};
    for (const OwnSum& sum : tx.fetch(own_sums_sql, asset))
        (sum.pocket == Pocket::capital ? has.capital : has.fees) += sum.amount;
    return has;
}

Balances balances(db::Transaction& tx, AccountId account, Asset asset) {
    return tx.fetch_one(balances_sql, account, asset).value_or(Balances{});
}

bool has_deposited(db::Transaction& tx, AccountId account) {
    return tx.fetch_value<TransactionId>(deposited_sql, account).has_value();
}

}  // namespace berth::ledger
