#include "transfers/settler.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "chain/settings.hpp"
#include "settings/changes.hpp"
#include "transfers/brakes.hpp"
#include "transfers/payees.hpp"
#include "transfers/returns.hpp"
#include "transfers/told.hpp"
#include "transfers/trial.hpp"
#include "wallets/types.hpp"

namespace berth::transfers {
namespace {

using Status = chain::Outcome::Status;

constexpr std::int64_t nonce_end = std::numeric_limits<std::int64_t>::max();

// Nodes take a replacement only when both fees rise by a tenth or more.
std::int64_t raised(std::int64_t fee) { return fee + fee / 8 + 1; }

// The base fee can double in six blocks; what is not used is not paid.
std::int64_t fee_max_of(const chain::Fees& fees, std::int64_t priority) {
    return 2 * fees.base + priority;
}

Duration wait_after(std::int64_t sends) {
    constexpr std::int64_t doublings_max = 10;
    return std::min<Duration>(
        send_again_max, send_again_first * (std::int64_t{1} << std::min(sends, doublings_max)));
}

// What a brake holds back says so itself, and must not hide one that is late. All are looked at
// only when the oldest is such a one.
std::optional<Time> find_oldest_unbraked(db::Transaction& tx, const Settings& limits, Time now) {
    std::optional<Time> oldest = find_oldest_submitted(tx);
    Brakes brakes(tx, limits, now);
    const auto take = [&](const TransferRow& transfer) {
        if (!brakes.let_go(transfer)) return false;
        oldest = std::min(oldest.value_or(transfer.created_at), transfer.created_at);
        return true;
    };
    const auto first = find_oldest_intent(tx);
    if (!first || take(*first)) return oldest;
    for (const TransferRow& transfer : find_intents(tx, intents_looked_at_max)) take(transfer);
    return oldest;
}

void note(Level level, std::string_view event, const AttemptRow& attempt) {
    log(level, event,
        {{"transfer", to_string(attempt.transfer_id)},
         {"transaction", chain::to_string(attempt.tx_hash)},
         {"nonce", attempt.nonce},
         {"attempt", attempt.attempt}});
}

// What this process has taken up of the settings may be a second old, and whoever was told that
// payouts are paused relies on it.
bool is_pause_stored(db::Transaction& tx) {
    const settings::StoredValues stored = settings::read_stored(tx);
    const auto row = stored.find(payouts_paused_key);
    return row != stored.end() && row->second.value == "true";
}

}  // namespace

// New transfers go before old ones are followed: however many wait to be final, the next one
// leaves.
void Settler::run() const {
    chain::Patience patience(parts_.clock);
    const crypto::Address own = parts_.key.address();
    const auto snapshot = parts_.settings.now();
    const auto take_round = [&](const crypto::Address& signer) {
        patience.run(crypto::to_string(signer), [&] {
            const std::vector<crypto::Address> tokens(parts_.treasury.tokens.begin(),
                                                      parts_.treasury.tokens.end());
            Round round{patience, snapshot, signer, parts_.chain.standing(signer, tokens)};
            if (signer == own) {
                note_vitals(round);
                patience.run("new transfers", [&] { submit(round); });
            }
            patience.run("sent transfers", [&] { follow(round); });
            patience.run("unseen transfers", [&] { send_again(round); });
        });
    };
    take_round(own);
    // What an earlier key of the treasury signed is followed, too.
    for (const crypto::Address& signer :
         parts_.database.read([](db::Transaction& tx) { return list_signers(tx); }))
        if (signer != own && !patience.is_over()) take_round(signer);
    for (const TransferId lost : parts_.database.read(
             [](db::Transaction& tx) { return find_without_attempt(tx, batch_rows_max); }))
        log(Level::error, "transfer_without_attempt", {{"transfer", to_string(lost)}});
    patience.finish();
}

void Settler::note_vitals(const Round& round) const {
    constexpr std::int64_t gwei = 1'000'000'000;
    vitals_->gas_gwei = round.standing.gas / gwei;
    for (std::size_t i = 0; i < vitals_->holdings_micro.size(); ++i)
        vitals_->holdings_micro[i] = round.standing.balances.at(i).value;
    const Settings& limits = round.snapshot->get<Settings>();
    const Time now = parts_.clock.now();
    const auto oldest = parts_.database.read(
        [&](db::Transaction& tx) { return find_oldest_unbraked(tx, limits, now); });
    vitals_->stranded = parts_.database.read([&](db::Transaction& tx) {
        return count_stranded(
            tx, {*limits.payouts_account_day_max_micro, *limits.payouts_day_max_micro});
    });
    const Duration age = oldest ? now - *oldest : Duration{};
    vitals_->oldest_open_seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
}

void Settler::submit(Round& round) const {
    // Asked after the chain was: what another settler has sent meanwhile is in the books by now.
    const auto look = [&](db::Transaction& tx) {
        return std::pair(find_next_nonce(tx, round.signer), find_hold(tx));
    };
    auto [next_nonce, hold] = parts_.database.read(look);
    if (next_nonce == 0 && round.standing.pending_nonce > 0)
        std::tie(next_nonce, hold) = parts_.database.write([&](db::Transaction& tx) {
            meet_treasury(tx, round.signer, round.standing.pending_nonce);
            return look(tx);
        });
    if (hold) {
        log(Level::warn, "settlement_held", {{"why", *hold}});
        return;
    }
    if (round.standing.pending_nonce > next_nonce)
        return hold_back(round.signer, round.standing, next_nonce);
    if (!agrees_with_earlier_ones()) return;
    if (*round.snapshot->get<Settings>().payouts_paused) return;
    call_off_refused();
    const chain::Fees fees = bounded(round);
    const std::vector<TransferRow> wanted = choose(round, next_nonce, fees);
    require_decimals(round, wanted);
    const std::vector<TransferRow> chosen = try_out(round, wanted);
    for (std::size_t first = 0; first < chosen.size() && !round.patience.is_over();
         first += batch_rows_max) {
        const std::size_t count = std::min<std::size_t>(batch_rows_max, chosen.size() - first);
        send(sign_batch(round, std::span(chosen).subspan(first, count), fees));
    }
}

// The treasury sent what the books do not know: they are older than the chain, or somebody else has
// the key. A transfer that waits here may be paid already. So nothing is signed, and no money goes
// back, until a person has reconciled the two.
void Settler::hold_back(const crypto::Address& treasury, const chain::Standing& standing,
                        std::int64_t next_nonce) const {
    log(Level::error, "treasury_ahead_of_books",
        {{"treasury", crypto::to_string(treasury)},
         {"chain_nonce", standing.pending_nonce},
         {"books_nonce", next_nonce}});
    // What waits in the pools is hearsay, and only a reason to wait.
    if (standing.latest_nonce <= next_nonce) return;
    parts_.database.write([&](db::Transaction& tx) {
        take_signing_turn(tx);  // whoever signs now has done so, or finds the hold
        if (!find_hold(tx))
            add_hold({tx, parts_.random, parts_.clock.now()},
                     "the treasury sent what the books do not know");
    });
}

// Keeps: a transfer that an earlier treasury has paid is not paid again by the present one. Books
// from before a change of treasury call it unpaid, and know nothing of the present one's nonces.
bool Settler::agrees_with_earlier_ones() const {
    const auto known = parts_.database.read(list_treasuries);
    for (const KnownTreasury& one : known) {
        if (one.retired_at || one.treasury == parts_.key.address()) continue;
        const chain::Standing standing = parts_.chain.standing(one.treasury, {});
        // Asked after the chain was: another process may still sign with that key.
        const std::int64_t next_nonce = parts_.database.read(
            [&](db::Transaction& tx) { return find_next_nonce(tx, one.treasury); });
        if (standing.pending_nonce <= next_nonce) continue;
        hold_back(one.treasury, standing, next_nonce);
        return false;
    }
    return true;
}

// A token that counts in other parts than millionths would be paid a multiple of what is owed.
void Settler::require_decimals(const Round& round, std::span<const TransferRow> chosen) const {
    if (chain::allows(round.snapshot->get<chain::Settings>(), "decimals")) return;
    for (const TransferRow& transfer : chosen) {
        std::atomic<bool>& checked = (*decimals_checked_)[static_cast<std::size_t>(transfer.asset)];
        if (checked) continue;
        const crypto::Address& token = parts_.treasury.token(transfer.asset);
        if (parts_.chain.decimals(token) != ledger::token_decimals)
            throw std::runtime_error("the token " + crypto::checksummed(token) +
                                     " does not count in millionths");
        checked = true;
    }
}

// Those that the operator's brakes let go and the treasury's wallet covers, gas included: what it
// cannot pay would only be reverted, and hold up every later nonce until then. Those that wait are
// passed over, however many they are, and keep nobody else waiting.
std::vector<TransferRow> Settler::choose(const Round& round, std::int64_t next_nonce,
                                         const chain::Fees& fees) const {
    const std::int64_t unmined = next_nonce - round.standing.latest_nonce;
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(unmined_max - unmined, 0));
    if (room == 0) return {};
    const NonceRange on_their_way{round.signer, round.standing.latest_nonce, nonce_end};
    const std::int64_t gas_each =
        std::max<std::int64_t>(1, transfer_gas_max * fee_max_of(fees, fees.priority));
    std::vector<TransferRow> chosen;
    std::vector<Shortage> shortages;
    std::int64_t uncovered = 0;
    parts_.database.read([&](db::Transaction& tx) {
        chosen.clear();
        shortages.clear();
        uncovered = 0;
        Cover cover;
        cover.transfers = round.standing.gas / gas_each - unmined;
        const auto promised = sum_in_flight(tx, on_their_way);
        for (std::size_t i = 0; i < cover.tokens.size(); ++i)
            cover.tokens[i] = round.standing.balances.at(i) - promised[i];
        std::array<bool, ledger::assets.size()> probed{};
        Brakes brakes(tx, round.snapshot->get<Settings>(), parts_.clock.now());
        for (const TransferRow& transfer : find_intents(tx, intents_looked_at_max)) {
            if (chosen.size() == room) return;
            if (!brakes.let_go(transfer)) continue;
            const auto asset = static_cast<std::size_t>(transfer.asset);
            Micro& tokens = cover.tokens[asset];
            if (tokens < transfer.amount || cover.transfers <= 0) {
                ++uncovered;
                const ShortOf of = cover.transfers <= 0 ? ShortOf::gas : ShortOf::tokens;
                if (transfer.short_of != of) shortages.push_back({transfer.transfer_id, of});
                continue;
            }
            // One is enough to see whether a token that paid nobody pays again: the others would
            // take up places that the other asset needs.
            if ((*stopped_)[asset] && std::exchange(probed[asset], true)) {
                if (transfer.short_of != ShortOf::token)
                    shortages.push_back({transfer.transfer_id, ShortOf::token});
                continue;
            }
            tokens = tokens - transfer.amount;
            --cover.transfers;
            brakes.count(transfer);
            chosen.push_back(transfer);
        }
    });
    if (uncovered > 0)
        log(Level::error, "treasury_short",
            {{"transfers", uncovered}, {"gas_wei", round.standing.gas}});
    note_shortages(shortages);
    return chosen;
}

