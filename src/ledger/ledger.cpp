#include "ledger/ledger.hpp"

#include "base/check.hpp"
#include "base/problem.hpp"
#include "ledger/journal.hpp"
#include "ledger/rows.hpp"

namespace berth::ledger {
namespace {

constexpr std::string_view add_job_sql =
    "INSERT INTO ledger_jobs (job_id, renter_id, host_id, machine_id, asset, rate_per_hour, "
    "fee_bps, budget, runtime_ms, charged, charged_before, refunded, refunded_before, disputed, "
    "closed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, 0, 0, 0, 0)";
constexpr std::string_view find_job_sql =
    "SELECT job_id, renter_id, host_id, machine_id, asset, budget, rate_per_hour, fee_bps, "
    "runtime_ms, charged, refunded, closed FROM ledger_jobs WHERE job_id = $1";
constexpr std::string_view raise_sql =
    "UPDATE ledger_jobs SET budget = budget + $2 WHERE job_id = $1 AND closed = 0 "
    "RETURNING renter_id, asset";
constexpr std::string_view capture_sql =
    "UPDATE ledger_jobs SET charged_before = charged, charged = $2, runtime_ms = $3 "
    "WHERE job_id = $1 AND closed = 0 AND charged <= $2 AND runtime_ms <= $3 AND $2 <= budget "
    "RETURNING renter_id, host_id, machine_id, asset, fee_bps, charged_before";
constexpr std::string_view close_sql =
    "UPDATE ledger_jobs SET closed = 1 WHERE job_id = $1 AND closed = 0 "
    "RETURNING renter_id, asset, budget, charged";
constexpr std::string_view refund_sql =
    "UPDATE ledger_jobs SET refunded_before = refunded, refunded = refunded + $2 "
    "WHERE job_id = $1 AND closed = 1 AND $2 <= charged - refunded "
    "RETURNING renter_id, host_id, machine_id, asset, fee_bps, charged, refunded, refunded_before";
constexpr std::string_view dispute_job_sql =
    "UPDATE ledger_jobs SET disputed = disputed + $2 WHERE job_id = $1 AND closed = 1 "
    "AND $2 <= charged - disputed "
    "RETURNING host_id, asset, fee_bps, charged, refunded, disputed";
constexpr std::string_view add_dispute_sql =
    "INSERT INTO ledger_disputes (dispute_id, job_id, host_id, asset, amount, closed) "
    "VALUES ($1, $2, $3, $4, $5, 0)";
constexpr std::string_view end_dispute_sql =
    "UPDATE ledger_disputes SET closed = 1 WHERE dispute_id = $1 AND closed = 0 "
    "RETURNING job_id, host_id, asset, amount";
constexpr std::string_view end_dispute_job_sql =
    "UPDATE ledger_jobs SET disputed = disputed - $2 WHERE job_id = $1";
constexpr std::string_view add_transfer_sql =
    "INSERT INTO ledger_transfers (transfer_id, account_id, asset, amount, source, state) "
    "VALUES ($1, $2, $3, $4, $5, 'locked')";
constexpr std::string_view end_transfer_sql =
    "UPDATE ledger_transfers SET state = $2 WHERE transfer_id = $1 AND state = 'locked' "
    "RETURNING account_id, asset, amount, source";
constexpr std::string_view balances_sql =
    "SELECT available, held, payable, escrow, reserved, earned, fees, paid FROM ledger_accounts "
    "WHERE account_id = $1 AND asset = $2";

Micro fee_of(Micro charge, std::int64_t fee_bps) { return scale_floor(charge, {fee_bps, 10'000}); }

template <class SomeId>
std::string reference(std::string_view what, SomeId id) {
    return std::string(what) + ":" + to_string(id);
}

// Nobody has more than the largest amount.
void check_amount(Micro amount) {
    check(amount > Micro{}, "an amount that moves is above zero");
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

struct EndedTransfer {
    AccountId account;
    Asset asset;
    Micro amount;
    Source source;
};

EndedTransfer end_transfer(db::Transaction& tx, TransferId transfer, std::string_view state) {
    const auto rows = tx.run(end_transfer_sql, transfer, state);
    if (rows.empty()) throw Problem(Code::conflict, "this transfer has ended already");
    const bool payout = rows[0].get<std::string>(3) == "payout";
    return {rows[0].get<AccountId>(0), get_asset(rows[0], 1), rows[0].get<Micro>(2),
            payout ? Source::payout : Source::withdrawal};
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

void hold(Context context, const Hold& hold) {
    check_amount(hold.budget);
    context.tx.start(add_job_sql, hold.job, hold.renter, hold.host, hold.machine, name(hold.asset),
                     hold.rate_per_hour, hold.fee_bps, hold.budget);
    post(context, {.movement = Movement::hold,
                   .asset = hold.asset,
                   .reference = reference("hold", hold.job),
                   .shares = {{hold.renter, hold.budget}, {hold.renter, hold.budget}},
                   .job = hold.job});
}

void raise_hold(Context context, JobId job, Micro add, std::int64_t version) {
    check_amount(add);
    const auto rows = context.tx.run(raise_sql, job, add);
    if (rows.empty()) refuse_job(context.tx, job, "", "the job is over");
    const auto renter = rows[0].get<AccountId>(0);
    post(context, {.movement = Movement::hold,
                   .asset = get_asset(rows[0], 1),
                   .reference = reference("hold", job) + ":" + std::to_string(version),
                   .shares = {{renter, add}, {renter, add}},
                   .job = job});
}

void capture(Context context, JobId job, const Usage& usage) {
    check(usage.charge >= Micro{}, "a charge is not negative");
    if (usage.charge > amount_max)
        throw Problem(Code::insufficient_funds, "the charge is above the budget of the job");
    const auto rows = context.tx.run(capture_sql, job, usage.charge, usage.runtime_ms);
    if (rows.empty()) {
        const auto found = find_job(context.tx, job);
        if (found && !found->closed && usage.charge > found->budget)
            throw Problem(Code::insufficient_funds, "the charge is above the budget of the job");
        refuse_job(context.tx, job, "a charge or runtime cannot fall", "the job is over");
    }
    const auto row = rows[0];
    const auto fee_bps = row.get<std::int64_t>(4);
    const auto before = row.get<Micro>(5);
    const Micro charge = usage.charge - before;
    if (charge == Micro{}) return;
    const Micro fee = fee_of(usage.charge, fee_bps) - fee_of(before, fee_bps);
    const auto host = row.get<AccountId>(1);
    post(context, {.movement = Movement::charge,
                   .asset = get_asset(row, 3),
                   .reference = reference("charge", job) + ":" + to_string(usage.charge),
                   .shares = {{row.get<AccountId>(0), charge}, {host, charge - fee}, {platform, fee}},
                   .job = job,
                   .machine = row.get<MachineId>(2),
                   .host = host});
}

void release(Context context, JobId job) {
    const auto rows = context.tx.run(close_sql, job);
    if (rows.empty()) {
        if (!find_job(context.tx, job)) throw Problem(Code::not_found, "no such job");
        return;
    }
    const Micro rest = rows[0].get<Micro>(2) - rows[0].get<Micro>(3);
    if (rest == Micro{}) return;
    const auto renter = rows[0].get<AccountId>(0);
    post(context, {.movement = Movement::release,
                   .asset = get_asset(rows[0], 1),
                   .reference = reference("release", job),
                   .shares = {{renter, rest}, {renter, rest}},
                   .job = job});
}

std::optional<Job> find_job(db::Transaction& tx, JobId job) {
    const auto rows = tx.run(find_job_sql, job);
    if (rows.empty()) return std::nullopt;
    const auto row = rows[0];
    Job found;
    found.job = row.get<JobId>(0);
    found.renter = row.get<AccountId>(1);
    found.host = row.get<AccountId>(2);
    found.machine = row.get<MachineId>(3);
    found.asset = get_asset(row, 4);
    found.budget = row.get<Micro>(5);
    found.rate_per_hour = row.get<Micro>(6);
    found.fee_bps = row.get<std::int64_t>(7);
    found.runtime_ms = row.get<std::int64_t>(8);
    found.charged = row.get<Micro>(9);
    found.fee = fee_of(found.charged, found.fee_bps);
    found.refunded = row.get<Micro>(10);
    found.fee_refunded = fee_of(found.refunded, found.fee_bps);
    found.closed = row.get<bool>(11);
    return found;
}

Refunded refund(Context context, const Refund& refund) {
    check_amount(refund.amount);
    const auto rows = context.tx.run(refund_sql, refund.job, refund.amount);
    if (rows.empty())
        refuse_job(context.tx, refund.job, "the job is not over yet",
                   "all refunds of a job are at most its charge");
    const auto row = rows[0];
    const auto fee_bps = row.get<std::int64_t>(4);
    const auto total = row.get<Micro>(6);
    const Micro fee = fee_of(total, fee_bps) - fee_of(row.get<Micro>(7), fee_bps);
    const auto host = row.get<AccountId>(1);
    const TransactionId id =
        post(context, {.movement = Movement::refund,
                       .asset = get_asset(row, 3),
                       .reference = reference("refund", refund.id),
                       .shares = {{row.get<AccountId>(0), refund.amount},
                                  {host, refund.amount - fee},
                                  {platform, fee}},
                       .job = refund.job,
                       .machine = row.get<MachineId>(2),
                       .host = host});
    return {id, total, row.get<Micro>(5) - total};
}

void dispute(Context context, const Dispute& dispute) {
    check_amount(dispute.amount);
    const auto rows = context.tx.run(dispute_job_sql, dispute.job, dispute.amount);
    constexpr std::string_view too_much = "a dispute is at most what the host has of the job";
    if (rows.empty()) refuse_job(context.tx, dispute.job, "the job is not over yet", too_much);
    const auto row = rows[0];
    const auto fee_bps = row.get<std::int64_t>(2);
    const Micro kept = row.get<Micro>(3) - row.get<Micro>(4);
    const Micro fee = fee_of(row.get<Micro>(3), fee_bps) - fee_of(row.get<Micro>(4), fee_bps);
    if (row.get<Micro>(5) > kept - fee) throw Problem(Code::conflict, std::string(too_much));
    const auto host = row.get<AccountId>(0);
    const Asset asset = get_asset(row, 1);
    context.tx.start(add_dispute_sql, dispute.id, dispute.job, host, name(asset), dispute.amount);
    post(context, {.movement = Movement::dispute,
                   .asset = asset,
                   .reference = reference("dispute", dispute.id),
                   .shares = {{host, dispute.amount}, {host, dispute.amount}},
                   .job = dispute.job});
}

void end_dispute(Context context, DisputeId id) {
    const auto rows = context.tx.run(end_dispute_sql, id);
    if (rows.empty()) return;
    const auto row = rows[0];
    const auto job = row.get<JobId>(0);
    const auto host = row.get<AccountId>(1);
    const auto amount = row.get<Micro>(3);
    context.tx.start(end_dispute_job_sql, job, amount);
    post(context, {.movement = Movement::dispute_end,
                   .asset = get_asset(row, 2),
                   .reference = reference("dispute_end", id),
                   .shares = {{host, amount}, {host, amount}},
                   .job = job});
}

void lock(Context context, const Lock& lock) {
    check_amount(lock.amount);
    const bool payout = lock.source == Source::payout;
    const Movement movement = payout ? Movement::payout_lock : Movement::withdrawal_lock;
    context.tx.start(add_transfer_sql, lock.transfer, lock.account, name(lock.asset), lock.amount,
                     payout ? "payout" : "withdrawal");
    post(context, {.movement = movement,
                   .asset = lock.asset,
                   .reference = reference(name(movement), lock.transfer),
                   .shares = {{lock.account, lock.amount}, {lock.account, lock.amount}}});
}

void settle(Context context, TransferId transfer) {
    const EndedTransfer ended = end_transfer(context.tx, transfer, "settled");
    const Movement movement = ended.source == Source::payout ? Movement::payout_settle
                                                             : Movement::withdrawal_settle;
    post(context, {.movement = movement,
                   .asset = ended.asset,
                   .reference = reference(name(movement), transfer),
                   .shares = {{ended.account, ended.amount}, {platform, ended.amount}}});
}

void give_back(Context context, TransferId transfer) {
    const EndedTransfer ended = end_transfer(context.tx, transfer, "returned");
    const Movement movement = ended.source == Source::payout ? Movement::payout_return
                                                             : Movement::withdrawal_return;
    post(context, {.movement = movement,
                   .asset = ended.asset,
                   .reference = reference(name(movement), transfer),
                   .shares = {{ended.account, ended.amount}, {ended.account, ended.amount}}});
}

Balances balances(db::Transaction& tx, AccountId account, Asset asset) {
    const auto rows = tx.run(balances_sql, account, name(asset));
    if (rows.empty()) return {};
    const auto row = rows[0];
    return {row.get<Micro>(0), row.get<Micro>(1), row.get<Micro>(2), row.get<Micro>(3),
            row.get<Micro>(4), row.get<Micro>(5), row.get<Micro>(6), row.get<Micro>(7)};
}

}  // namespace berth::ledger
