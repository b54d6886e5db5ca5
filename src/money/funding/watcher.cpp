#include "funding/watcher.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "funding/told.hpp"

namespace berth::funding {
namespace {

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
    // Looked at first: what a claim may name is bounded by where a treasury's history begins.
    std::int64_t lag = 0;
    for (const Watched& watched : watched_treasuries())
        if (!patience.is_over())
            patience.run("deposits to " + crypto::to_string(watched.treasury),
                         [&] { lag = std::max(lag, park_unclaimed(watched)); });
    vitals_->lag_blocks = lag;
    finish_claims(patience);
    const auto parked = parts_.database.read(sum_suspense);
    for (std::size_t i = 0; i < parked.size(); ++i) vitals_->suspense_micro[i] = parked[i].value;
    patience.finish();
    vitals_->looked_at = parts_.clock.now().micros;
}

void Watcher::finish_claims(chain::Patience& patience) const {
    const Time due = parts_.clock.now();
    for (int batch = 0; batch < claim_batches_per_look_max && !patience.is_over(); ++batch) {
        const auto claims = parts_.database.read(
            [&](db::Transaction& tx) { return find_pending_claims(tx, due, claims_together_max); });
        if (claims.empty()) return;
        if (ask(patience, claims)) continue;
        // One of them may be why: alone it holds up nobody, and is looked at later.
        for (const PendingClaim& one : claims) {
            if (patience.is_over()) return;
            if (!ask(patience, {&one, 1})) note_looks({&one, 1}, {});
        }
    }
}

bool Watcher::ask(chain::Patience& patience, std::span<const PendingClaim> claims) const {
    bool done = false;
    patience.run(to_string(claims.front().intent), [&] {
        const bool all_agree = finish_batch(claims);
        done = true;
        if (!all_agree) throw chain::ProviderError("providers contradict each other on a claim");
    });
    return done;
}

bool Watcher::finish_batch(std::span<const PendingClaim> claims) const {
    std::vector<chain::Hash> hashes;
    for (const PendingClaim& claim : claims) hashes.push_back(claim.transaction);
    const std::vector<chain::Outcome> outcomes = parts_.chain.outcomes(hashes);
    bool all_agree = true;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        all_agree = all_agree && outcomes[i].status != chain::Outcome::Status::disputed;
        finish_claim(claims[i], outcomes[i]);
    }
    note_looks(claims, outcomes);
    return all_agree;
}

// When each is looked at again, without outcomes because they could not be had: at its end at the
// latest, and later than now. One that is past its end and cannot be ended yet would otherwise be
// the first of every batch, and keep all others from being looked at.
void Watcher::note_looks(std::span<const PendingClaim> claims,
                         std::span<const chain::Outcome> outcomes) const {
    const Time now = parts_.clock.now();
    const auto wait = [&](std::size_t i) -> Duration {
        if (outcomes.empty() || outcomes[i].status == chain::Outcome::Status::disputed)
            return claim_failure_wait;
        if (outcomes[i].status != chain::Outcome::Status::unseen) return Duration{1};
        const Duration age = now - claims[i].claimed_at;
        return std::clamp<Duration>(age / claim_waits_of_its_age, Duration{1}, claim_wait_max);
    };
    const auto next_look = [&](std::size_t i) {
        const Time next = now + wait(i);
        return claims[i].until > now ? std::min(next, claims[i].until) : next;
    };
    parts_.database.write([&](db::Transaction& tx) {
        for (std::size_t i = 0; i < claims.size(); ++i)
            note_look(tx, claims[i].intent, next_look(i));
    });
}

void Watcher::finish_claim(const PendingClaim& claim, const chain::Outcome& outcome) const {
    using Status = chain::Outcome::Status;
    const Time now = parts_.clock.now();
    const bool undecided = outcome.status == Status::unseen || outcome.status == Status::included ||
                           outcome.status == Status::disputed;
    if (undecided && now < claim.until) return;
    try {
        parts_.database.write([&](db::Transaction& tx) {
            // The account may have claimed another transfer meanwhile; that one is not this.
            if (!take_pending_claim(tx, claim)) return;
            const auto intent = find_intent(tx, claim.intent);
            if (undecided || !intent || intent->state == IntentState::CONFIRMED ||
                intent->state == IntentState::CANCELLED)
                return;
            if (outcome.status == Status::reverted) {
                refuse_claim({tx, parts_.random, now}, *intent, "the transaction was reverted");
                return;
            }
            const auto* transfer = find_claimed(claim, *intent, outcome.transfers);
            if (transfer == nullptr)
                refuse_claim({tx, parts_.random, now}, *intent,
                             "the transaction has no token transfer of yours");
            else
                book({tx, parts_.random, now}, parts_.payments, *intent, *transfer);
        });
    } catch (const Problem& problem) {
        if (problem.code == Code::unavailable) return;  // it cannot be told yet
        // As the claim would have answered, had the transfer been final then; the intent stays
        // open.
        log(Level::warn, "claim_refused",
            {{"intent", to_string(claim.intent)}, {"why", problem.what()}});
        parts_.database.write([&](db::Transaction& tx) { take_pending_claim(tx, claim); });
    }
}