// Whoever waits for the treasury is told so; each is written once.
void Settler::note_shortages(std::span<const Shortage> shortages) const {
    if (shortages.empty()) return;
    const auto some = shortages.subspan(0, std::min(shortages.size(), shortages_noted_max));
    parts_.database.write([&](db::Transaction& tx) {
        std::map<ShortOf, std::int64_t> waiting;
        for (const Shortage& one : some) {
            note_short(tx, one.transfer, one.of);
            ++waiting[one.of];
        }
        for (const auto& [of, count] : waiting)
            events::tell_operators({tx, parts_.random, parts_.clock.now()},
                                   operations_treasury_short, std::string(enum_name(of)),
                                   TreasuryShortFacts{of, {count}});
    });
}

// Keeps: nothing is signed that the chain would refuse as it stands. What a payee cannot have is
// counted against that address; what nobody could have waits for the token, and tells the operator.
std::vector<TransferRow> Settler::try_out(const Round& round,
                                          std::span<const TransferRow> chosen) const {
    vitals_->stopped_by_token = 0;
    if (chosen.empty()) return {};
    Trials trials = try_payments(parts_.chain, parts_.treasury, round.signer, chosen);
    vitals_->stopped_by_token = static_cast<std::int64_t>(trials.stopped.size());
    for (const TransferRow& transfer : trials.stopped)
        (*stopped_)[static_cast<std::size_t>(transfer.asset)] = true;
    for (const auto* some : {&trials.good, &trials.refused_payees})
        for (const TransferRow& transfer : *some)
            (*stopped_)[static_cast<std::size_t>(transfer.asset)] = false;
    if (!trials.stopped.empty() || !trials.unclear.empty())
        log(Level::error, "token_refuses_payments",
            {{"transfers", static_cast<std::int64_t>(trials.stopped.size())},
             {"unclear", static_cast<std::int64_t>(trials.unclear.size())}});
    std::vector<Shortage> waiting;
    for (const auto* some : {&trials.stopped, &trials.refused_payees, &trials.unclear})
        for (const TransferRow& transfer : *some)
            if (transfer.short_of != ShortOf::token)
                waiting.push_back({transfer.transfer_id, ShortOf::token});
    note_shortages(waiting);
    if (trials.refused_payees.empty()) return std::move(trials.good);
    parts_.database.write([&](db::Transaction& tx) {
        count_refusals({tx, parts_.random, parts_.clock.now()}, trials.refused_payees,
                       round.snapshot->get<Settings>());
    });
    call_off_refused();
    return std::move(trials.good);
}

