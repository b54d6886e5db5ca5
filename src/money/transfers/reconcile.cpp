#include "transfers/reconcile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "chain/transaction.hpp"
#include "transfers/returns.hpp"

namespace berth::transfers {
namespace {

constexpr std::int64_t blocks_per_question_max = 1000;
constexpr std::int64_t blocks_unasked_max = 1'000'000;  // without a word where to begin

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

void require_still(const Reconciliation& found) {
    if (found.is_moving)
        refuse(fmt::format("treasury {} has transactions that are not final yet; try later",
                           crypto::checksummed(found.treasury)));
}

bool is_for(const TransferRow& transfer, Asset asset, const chain::Payment& payment) {
    return transfer.asset == asset && transfer.address == payment.to &&
           transfer.amount == payment.amount;
}

// Signed when it was paid, as far as we know: what is adopted today is not of today's cap.
AttemptRow attempt_of(const Finding& finding, std::int64_t after_block) {
    AttemptRow attempt;
    attempt.transfer_id = finding.transfer->transfer_id;
    attempt.attempt = finding.attempt;
    attempt.signer = finding.original->from;
    attempt.nonce = finding.original->nonce;
    attempt.fee_max = finding.original->fee_max;
    attempt.priority_fee = finding.original->priority_fee;
    attempt.tx_hash = finding.original->hash;
    attempt.signed_bytes = finding.original->bytes;
    attempt.created_at = finding.paid_at;
    attempt.after_block = after_block;
    return attempt;
}

void adopt(db::Transaction& tx, const Finding& finding, std::int64_t after_block, Time now) {
    const TransferId id = finding.transfer->transfer_id;
    SystemRandom random;  // of a person's command, which nobody repeats
    if (finding.transfer->state == TransferState::INTENT &&
        !move_transfer({tx, random, now}, id, {TransferState::INTENT, TransferState::SUBMITTED}))
        refuse(fmt::format("transfer {} has changed meanwhile; look again", to_string(id)));
    if (!add_attempt(tx, attempt_of(finding, after_block), now))
        refuse(fmt::format("transfer {} has changed meanwhile; look again", to_string(id)));
    end_freezes(tx, {finding.original->from, finding.nonce}, now);
}

void reconcile_one(db::Transaction& tx, Time now, const Reconciliation& found,
                   const std::optional<std::string>& why_foreign) {
    for (const Finding& finding : found.findings) {
        if (finding.kind == Finding::Kind::adopt) {
            adopt(tx, finding, found.after_block, now);
            continue;
        }
        if (!why_foreign)
            refuse(fmt::format("nonce {} is not explained: give --foreign-why", finding.nonce));
        add_foreign_nonce(tx, found.treasury, finding.nonce,
                          finding.original ? std::optional(finding.original->hash) : std::nullopt,
                          *why_foreign, now);
        end_freezes(tx, {found.treasury, finding.nonce}, now);
    }
    const std::int64_t next = std::max(found.books_nonce, found.chain_nonce);
    if (!advance_nonce(tx, found.treasury, found.books_nonce, next))
        refuse("the books have changed meanwhile; look again");
}

}  // namespace

// What the treasury paid in tokens of ours, as it signed it, oldest first.
std::vector<Reconciler::Paid> Reconciler::payments(const crypto::Address& treasury,
                                                   chain::Chain::Range range) const {
    const chain::Chain::Wanted wanted{
        .tokens = {parts_.treasury.tokens.begin(), parts_.treasury.tokens.end()},
        .to = std::nullopt,
        .from = treasury};
    std::vector<Paid> found;
    std::set<chain::Hash> seen;
    for (std::int64_t first = range.first; first <= range.last; first += blocks_per_question_max) {
        const std::int64_t last = std::min(range.last, first + blocks_per_question_max - 1);
        for (const chain::Transfer& transfer : parts_.chain.transfers({first, last}, wanted)) {
            if (!seen.insert(transfer.transaction).second) continue;
            auto original = parts_.chain.original(transfer.transaction);
            // Others can move the treasury's tokens only with its leave; that uses up no nonce of
            // it.
            if (original && original->from == treasury)
                found.push_back({std::move(*original), transfer.block_time});
        }
    }
    return found;
}

Finding Reconciler::judge(db::Transaction& tx, const crypto::Address& treasury,
                          const Paid& paid) const {
    const chain::Original& original = paid.original;
    Finding finding;
    finding.nonce = original.nonce;
    finding.original = original;
    finding.paid_at = paid.at;
    const auto asset = parts_.treasury.asset_of(original.to);
    const auto call = chain::payment_in(original.data);
    const std::string name = chain::to_string(original.hash);
    if (!asset || !call) {
        finding.text = fmt::format("{} is no plain payment", name);
        return finding;
    }
    const std::string told =
        fmt::format("{} paid {} {} to {}", name, to_string(call->payment.amount),
                    ledger::name(*asset), crypto::checksummed(call->payment.to));
    std::optional<TransferRow> transfer;
    if (call->reference) {
        const auto uuid = uuid_from_bytes(*call->reference);
        if (uuid) transfer = find_transfer(tx, TransferId{*uuid});
        finding.text = fmt::format("{} for transfer {}, which the books do not have", told,
                                   uuid ? to_string(*uuid) : "?");
    } else {
        // One of an earlier time is known by its nonce, or by what it paid.
        const auto on_its_way =
            find_in_flight(tx, {treasury, original.nonce, original.nonce + 1}, 1);
        auto alike = find_intents_like(tx, *asset, call->payment.to, call->payment.amount);
        if (!on_its_way.empty()) alike = {on_its_way.front().transfer};
        if (alike.size() == 1) transfer = alike.front();
        finding.text = fmt::format("{}, and {} transfers wait for that", told, alike.size());
    }
    if (!transfer) return finding;
    finding.text = fmt::format("{} for transfer {}", told, to_string(transfer->transfer_id));
    if (!is_for(*transfer, *asset, call->payment)) {
        finding.text += ", which is for something else";
        return finding;
    }
    // Of a transfer that is on its way an attempt may be missing, under its own nonce.
    const auto attempts = list_attempts(tx, transfer->transfer_id);
    const bool is_lost_attempt = transfer->state == TransferState::SUBMITTED && !attempts.empty() &&
                                 attempts.back().nonce == original.nonce &&
                                 attempts.back().signer == treasury;
    if (transfer->state != TransferState::INTENT && !is_lost_attempt) {
        finding.text += fmt::format(
            ", which is {}", boost::describe::enum_to_string(transfer->state, "something else"));
        return finding;
    }
    finding.kind = Finding::Kind::adopt;
    finding.attempt = static_cast<std::int64_t>(attempts.size()) + 1;
    finding.transfer = std::move(transfer);
    return finding;
}

std::vector<Reconciliation> Reconciler::examine(const std::vector<crypto::Address>& named,
                                                std::optional<std::int64_t> first_block) const {
    std::vector<crypto::Address> treasuries = named;
    for (const KnownTreasury& known : parts_.database.read(list_treasuries)) {
        const auto found = std::ranges::find(treasuries, known.treasury);
        if (found == treasuries.end() && !known.retired_at) treasuries.push_back(known.treasury);
    }
    std::vector<Reconciliation> all;
    std::set<TransferId> taken;
    for (const crypto::Address& treasury : treasuries) {
        all.push_back(examine_one(treasury, first_block));
        for (Finding& finding : all.back().findings)
            // One transfer, one payment: a second one is no transfer of ours.
            if (finding.transfer && !taken.insert(finding.transfer->transfer_id).second) {
                finding.kind = Finding::Kind::foreign;
                finding.text += ", which another one has paid";
            }
    }
    return all;
}

Reconciliation Reconciler::examine_one(const crypto::Address& treasury,
                                       std::optional<std::int64_t> first_block) const {
    const chain::Standing standing = parts_.chain.standing(treasury, {});
    Reconciliation found;
    found.treasury = treasury;
    found.chain_nonce = standing.finalized_nonce;
    found.is_moving = standing.pending_nonce > standing.finalized_nonce;
    std::int64_t known_block = 0;
    parts_.database.read([&](db::Transaction& tx) {
        found.books_nonce = find_next_nonce(tx, treasury);
        found.hold = find_hold(tx);
        known_block = last_known_block(tx, treasury);
    });
    found.after_block = first_block.value_or(known_block);
    // Keeps: nothing that was paid since the books end is passed over.
    if (known_block > 0) found.after_block = std::min(found.after_block, known_block);
    if (found.chain_nonce < found.books_nonce) return found;
    if (standing.finalized_block - found.after_block > blocks_unasked_max && !first_block)
        refuse("the books do not know where to begin: give --from-block");
    std::map<std::int64_t, Finding> by_nonce;
    const auto all = payments(treasury, {found.after_block, standing.finalized_block});
    parts_.database.read([&](db::Transaction& tx) {
        for (const Paid& paid : all)
            if (paid.original.nonce < found.chain_nonce && !is_known(tx, paid.original.hash) &&
                !is_foreign(tx, treasury, paid.original.nonce))
                by_nonce[paid.original.nonce] = judge(tx, treasury, paid);
        for (std::int64_t nonce = found.books_nonce; nonce < found.chain_nonce; ++nonce)
            if (!by_nonce.contains(nonce) && !is_accounted_for(tx, treasury, nonce)) {
                by_nonce[nonce].nonce = nonce;
                by_nonce[nonce].text = "moved none of our tokens";
            }
    });
    for (auto& [nonce, finding] : by_nonce) found.findings.push_back(std::move(finding));
    return found;
}

Reconciler::Lost Reconciler::find_payment(std::span<const Reconciliation> looked_at,
                                          std::int64_t nonce,
                                          const std::optional<crypto::Address>& of) const {
    for (const Reconciliation& one : looked_at) require_still(one);
    std::optional<Lost> found;
    for (const Reconciliation& one : looked_at) {
        if (of && one.treasury != *of) continue;
        const std::int64_t head = parts_.chain.finalized_block();
        for (Paid& paid : payments(one.treasury, {one.after_block, head})) {
            if (paid.original.nonce != nonce) continue;
            if (found) refuse("two treasuries have paid with this nonce: say which with --of");
            found = Lost{std::move(paid.original), paid.at, one.after_block};
        }
    }
    if (!found) refuse(fmt::format("no payment with nonce {} was found", nonce));
    // The call data says what was meant, the log what was done.
    const auto call = chain::payment_in(found->payment.data);
    const chain::Outcome outcome = parts_.chain.outcome(found->payment.hash);
    const bool paid = call && outcome.status == chain::Outcome::Status::succeeded &&
                      std::ranges::any_of(outcome.transfers, [&](const chain::Transfer& log) {
                          return log.token == found->payment.to &&
                                 log.from == found->payment.from && log.to == call->payment.to &&
                                 log.amount == call->payment.amount;
                      });
    if (!paid) refuse(fmt::format("nonce {} is no plain payment", nonce));
    return std::move(*found);
}

Finding Reconciler::examine(TransferId id) const {
    const auto [transfer, attempts] = parts_.database.read([&](db::Transaction& tx) {
        return std::pair(find_transfer(tx, id), list_attempts(tx, id));
    });
    if (!transfer || transfer->state != TransferState::SUBMITTED || attempts.empty())
        refuse(fmt::format("transfer {} is not on its way", to_string(id)));
    const AttemptRow& last = attempts.back();
    const chain::Standing standing = parts_.chain.standing(last.signer, {});
    if (standing.finalized_nonce <= last.nonce)
        refuse(fmt::format("nonce {} is not finally used up", last.nonce));
    std::vector<chain::Hash> hashes;
    for (const AttemptRow& attempt : attempts) hashes.push_back(attempt.tx_hash);
    for (const chain::Outcome& outcome : parts_.chain.outcomes(hashes))
        if (outcome.status != chain::Outcome::Status::unseen)
            refuse("the chain has an attempt of this transfer; the settler ends it");
    for (const Paid& paid :
         payments(last.signer, {attempts.front().after_block, standing.finalized_block}))
        if (paid.original.nonce == last.nonce)
            return parts_.database.read(
                [&](db::Transaction& tx) { return judge(tx, last.signer, paid); });
    Finding none;
    none.nonce = last.nonce;
    none.text = "moved none of our tokens";
    return none;
}

// Keeps: payments go on only when every treasury that may have paid was compared with the books.
void reconcile(db::Transaction& tx, Time now, std::span<const Reconciliation> found,
               const std::optional<std::string>& why_foreign) {
    for (const KnownTreasury& known : list_treasuries(tx))
        if (!known.retired_at &&
            std::ranges::find(found, known.treasury, &Reconciliation::treasury) == found.end())
            refuse("the books know another treasury by now; look again");
    for (const Reconciliation& one : found) {
        require_still(one);
        reconcile_one(tx, now, one, why_foreign);
    }
    end_holds(tx, now, "reconciled with the chain");
}

std::vector<Frozen> freeze_owners(db::Transaction& tx, Time now,
                                  std::span<const Reconciliation> found) {
    std::vector<Frozen> frozen;
    for (const Reconciliation& one : found)
        for (const Finding& finding : one.findings) {
            const auto call = finding.original ? chain::payment_in(finding.original->data)
                                               : std::optional<chain::PaymentCall>();
            if (finding.kind == Finding::Kind::adopt || !call) continue;
            for (const AccountId owner : find_owners(tx, call->payment.to))
                frozen.push_back({{one.treasury, finding.nonce}, owner});
        }
    for (const Frozen& one : frozen) freeze(tx, one.payment, one.account, now);
    return frozen;
}

// Keeps: what a treasury paid before it was retired is in the books or explained, so that no other
// one pays it again.
void retire(db::Transaction& tx, Time now, const Reconciliation& found,
            const Retirement& retirement) {
    if (!retirement.while_moving) require_still(found);
    for (const Finding& finding : found.findings)
        if (finding.kind == Finding::Kind::foreign && finding.original && !retirement.why_foreign)
            refuse(fmt::format(
                "nonce {} paid what the books do not know: adopt it with chain reconcile, or give "
                "--foreign-why",
                finding.nonce));
    reconcile_one(tx, now, found, retirement.why_foreign.value_or(retirement.why));
    const std::int64_t next = std::max(found.books_nonce, found.chain_nonce);
    if (!retire_treasury(tx, found.treasury, next, retirement.why, now))
        refuse("it is retired already");
}

void resolve(ledger::Context context, TransferId transfer, const Finding& found,
             std::string_view why) {
    const auto attempts = list_attempts(context.tx, transfer);
    if (attempts.empty())
        refuse(fmt::format("transfer {} has changed meanwhile", to_string(transfer)));
    if (found.kind == Finding::Kind::adopt && found.transfer->transfer_id == transfer)
        return adopt(context.tx, found, attempts.front().after_block, context.now);
    const Step step{TransferState::SUBMITTED, TransferState::FAILED,
                    "another transaction took its place on the chain"};
    if (!move_transfer(context, transfer, step))
        refuse(fmt::format("transfer {} has changed meanwhile", to_string(transfer)));
    const auto row = find_transfer(context.tx, transfer);
    add_foreign_nonce(context.tx, attempts.front().signer, found.nonce,
                      found.original ? std::optional(found.original->hash) : std::nullopt, why,
                      context.now);
    end_freezes(context.tx, {attempts.front().signer, found.nonce}, context.now);
    book_ending(context, row.value(), TransferState::FAILED);
}

}  // namespace berth::transfers
