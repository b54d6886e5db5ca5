#include "money/watcher.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "money/patience.hpp"

namespace berth::money {
namespace {

constexpr std::string_view deposits_cursor = "deposits";

// The transfer the claim means. Its log index may have changed with a reorganisation, so what the
// intent asked for is found by what it is; the index only chooses among several.
const chain::Transfer* find_claimed(const PendingClaim& claim, const IntentRow& intent,
                                    const std::vector<chain::Transfer>& transfers) {
    const chain::Transfer* found = nullptr;
    for (const chain::Transfer& transfer : transfers) {
        const bool fits = transfer.token == intent.token && transfer.to == intent.treasury &&
                          transfer.from == intent.wallet && transfer.amount == intent.amount;
        if (fits && (found == nullptr || transfer.log_index == claim.log_index)) found = &transfer;
    }
    if (found != nullptr) return found;
    const auto named = std::find_if(
        transfers.begin(), transfers.end(),
        [&](const chain::Transfer& transfer) { return transfer.log_index == claim.log_index; });
    return named == transfers.end() ? nullptr : &*named;
}

}  // namespace

void Watcher::look() const {
    finish_claims();
    park_unclaimed();
}

void Watcher::finish_claims() const {
    const auto claims = parts_.database.read(
        [](db::Transaction& tx) { return find_pending_claims(tx, claims_per_look_max); });
    Patience patience;
    for (const PendingClaim& claim : claims)
        patience.run([&] { finish_claim(claim, parts_.chain.outcome(claim.transaction)); });
}

void Watcher::finish_claim(const PendingClaim& claim, const chain::Outcome& outcome) const {
    using Status = chain::Outcome::Status;
    const Time now = parts_.clock.now();
    const bool undecided =
        outcome.status == Status::unseen || outcome.status == Status::included;
    try {
        parts_.database.write([&](db::Transaction& tx) {
            const auto intent = find_intent(tx, claim.intent);
            if (!intent || intent->state == IntentState::CONFIRMED || now >= claim.until)
                return delete_pending_claim(tx, claim.intent);
            if (undecided) return note_look(tx, claim.intent, now);
            if (outcome.status == Status::reverted) {
                refuse_claim(tx, intent->id, "the transaction was reverted");
                return;
            }
            const auto* transfer = find_claimed(claim, *intent, outcome.transfers);
            if (transfer == nullptr)
                refuse_claim(tx, intent->id, "the transaction has no token transfer of yours");
            else
                book({tx, parts_.random, now}, *intent, *transfer);
        });
    } catch (const Problem& problem) {
        // As the claim would have answered, had the transfer been final then; the intent stays open.
        log(Level::warn, "claim_refused",
            {{"intent", to_string(claim.intent)}, {"why", problem.what()}});
        parts_.database.write(
            [&](db::Transaction& tx) { delete_pending_claim(tx, claim.intent); });
    }
}

// Keeps: every final transfer to the treasury is in the ledger once, claimed or in suspense.
void Watcher::park_unclaimed() const {
    if (!parts_.terms.treasury) return;
    const std::int64_t head = parts_.chain.finalized_block();
    const auto cursor = parts_.database.read(
        [](db::Transaction& tx) { return find_chain_cursor(tx, deposits_cursor); });
    // What lies before the first look is history that this service has no part in.
    const std::int64_t first = cursor ? *cursor + 1 : head;
    const std::int64_t last = std::min(head, first + blocks_per_look_max - 1);
    if (first > last) return;
    const auto transfers = parts_.chain.transfers(
        {first, last},
        {{parts_.terms.tokens.begin(), parts_.terms.tokens.end()}, *parts_.terms.treasury});
    const Time now = parts_.clock.now();
    parts_.database.write([&](db::Transaction& tx) {
        for (const chain::Transfer& transfer : transfers) {
            const auto asset = parts_.terms.asset_of(transfer.token);
            if (!asset || transfer.amount == Micro{}) continue;
            if (!transfer.amount) {
                log(Level::error, "deposit_too_large",
                    {{"transaction", chain::to_string(transfer.transaction)}});
                continue;
            }
            if (!add_suspense(tx, deposit_row(transfer, *asset, now))) continue;
            ledger::park({tx, parts_.random, now},
                         {{}, *asset, *transfer.amount, deposit_reference(transfer)});
        }
        set_chain_cursor(tx, deposits_cursor, last);
    });
}

worker::Kind watch_chain_kind(Watcher watcher, Duration every) {
    worker::Kind kind;
    kind.name = watch_chain_kind_name;
    kind.run = [watcher](worker::Attempt&) { watcher.look(); };
    kind.retry_max = std::chrono::minutes(1);
    kind.every = every;
    return kind;
}

}  // namespace berth::money