// Whatever barred an address, and on whichever server: what waits for it does not wait for ever.
void Settler::call_off_refused() const {
    if (!parts_.database.read(any_waits_for_barred)) return;
    const auto called_off = parts_.database.write([&](db::Transaction& tx) {
        return call_off_barred({tx, parts_.random, parts_.clock.now()});
    });
    for (const TransferId id : called_off)
        log(Level::warn, "transfer_refused_by_token", {{"transfer", to_string(id)}});
}

// Keeps: the signed bytes are committed, with the state that says so, before they are sent; and
// what is signed in a day stays within its caps, whoever else signs, because they are asked again
// in turn. What an operator paused or held since the round began is not signed: trials alone may
// take minutes with a slow provider.
std::vector<AttemptRow> Settler::sign_batch(const Round& round, std::span<const TransferRow> batch,
                                            const chain::Fees& fees) const {
    const Time now = parts_.clock.now();
    return parts_.database.write([&](db::Transaction& tx) {
        take_signing_turn(tx);
        std::vector<AttemptRow> made;
        const auto snapshot = parts_.settings.now();
        const Settings& limits = snapshot->get<Settings>();
        if (*limits.payouts_paused || is_pause_stored(tx) || find_hold(tx)) return made;
        Brakes brakes(tx, limits, now);
        for (const TransferRow& transfer : batch) {
            if (!brakes.let_go(transfer)) continue;
            // It may have been held back since it was chosen.
            const Step step{TransferState::INTENT, TransferState::SUBMITTED, {}, true};
            if (!move_transfer({tx, parts_.random, now}, transfer.transfer_id, step)) continue;
            const auto nonce = take_nonce(tx, round.signer, round.standing.pending_nonce);
            if (!nonce)
                throw chain::ProviderError("the treasury is ahead of the books, or is retired");
            AttemptRow plan;
            plan.transfer_id = transfer.transfer_id;
            plan.signer = round.signer;
            plan.nonce = *nonce;
            plan.priority_fee = fees.priority;
            plan.fee_max = fee_max_of(fees, fees.priority);
            plan.after_block = round.standing.finalized_block;
            made.push_back(sign(transfer, plan));
            require(add_attempt(tx, made.back(), now + send_again_first),
                    "an intent has no attempt yet");
            brakes.count(transfer);
        }
        return made;
    });
}

