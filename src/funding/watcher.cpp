#include "funding/watcher.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace berth::funding {
namespace {

// Another treasury is watched from its own beginning.
std::string deposits_cursor(const crypto::Address& treasury) {
    return "deposits:" + crypto::to_string(treasury);
}

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
    chain::Patience patience(parts_.clock);
    finish_claims(patience);
    patience.run("deposits", [&] { park_unclaimed(); });
    patience.finish();
}

void Watcher::finish_claims(chain::Patience& patience) const {
    const auto claims = parts_.database.write([&](db::Transaction& tx) {
        return look_at_claims(tx, parts_.clock.now(), claims_per_look_max);
    });
    for (const PendingClaim& claim : claims)
        if (!patience.is_over())
            patience.run(to_string(claim.intent), [&] {
                finish_claim(claim, parts_.chain.outcome(claim.transaction));
            });
}

void Watcher::finish_claim(const PendingClaim& claim, const chain::Outcome& outcome) const {
    using Status = chain::Outcome::Status;
    const Time now = parts_.clock.now();
    const bool undecided =
        outcome.status == Status::unseen || outcome.status == Status::included;
    if (undecided && now < claim.until) return;
    try {
        parts_.database.write([&](db::Transaction& tx) {
            // The account may have claimed another transfer meanwhile; that one is not this.
            if (!take_pending_claim(tx, claim)) return;
            const auto intent = find_intent(tx, claim.intent);
            if (undecided || !intent || intent->state == IntentState::CONFIRMED) return;
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
        parts_.database.write([&](db::Transaction& tx) { take_pending_claim(tx, claim); });
    }
}

// Keeps: every final transfer to the treasury is in the ledger once, claimed or in suspense.
void Watcher::park_unclaimed() const {
    if (!parts_.treasury.address) return;
    const std::string name = deposits_cursor(*parts_.treasury.address);
    const std::int64_t head = parts_.chain.finalized_block();
    const auto cursor = parts_.database.read(
        [&](db::Transaction& tx) { return find_chain_cursor(tx, name); });
    if (cursor && *cursor > head)
        log(Level::warn, "chain_head_went_back", {{"head", head}, {"read_to", *cursor}});
    // What lies before the first look is history that this service has no part in.
    const std::int64_t first = cursor ? *cursor + 1 : head;
    if (first > head) return;
    const Found found = read_deposits({first, std::min(head, first + blocks_per_look_max - 1)});
    const Time now = parts_.clock.now();
    parts_.database.write([&](db::Transaction& tx) {
        for (const chain::Transfer& transfer : found.transfers) park(tx, transfer, now);
        if (!cursor) set_chain_cursor(tx, first_block_cursor, first);
        set_chain_cursor(tx, name, found.last);
    });
}

// Some providers take only short ranges, or small answers: half the range, until it is one block.
Watcher::Found Watcher::read_deposits(chain::Chain::Range range) const {
    const chain::Chain::Wanted wanted{{parts_.treasury.tokens.begin(), parts_.treasury.tokens.end()},
                                      *parts_.treasury.address};
    for (;;) {
        try {
            return {parts_.chain.transfers(range, wanted), range.last};
        } catch (const chain::ProviderError&) {
            if (range.first == range.last) throw;
            range.last = range.first + (range.last - range.first) / 2;
        }
    }
}

void Watcher::park(db::Transaction& tx, const chain::Transfer& transfer, Time now) const {
    const auto asset = parts_.treasury.asset_of(transfer.token);
    if (!asset || transfer.amount == Micro{}) return;
    if (!transfer.amount || *transfer.amount > ledger::amount_max) {
        log(Level::error, "deposit_too_large",
            {{"transaction", chain::to_string(transfer.transaction)}});
        return;
    }
    if (!add_suspense(tx, deposit_row(transfer, *asset, now))) return;
    ledger::park({tx, parts_.random, now},
                 {{}, *asset, *transfer.amount, deposit_reference(transfer)});
}

worker::Kind watch_chain_kind(Watcher watcher, Duration every) {
    worker::Kind kind;
    kind.name = watch_chain_kind_name;
    kind.run = [watcher](worker::Attempt&) { watcher.look(); };
    kind.retry_max = std::chrono::minutes(1);
    kind.every = every;
    return kind;
}

}  // namespace berth::funding