// Every treasury that was ever named to anybody; the present one is there even if nobody asked yet.
std::vector<Watched> Watcher::watched_treasuries() const {
    if (parts_.treasury.address)
        parts_.database.write([&](db::Transaction& tx) {
            for (const Asset asset : ledger::assets)
                watch(tx, {*parts_.treasury.address, parts_.treasury.token(asset), asset});
        });
    return parts_.database.read(list_watched);
}

// Where the history of a treasury begins that nobody has looked at yet: now, or where the oldest
// intent was made that may still be claimed, if the chain was out of reach since then.
std::int64_t Watcher::first_block(const Watched& watched, std::int64_t head) const {
    const Time now = parts_.clock.now();
    const auto oldest = parts_.database.read([&](db::Transaction& tx) {
        return find_oldest_intent(tx, watched.treasury, now - claim_window);
    });
    if (!oldest) return head;
    const std::int64_t age_s = std::max<std::int64_t>(0, (now - *oldest) / std::chrono::seconds(1));
    return std::max<std::int64_t>(0, head - age_s / block_seconds_min - first_blocks_margin);
}

// Keeps: every final transfer to a treasury is in the ledger once, claimed or in suspense.
std::int64_t Watcher::park_unclaimed(const Watched& watched) const {
    const std::int64_t head = parts_.chain.finalized_block();
    Watched::Blocks blocks;
    std::int64_t next = 0;
    if (watched.blocks) {
        blocks = *watched.blocks;
        next = blocks.read_to + 1;
        if (blocks.read_to > head)
            log(Level::warn, "chain_head_went_back", {{"head", head}, {"read_to", blocks.read_to}});
    } else {
        next = blocks.first = first_block(watched, head);
    }
    if (next > head) return 0;
    const Found found =
        read_deposits(watched, {next, std::min(head, next + blocks_per_look_max - 1)});
    blocks.read_to = found.last;
    const Time now = parts_.clock.now();
    parts_.database.write([&](db::Transaction& tx) {
        for (const chain::Transfer& transfer : found.transfers) park(tx, watched, transfer, now);
        note_read(tx, watched, blocks);
    });
    return head - found.last;
}

// Some providers take only short ranges, or small answers: half the range, until it is one block.
Watcher::Found Watcher::read_deposits(const Watched& watched, chain::Chain::Range range) const {
    const chain::Chain::Wanted wanted{{watched.token}, watched.treasury};
    for (;;) {
        try {
            return {parts_.chain.transfers(range, wanted), range.last};
        } catch (const chain::ProviderError&) {
            if (range.first == range.last) throw;
            range.last = range.first + (range.last - range.first) / 2;
        }
    }
}

void Watcher::park(db::Transaction& tx, const Watched& watched, const chain::Transfer& transfer,
                   Time now) const {
    if (transfer.amount == Micro{}) return;
    // From one treasury of ours to another: nothing has come in.
    if (is_treasury(tx, transfer.from)) return;
    if (!transfer.amount || *transfer.amount > ledger::amount_max) {
        log(Level::error, "deposit_too_large",
            {{"transaction", chain::to_string(transfer.transaction)}});
        return;
    }
    if (!add_suspense(tx, deposit_row(transfer, watched.asset, now))) return;
    const std::string hash = chain::to_string(transfer.transaction);
    events::tell_operators({tx, parts_.random, now}, operations_suspense,
                           id_of({hash, transfer.ordinal}),
                           SuspenseFacts{*transfer.amount, watched.asset, {hash}});
    ledger::park({tx, parts_.random, now}, {.account = {},
                                            .asset = watched.asset,
                                            .amount = *transfer.amount,
                                            .reference = deposit_reference(transfer)});
}

worker::Kind watch_chain_kind(Watcher watcher, Duration every) {
    worker::Kind kind;
    kind.name = watch_chain_kind_name;
    kind.run = [watcher](worker::Attempt&) { watcher.look(); };
    kind.retry_max = std::chrono::minutes(1);
    kind.every = every;
    kind.lane = "watch";
    return kind;
}

}  // namespace berth::funding
