#include "money/settler.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/log.hpp"
#include "money/patience.hpp"
#include "wallets/types.hpp"

namespace berth::money {
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
    follow_submitted();
    submit_intents();
}

void Settler::follow_submitted() const {
    std::optional<TransferId> after;
    Patience patience;
    for (;;) {
        const auto page = parts_.database.read([&](db::Transaction& tx) {
            return find_transfers(tx, TransferState::SUBMITTED, after, transfers_per_run_max);
        });
        if (page.empty()) return;
        for (const TransferRow& transfer : page) patience.run([&] { follow(transfer); });
        after = page.back().id;
    }
}

void Settler::follow(const TransferRow& transfer) const {
    const auto attempts = parts_.database.read(
        [&](db::Transaction& tx) { return list_attempts(tx, transfer.id); });
    for (const AttemptRow& attempt : attempts) {
        const chain::Outcome outcome = parts_.chain.outcome(attempt.hash);
        switch (outcome.status) {
            case Status::succeeded: return settle(transfer, attempt, outcome);
            case Status::reverted: return fail(transfer, attempt);
            case Status::included: return;  // it may still be reorganised away
            case Status::unseen: break;
        }
    }
    send_again(transfer, attempts);
}

// Keeps: reserved money leaves the ledger only for a final Transfer of that token, amount and
// recipient.
void Settler::settle(const TransferRow& transfer, const AttemptRow& attempt,
                     const chain::Outcome& outcome) const {
    const bool paid = std::any_of(
        outcome.transfers.begin(), outcome.transfers.end(), [&](const chain::Transfer& log) {
            return log.token == parts_.terms.token(transfer.asset) && log.to == transfer.address &&
                   log.amount == transfer.amount && log.from == parts_.key.address();
        });
    // A token that does not do what it says is for a person to look at; the money stays reserved.
    if (!paid) return note(Level::error, "transfer_without_event", attempt);
    const Time now = parts_.clock.now();
    parts_.database.write([&](db::Transaction& tx) {
        if (!move_transfer(tx, transfer.id, {TransferState::SUBMITTED, TransferState::SETTLED}, now))
            return;
        set_transfer_hash(tx, transfer.id, attempt.hash);
        ledger::settle({tx, parts_.random, now}, transfer.id);
    });
    note(Level::info, "transfer_settled", attempt);
}

// Its nonce is used up by a final transaction that moved nothing: no other of its attempts can ever
// be taken, so the money can go back.
void Settler::fail(const TransferRow& transfer, const AttemptRow& attempt) const {
    const Time now = parts_.clock.now();
    parts_.database.write([&](db::Transaction& tx) {
        if (!move_transfer(tx, transfer.id, {TransferState::SUBMITTED, TransferState::FAILED}, now))
            return;
        set_transfer_hash(tx, transfer.id, attempt.hash);
        ledger::give_back({tx, parts_.random, now}, transfer.id);
    });
    note(Level::warn, "transfer_failed", attempt);
}

void Settler::send_again(const TransferRow& transfer, const std::vector<AttemptRow>& attempts) const {
    check(!attempts.empty(), "a submitted transfer has signed bytes");
    const AttemptRow& last = attempts.back();
    // The nonce is used up, and not by us: somebody else has the treasury's key. No other nonce is
    // ever tried, because a provider that is wrong about this would make us pay twice.
    if (parts_.chain.finalized_nonce(parts_.key.address()) > last.nonce)
        return note(Level::error, "transfer_nonce_taken", last);
    send(last);
    if (parts_.clock.now() - last.created_at >= replace_after) replace(transfer, last);
}

void Settler::replace(const TransferRow& transfer, const AttemptRow& last) const {
    const chain::Fees fees = parts_.chain.fees();
    AttemptRow plan = last;
    plan.attempt = last.attempt + 1;
    plan.priority_fee = std::max(raised(last.priority_fee), fees.priority);
    plan.fee_max = std::max(raised(last.fee_max), fee_max_of(fees, plan.priority_fee));
    if (plan.fee_max > fee_cap_wei) return note(Level::warn, "transfer_fee_above_cap", last);
    const AttemptRow attempt = sign(transfer, plan);
    const bool ours = parts_.database.write([&](db::Transaction& tx) {
        const auto now_is = find_transfer(tx, transfer.id);
        if (!now_is || now_is->state != TransferState::SUBMITTED || !add_attempt(tx, attempt))
            return false;
        set_transfer_hash(tx, transfer.id, attempt.hash);
        return true;
    });
    if (!ours) return;
    note(Level::warn, "transfer_replaced", attempt);
    send(attempt);
}

void Settler::submit_intents() const {
    const auto intents = parts_.database.read([&](db::Transaction& tx) {
        return find_transfers(tx, TransferState::INTENT, std::nullopt, transfers_per_run_max);
    });
    if (intents.empty()) return;
    parts_.chain.check_chain_id();
    const chain::Fees fees = parts_.chain.fees();
    const std::int64_t nonce_least = parts_.chain.latest_nonce(parts_.key.address());
    for (const TransferRow& transfer : intents) {
        const auto attempt =
            parts_.database.write([&](db::Transaction& tx) -> std::optional<AttemptRow> {
                const Time now = parts_.clock.now();
                if (!move_transfer(tx, transfer.id, {TransferState::INTENT, TransferState::SUBMITTED},
                                   now))
                    return std::nullopt;
                AttemptRow plan;
                plan.transfer = transfer.id;
                plan.nonce = take_nonce(tx, parts_.key.address(), nonce_least);
                plan.priority_fee = fees.priority;
                plan.fee_max = fee_max_of(fees, fees.priority);
                const AttemptRow signed_attempt = sign(transfer, plan);
                check(add_attempt(tx, signed_attempt), "an intent has no attempt yet");
                set_transfer_hash(tx, transfer.id, signed_attempt.hash);
                return signed_attempt;
            });
        if (attempt) send(*attempt);
    }
}

// A provider that does not take it now is asked again in the next run.
void Settler::send(const AttemptRow& attempt) const {
    try {
        parts_.chain.send(attempt.signed_bytes);
        note(Level::info, "transfer_sent", attempt);
    } catch (const chain::ProviderError& error) {
        log(Level::warn, "transfer_not_sent",
            {{"transfer", to_string(attempt.transfer)}, {"why", error.what()}});
    }
}

AttemptRow Settler::sign(const TransferRow& transfer, const AttemptRow& plan) const {
    const chain::Transaction transaction{
        .chain_id = wallets::base_chain_id,
        .nonce = plan.nonce,
        .priority_fee = plan.priority_fee,
        .fee_max = plan.fee_max,
        .gas_max = transfer_gas_max,
        .to = parts_.terms.token(transfer.asset),
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

}  // namespace berth::money