// Only what the chain has finally taken a nonce for is asked about.
void Settler::follow(Round& round) const {
    NonceRange range{round.signer, 0, round.standing.finalized_nonce};
    while (!round.patience.is_over()) {
        const auto page = parts_.database.read(
            [&](db::Transaction& tx) { return find_in_flight(tx, range, batch_rows_max); });
        if (page.empty()) return;
        round.patience.run("sent transfers", [&] { decide(round, page); });
        range.first = page.back().nonce + 1;
    }
}

void Settler::decide(Round& round, std::span<const InFlight> page) const {
    std::vector<chain::Hash> hashes;
    for (const InFlight& one : page)
        for (const AttemptRow& attempt : one.attempts) hashes.push_back(attempt.tx_hash);
    const std::vector<chain::Outcome> outcomes = parts_.chain.outcomes(hashes);
    std::vector<Ending> endings;
    std::size_t first = 0;
    for (const InFlight& one : page) {
        const auto its = std::span(outcomes).subspan(first, one.attempts.size());
        first += its.size();
        if (auto end = ending(one, its)) endings.push_back(std::move(*end));
    }
    book(round, std::move(endings));
}

// The nonce is used up for good. By one that moved nothing: then no other attempt can ever be
// taken, and the money can go back. By none of ours: somebody else has the treasury's key, or the
// books lost an attempt. No other nonce is ever tried then, because a provider that is wrong about
// this would make us pay twice.
std::optional<Settler::Ending> Settler::ending(const InFlight& one,
                                               std::span<const chain::Outcome> outcomes) const {
    if (one.attempts.empty()) return std::nullopt;
    const auto is_unseen = [](const chain::Outcome& its) { return its.status == Status::unseen; };
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const AttemptRow& attempt = one.attempts[i];
        if (outcomes[i].status == Status::reverted)
            return Ending{one.transfer, attempt, TransferState::FAILED};
        if (outcomes[i].status != Status::succeeded) continue;
        if (is_paid(one.transfer, attempt, outcomes[i]))
            return Ending{one.transfer, attempt, TransferState::SETTLED};
        // A token that does not do what it says is for a person; the money stays reserved.
        note(Level::error, "transfer_without_event", attempt);
        return std::nullopt;
    }
    const Time now = parts_.clock.now();
    if (std::ranges::all_of(outcomes, is_unseen) && one.send_at <= now) {
        note(Level::error, "transfer_nonce_taken", one.attempts.back());
        parts_.database.write([&](db::Transaction& tx) {
            note_send(tx, one.transfer.transfer_id, now + wait_after(one.sends));
        });
    }
    return std::nullopt;
}

