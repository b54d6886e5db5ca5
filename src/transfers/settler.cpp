#include "transfers/settler.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/log.hpp"
#include "wallets/types.hpp"

namespace berth::transfers {
namespace {

using Status = chain::Outcome::Status;

// Nodes take a replacement only when both fees rise by a tenth or more.
std::int64_t raised(std::int64_t fee) { return fee + fee / 8 + 1; }

// The base fee can double in six blocks; what is not used is not paid.
std::int64_t fee_max_of(const chain::Fees& fees, std::int64_t priority) {
    return 2 * fees.base + priority;
}

void note(Level level, std::string_view event, const AttemptRow& attempt) {
    log(level, event,
        {{"transfer", to_string(attempt.transfer)},
         {"transaction", chain::to_string(attempt.hash)},
         {"nonce", attempt.nonce},
         {"attempt", attempt.attempt}});
}

}  // namespace

void Settler::run() const {
    chain::Patience patience(parts_.clock);
    follow_submitted(patience);
    submit_intents(patience);
    patience.finish();
}

void Settler::follow_submitted(chain::Patience& patience) const {
    std::optional<TransferId> after;
    while (!patience.is_over()) {
        const auto page = parts_.database.read([&](db::Transaction& tx) {
            return find_submitted(tx, after, transfers_per_run_max);
        });
        if (page.empty()) return;
        for (const TransferRow& transfer : page)
            if (!patience.is_over())
                patience.run(to_string(transfer.id), [&] { follow(transfer); });
        after = page.back().id;
    }
}

void Settler::follow(const TransferRow& transfer) const {
    const auto attempts = parts_.database.read(
        [&](db::Transaction& tx) { return list_attempts(tx, transfer.id); });
    check(!attempts.empty(), "a submitted transfer has signed bytes");
    for (const AttemptRow& attempt : attempts) {
        const chain::Outcome outcome = parts_.chain.outcome(attempt.hash);
        switch (outcome.status) {
            case Status::succeeded: return settle(transfer, attempt, outcome);
            case Status::reverted: return fail(transfer, attempt);
            case Status::included: return;  // it may still be reorganised away
            case Status::unseen: break;
        }
    }
    send_again(transfer, attempts.back());
}

// Keeps: reserved money leaves the ledger only for a final Transfer of that token, amount and
// recipient.
void Settler::settle(const TransferRow& transfer, const AttemptRow& attempt,
                     const chain::Outcome& outcome) const {
    const bool paid = std::any_of(
        outcome.transfers.begin(), outcome.transfers.end(), [&](const chain::Transfer& log) {
            return log.token == parts_.treasury.token(transfer.asset) && log.to == transfer.address &&
                   log.amount == transfer.amount && log.from == attempt.signer;
        });
    // A token that does not do what it says is for a person to look at; the money stays reserved.
    if (!paid) return note(Level::error, "transfer_without_event", attempt);
    end(transfer, attempt, TransferState::SETTLED);
    note(Level::info, "transfer_settled", attempt);
}

// The nonce must be used up for good, by a transaction that moved nothing: then no other attempt can
// ever be taken, and the money can go back. A receipt alone is not believed so far.
void Settler::fail(const TransferRow& transfer, const AttemptRow& attempt) const {
    if (parts_.chain.finalized_nonce(attempt.signer) <= attempt.nonce)
        throw chain::ProviderError("a reverted transaction has not used up its nonce");
    end(transfer, attempt, TransferState::FAILED);
    note(Level::warn, "transfer_failed", attempt);
}

// Books what became of a transfer, once, whoever else is at it.
void Settler::end(const TransferRow& transfer, const AttemptRow& attempt,
                  TransferState state) const {
    const Time now = parts_.clock.now();
    parts_.database.write([&](db::Transaction& tx) {
        if (!move_transfer(tx, transfer.id, {TransferState::SUBMITTED, state}, now)) return;
        set_transfer_hash(tx, transfer.id, state, attempt.hash);
        const ledger::Context context{tx, parts_.random, now};
        if (state == TransferState::SETTLED)
            ledger::settle(context, transfer.id);
        else
            ledger::give_back(context, transfer.id);
    });
}

void Settler::send_again(const TransferRow& transfer, const AttemptRow& last) const {
    // The nonce is used up, and not by us: somebody else has the treasury's key. No other nonce is
    // ever tried, because a provider that is wrong about this would make us pay twice.
    if (parts_.chain.finalized_nonce(last.signer) > last.nonce)
        return note(Level::error, "transfer_nonce_taken", last);
    const bool taken = send(last);
    if (parts_.clock.now() - last.created_at < replace_after) return;
    // Another key would have the same nonce for itself: two transactions could be taken.
    if (last.signer != parts_.key.address())
        return note(Level::error, "transfer_of_another_key", last);
    // A higher fee helps only one that the node has and that is next in line.
    if (taken && last.attempt < attempts_max &&
        parts_.chain.latest_nonce(last.signer) == last.nonce)
        replace(transfer, last);
}

void Settler::replace(const TransferRow& transfer, const AttemptRow& last) const {
    const chain::Fees fees = bounded_fees();
    AttemptRow plan = last;
    plan.attempt = last.attempt + 1;
    plan.priority_fee = std::max(raised(last.priority_fee), fees.priority);
    plan.fee_max = std::max(raised(last.fee_max), fee_max_of(fees, plan.priority_fee));
    if (plan.fee_max > parts_.limits.gas_fee_max)
        return note(Level::warn, "transfer_fee_above_cap", last);
    const AttemptRow attempt = sign(transfer, plan);
    const bool ours = parts_.database.write([&](db::Transaction& tx) {
        return set_transfer_hash(tx, transfer.id, TransferState::SUBMITTED, attempt.hash) &&
               add_attempt(tx, attempt);
    });
    if (!ours) return;
    note(Level::warn, "transfer_replaced", attempt);
    send(attempt);
}

void Settler::submit_intents(chain::Patience& patience) const {
    const auto intents = parts_.database.read(
        [](db::Transaction& tx) { return find_intents(tx, transfers_per_run_max); });
    if (intents.empty() || patience.is_over()) return;
    patience.run("new transfers", [&] {
        const chain::Fees fees = bounded_fees();
        const std::int64_t nonce_least = parts_.chain.latest_nonce(parts_.key.address());
        for (const TransferRow& transfer : intents)
            if (!patience.is_over())
                patience.run(to_string(transfer.id),
                             [&] { submit(transfer, fees, nonce_least); });
    });
}

// Keeps: the signed bytes are committed, with the state that says so, before they are sent.
void Settler::submit(const TransferRow& transfer, const chain::Fees& fees,
                     std::int64_t nonce_least) const {
    const auto attempt =
        parts_.database.write([&](db::Transaction& tx) -> std::optional<AttemptRow> {
            const Step step{TransferState::INTENT, TransferState::SUBMITTED};
            if (!move_transfer(tx, transfer.id, step, parts_.clock.now())) return std::nullopt;
            const auto nonce = take_nonce(tx, parts_.key.address(), nonce_least);
            if (!nonce) throw chain::ProviderError("the treasury's nonce has leapt ahead");
            AttemptRow plan;
            plan.transfer = transfer.id;
            plan.signer = parts_.key.address();
            plan.nonce = *nonce;
            plan.priority_fee = fees.priority;
            plan.fee_max = fee_max_of(fees, fees.priority);
            const AttemptRow made = sign(transfer, plan);
            check(add_attempt(tx, made), "an intent has no attempt yet");
            set_transfer_hash(tx, transfer.id, TransferState::SUBMITTED, made.hash);
            return made;
        });
    if (attempt) send(*attempt);
}

// Fees that a provider names and nobody would pay are no reason to pay them, nor to overflow.
chain::Fees Settler::bounded_fees() const {
    const chain::Fees fees = parts_.chain.fees();
    const std::int64_t most = parts_.limits.gas_fee_max;
    if (fees.base > most || fees.priority > most || fee_max_of(fees, fees.priority) > most)
        throw chain::ProviderError("the chain's fees are above the limit that is set");
    return fees;
}

// A provider that does not take it now is asked again in the next run.
bool Settler::send(const AttemptRow& attempt) const {
    try {
        parts_.chain.send(attempt.signed_bytes);
        note(Level::info, "transfer_sent", attempt);
        return true;
    } catch (const chain::ProviderError& error) {
        log(Level::warn, "transfer_not_sent",
            {{"transfer", to_string(attempt.transfer)}, {"why", error.what()}});
        return false;
    }
}

AttemptRow Settler::sign(const TransferRow& transfer, const AttemptRow& plan) const {
    const chain::Transaction transaction{
        .chain_id = wallets::base_chain_id,
        .nonce = plan.nonce,
        .priority_fee = plan.priority_fee,
        .fee_max = plan.fee_max,
        .gas_max = transfer_gas_max,
        .to = parts_.treasury.token(transfer.asset),
        .data = chain::erc20_transfer({transfer.address, transfer.amount})};
    const chain::Signed done = chain::sign(transaction, parts_.key);
    AttemptRow attempt = plan;
    attempt.hash = done.hash;
    attempt.signed_bytes = done.bytes;
    attempt.created_at = parts_.clock.now();
    return attempt;
}

worker::Kind settle_transfers_kind(Settler settler, Duration every) {
    worker::Kind kind;
    kind.name = "settle_transfers";
    kind.run = [settler](worker::Attempt&) { settler.run(); };
    kind.retry_max = std::chrono::minutes(1);
    kind.every = every;
    return kind;
}

}  // namespace berth::transfers