// Keeps: reserved money leaves the ledger only for a final Transfer of that token, amount and
// recipient.
bool Settler::is_paid(const TransferRow& transfer, const AttemptRow& attempt,
                      const chain::Outcome& outcome) const {
    return std::ranges::any_of(outcome.transfers, [&](const chain::Transfer& log) {
        return log.token == parts_.treasury.token(transfer.asset) && log.to == transfer.address &&
               log.amount == transfer.amount && log.from == attempt.signer;
    });
}

// Several in one commit, in the order of their accounts, as everybody changes them; one that cannot
// be booked must not keep the others from it.
void Settler::book(Round& round, std::vector<Ending> endings) const {
    std::ranges::sort(endings, {}, [](const Ending& one) { return one.transfer.account_id; });
    for (std::size_t first = 0; first < endings.size(); first += booked_together_max) {
        const auto some = std::span<const Ending>(endings).subspan(
            first, std::min(booked_together_max, endings.size() - first));
        try {
            book_all(round, some);
        } catch (const std::exception& error) {
            log(Level::warn, "transfers_not_booked_together", {{"why", error.what()}});
            for (const Ending& one : some)
                round.patience.run(to_string(one.transfer.transfer_id), [&] {
                    book_all(round, {&one, 1});
                });
        }
    }
}

// Books what became of transfers, each once, whoever else is at it.
void Settler::book_all(const Round& round, std::span<const Ending> endings) const {
    const Time now = parts_.clock.now();
    std::vector<const Ending*> booked;
    const bool held = parts_.database.write([&](db::Transaction& tx) {
        booked.clear();
        // It may end in a hold: whoever signs now has done so, or finds it. The turn comes before
        // any row of the ledger.
        if (std::ranges::any_of(
                endings, [](const Ending& one) { return one.state == TransferState::FAILED; }))
            take_signing_turn(tx);
        ChainEndings ended;
        const ledger::Context context{tx, parts_.random, now};
        for (const Ending& one : endings) {
            const TransferId id = one.transfer.transfer_id;
            const std::string_view reason =
                one.state == TransferState::FAILED ? "the chain refused the payment" : "";
            const std::string hash = chain::to_string(one.attempt.tx_hash);
            const Step step{.from = TransferState::SUBMITTED,
                            .to = one.state,
                            .reason = reason,
                            .tx_hash = hash};
            if (!move_transfer(context, id, step)) continue;
            set_transfer_hash(tx, id, one.state, one.attempt.tx_hash);
            book_ending(context, one.transfer, one.state);
            booked.push_back(&one);
            (one.state == TransferState::SETTLED ? ended.paid : ended.reverted)
                .push_back({one.transfer.asset, one.transfer.address});
        }
        return note_endings(context, ended, round.snapshot->get<Settings>());
    });
    if (held)
        log(Level::error, "reverts_in_a_row",
            {{"of", to_string(booked.back()->transfer.transfer_id)}});
    for (const Ending* one : booked)
        one->state == TransferState::SETTLED ? note(Level::info, "transfer_settled", one->attempt)
                                             : note(Level::warn, "transfer_failed", one->attempt);
}

// What no block has is sent again, less and less often. The one that is next in line holds up all
// others: it is replaced when it is stuck, or when its fees are refused.
void Settler::send_again(Round& round) const {
    const NonceRange range{round.signer, round.standing.latest_nonce, nonce_end};
    const Time now = parts_.clock.now();
    auto due = parts_.database.read(
        [&](db::Transaction& tx) { return find_unsent(tx, range, now, batch_rows_max); });
    std::erase_if(due, [&](const InFlight& one) {
        return one.attempts.empty() || (one.send_at > now && !is_stuck(one));
    });
    if (due.empty()) return;
    std::vector<AttemptRow> attempts;
    for (const InFlight& one : due) attempts.push_back(one.attempts.back());
    parts_.database.write([&](db::Transaction& tx) {
        for (const InFlight& one : due)
            note_send(tx, one.transfer.transfer_id, now + wait_after(one.sends));
    });
    const std::vector<Sent> sent = send(attempts);
    const InFlight& first = due.front();
    if (first.nonce != round.standing.latest_nonce) return;
    // A higher fee helps only one that the node has, or would have if it paid more.
    if (sent.front() == Sent::underpriced || (sent.front() == Sent::taken && is_stuck(first)))
        replace(round, first);
}

bool Settler::is_stuck(const InFlight& one) const {
    return parts_.clock.now() - one.attempts.back().created_at >= replace_after;
}

void Settler::replace(const Round& round, const InFlight& one) const {
    const AttemptRow& last = one.attempts.back();
    // Another key would have the same nonce for itself: two transactions could be taken.
    if (last.signer != parts_.key.address())
        return note(Level::error, "transfer_of_another_key", last);
    if (last.attempt >= attempts_max) return note(Level::error, "transfer_out_of_attempts", last);
    const chain::Fees fees = bounded(round);
    AttemptRow plan = last;
    plan.attempt = last.attempt + 1;
    plan.priority_fee = std::max(raised(last.priority_fee), fees.priority);
    plan.fee_max = std::max(raised(last.fee_max), fee_max_of(fees, plan.priority_fee));
    if (plan.fee_max > round.gas_fee_max())
        return note(Level::warn, "transfer_fee_above_cap", last);
    const AttemptRow attempt = sign(one.transfer, plan);
    const bool ours = parts_.database.write([&](db::Transaction& tx) {
        return add_attempt(tx, attempt, attempt.created_at + send_again_first);
    });
    if (!ours) return;
    note(Level::warn, "transfer_replaced", attempt);
    send({&attempt, 1});
}

std::int64_t Settler::Round::gas_fee_max() const {
    constexpr std::int64_t wei_per_gwei = 1'000'000'000;
    return *snapshot->get<Settings>().gas_fee_max_gwei * wei_per_gwei;
}

// Fees that a provider names and nobody would pay are no reason to pay them, nor to overflow.
chain::Fees Settler::bounded(const Round& round) {
    const chain::Fees& fees = round.standing.fees;
    const std::int64_t most = round.gas_fee_max();
    if (fees.base > most || fees.priority > most || fee_max_of(fees, fees.priority) > most)
        throw chain::ProviderError("the chain's fees are above the limit that is set");
    return fees;
}

// What no provider takes now is sent again in a later run.
std::vector<Settler::Sent> Settler::send(std::span<const AttemptRow> attempts) const {
    if (attempts.empty()) return {};
    std::vector<Bytes> bytes;
    for (const AttemptRow& attempt : attempts) bytes.push_back(attempt.signed_bytes);
    const std::vector<chain::Sent> sent = parts_.chain.send(bytes);
    std::vector<Sent> statuses;
    for (std::size_t i = 0; i < sent.size(); ++i) {
        statuses.push_back(sent[i].status);
        if (sent[i].status == Sent::taken)
            note(Level::info, "transfer_sent", attempts[i]);
        else {
            ++vitals_->sends_refused;
            log(Level::warn, "transfer_not_sent",
                {{"transfer", to_string(attempts[i].transfer_id)}, {"why", sent[i].why}});
        }
    }
    return statuses;
}

AttemptRow Settler::sign(const TransferRow& transfer, const AttemptRow& plan) const {
    const chain::Transaction transaction{.chain_id = wallets::base_chain_id,
                                         .nonce = plan.nonce,
                                         .priority_fee = plan.priority_fee,
                                         .fee_max = plan.fee_max,
                                         .gas_max = transfer_gas_max,
                                         .to = parts_.treasury.token(transfer.asset),
                                         .data = payment_data(transfer)};
    const chain::Signed done = chain::sign(transaction, parts_.key);
    AttemptRow attempt = plan;
    attempt.tx_hash = done.hash;
    attempt.signed_bytes = done.bytes;
    attempt.created_at = parts_.clock.now();
    return attempt;
}

worker::Kind settle_transfers_kind(Settler settler, Duration every) {
    worker::Kind kind;
    kind.name = settle_transfers_kind_name;
    kind.run = [settler](worker::Attempt&) { settler.run(); };
    kind.retry_max = std::chrono::minutes(1);
    kind.every = every;
    kind.lane = "settle";
    return kind;
}

}  // namespace berth::transfers
