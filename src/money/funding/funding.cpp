#include "funding/funding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "block_list/block_list.hpp"
#include "chain/settings.hpp"
#include "funding/settings.hpp"
#include "funding/told.hpp"
#include "wallets/wallets.hpp"

namespace berth::funding {
namespace {

IntentState state_of(const IntentRow& intent, Time now) {
    const bool over = intent.state == IntentState::OPEN && now >= intent.expires_at;
    return over ? IntentState::EXPIRED : intent.state;
}

Intent shown(const api::Call& call, const IntentRow& row) {
    Intent intent;
    intent.intent_id = row.intent_id;
    intent.token = {crypto::checksummed(row.token)};
    intent.treasury_address = {crypto::checksummed(row.treasury)};
    intent.amount_micro = row.amount;
    intent.expires_at = row.expires_at;
    intent.instructions = fmt::format(
        "On Base (chain {}), send exactly {} micro-units of {} (token {}) from your wallet {} to "
        "{} "
        "in one transfer before {}. Then claim it with its transaction hash and log index. Nobody "
        "will ever ask for your private key.",
        wallets::base_chain_id, to_string(row.amount), ledger::name(row.asset),
        crypto::checksummed(row.token), crypto::checksummed(row.wallet),
        crypto::checksummed(row.treasury), to_rfc3339(row.expires_at));
    intent.state = state_of(row, call.now);
    intent.wallet_binding_id = row.binding_id;
    intent.wallet_binding_version = {row.binding_version};
    intent.created_at = row.created_at;
    if (row.claim_tx)
        intent.claim =
            IntentClaim{{*row.claim_tx}, {row.claim_log_index.value()}, row.confirmed_at.value()};
    intent.exception = row.exception;
    intent.network = IntentNetwork{
        {}, {crypto::checksummed(row.token)}, *call.settings<chain::Settings>().explorer_url};
    return intent;
}

IntentRow own_intent(api::Call& call, IntentId id) {
    auto intent = find_intent(call.tx(), id);
    if (!intent || intent->account_id != call.caller.account)
        throw Problem(Code::not_found, "no such funding intent");
    return *intent;
}

// What was mined after the intent was made is what it foresaw, wherever we were then. The two
// clocks are not the same one.
bool is_foreseen(const IntentRow& intent, const chain::Transfer& transfer) {
    return transfer.block_time + chain_clock_skew_max >= intent.created_at;
}

// What is wrong with a transfer from the right wallet; empty if it is the one the intent asked for.
// A treasury of earlier times is still ours.
std::string_view fault_of(db::Transaction& tx, const IntentRow& intent,
                          const chain::Transfer& transfer) {
    if (transfer.token != intent.token) return "the transfer is of another token";
    const auto watched = find_watched(tx, transfer.to, transfer.token);
    if (!watched && transfer.to != intent.treasury) return "the transfer went to another address";
    if (!is_foreseen(intent, transfer)) {
        if (!watched || !watched->blocks)
            throw Problem(
                Code::unavailable,
                "the treasury was not looked at yet; nothing was credited; try again later");
        if (transfer.block < watched->blocks->first)
            return "the transfer is older than this service";
    }
    if (transfer.from != intent.wallet)
        return "the transfer came from another of your wallets than the intent names";
    if (transfer.amount != intent.amount) return "the transfer has another amount than the intent";
    if (transfer.block_time >= intent.expires_at)
        return "the transfer was made after the intent had expired";
    return {};
}

Count confirmations_of(const chain::Glimpse& glimpse) {
    return {std::max<std::int64_t>(0, glimpse.latest_block - glimpse.seen.block + 1)};
}

Count needed_of(const chain::Glimpse& glimpse) {
    return {std::max<std::int64_t>(0, glimpse.latest_block - glimpse.final_block + 1)};
}

TransactionState shown_state(const chain::Glimpse& glimpse) {
    switch (glimpse.seen.status) {
        case chain::Glimpse::Status::unseen: return TransactionState::unseen;
        case chain::Glimpse::Status::reverted: return TransactionState::reverted;
        case chain::Glimpse::Status::included: break;
    }
    return glimpse.is_final() ? TransactionState::final : TransactionState::included;
}

bool is_bound(db::Transaction& tx, const crypto::Address& wallet, AccountId account) {
    const auto binding = wallets::find_latest_binding(tx, wallet);
    return binding && binding->account_id == account && !binding->unlinked_at;
}

constexpr std::string_view foreign_sender =
    "the sender of this transfer is no wallet of your account";
constexpr std::string_view used_before = "this transfer was used already, or is being sent back";

// Why a claim of it would not be credited, in the order in which book() finds out: of a stranger's
// transfer nothing else is told. Empty when it would.
std::string why_not(db::Transaction& tx, const IntentRow& intent, const chain::Transfer& transfer,
                    Time now) {
    if (transfer.from != intent.wallet && !is_bound(tx, transfer.from, intent.account_id))
        return std::string(foreign_sender);
    if (intent.state == IntentState::CANCELLED) return "this intent was cancelled";
    if (now >= intent.expires_at + claim_window) return "this intent is over";
    if (block_list::is_blocked(tx, transfer.from))
        return "the sender of this transfer is on the block list";
    try {
        if (const auto fault = fault_of(tx, intent, transfer); !fault.empty())
            return std::string(fault);
    } catch (const Problem& not_yet) {
        return not_yet.message;
    }
    if (is_used(tx, {chain::to_string(transfer.transaction), transfer.ordinal}))
        return std::string(used_before);
    return {};
}

}  // namespace

DepositRow deposit_row(const chain::Transfer& transfer, Asset asset, Time now) {
    return {.transaction = transfer.transaction,
            .ordinal = transfer.ordinal,
            .asset = asset,
            .sender = transfer.from,
            .treasury = transfer.to,
            .amount = transfer.amount.value(),
            .block = transfer.block,
            .seen_at = now,
            .log_index = transfer.log_index};
}

namespace {

// Of an intent that is over: confirmed meanwhile by another claim, or cancelled.
ClaimState state_after_all(db::Transaction& tx, IntentId id) {
    const auto intent = find_intent(tx, id);
    if (intent && intent->state == IntentState::CONFIRMED) return ClaimState::CONFIRMED;
    throw Problem(Code::conflict, "this intent was cancelled; make another one");
}

struct Became {
    IntentState state;
    std::string_view why = {};      // of an exception
    std::string_view tx_hash = {};  // of what was credited
};
void tell(const db::Context& context, const FundingKind& kind, const IntentRow& intent,
          const Became& became) {
    FundingFacts facts;
    facts.state = became.state;
    facts.amount_micro = intent.amount;
    facts.asset = intent.asset;
    if (!became.tx_hash.empty()) facts.tx_hash = wire::TransactionHash{std::string(became.tx_hash)};
    if (!became.why.empty()) facts.exception = events::in_brief(became.why);
    events::tell(context, kind, intent.account_id, intent.intent_id, facts);
}

}  // namespace

ClaimState refuse_claim(const db::Context& context, const IntentRow& intent, std::string_view why) {
    db::Transaction& tx = context.tx;
    delete_pending_claim(tx, intent.intent_id);
    if (!set_exception(tx, intent.intent_id, why)) return state_after_all(tx, intent.intent_id);
    const bool is_known = intent.state == IntentState::EXCEPTION && intent.exception == why;
    if (!is_known)
        tell(context, funding_exception, intent, {.state = IntentState::EXCEPTION, .why = why});
    return ClaimState::EXCEPTION;
}

// Keeps: a transfer is credited once (deposits' key, the ledger's reference), to the account whose
// wallet sent it, and exactly in the amount that its intent names; never after it was sent back,
// and never from an address that is blocked, whose transfer stays in suspense.
ClaimState book(ledger::Context context, const Payments& payments, const IntentRow& intent,
                const chain::Transfer& transfer) {
    db::Transaction& tx = context.tx;
    const Time now = context.now;
    if (transfer.from != intent.wallet && !is_bound(tx, transfer.from, intent.account_id))
        throw Problem(Code::forbidden, std::string(foreign_sender));
    block_list::require_not_blocked(tx, transfer.from, "the sender of this transfer");
    if (const auto fault = fault_of(tx, intent, transfer); !fault.empty())
        return refuse_claim(context, intent, fault);

    payments.require_books_current(tx);
    // The intent first: of two claims at once the second waits here, and finds it confirmed.
    if (!confirm_intent(tx, intent.intent_id, transfer, now))
        return state_after_all(tx, intent.intent_id);
    const ledger::Deposit deposit{.account = intent.account_id,
                                  .asset = intent.asset,
                                  .amount = intent.amount,
                                  .reference = deposit_reference(transfer)};
    switch (take_deposit(tx, deposit_row(transfer, intent.asset, now), intent)) {
        case Taken::fresh: ledger::deposit(context, deposit); break;
        case Taken::from_suspense: ledger::match(context, deposit); break;
        case Taken::no: throw Problem(Code::conflict, std::string(used_before));
    }
    delete_pending_claim(tx, intent.intent_id);
    tell(context, funding_confirmed, intent,
         {.state = IntentState::CONFIRMED, .tx_hash = chain::to_string(transfer.transaction)});
    return ClaimState::CONFIRMED;
}

Intent Funding::create(api::Call& call, const AssetQuery& query, const NewIntent& request) const {
    const Micro most = *call.settings<Settings>().deposit_max_micro;
    if (request.amount_micro.value > most)
        throw Problem(Code::invalid_input,
                      fmt::format("body.amount_micro: must be at most {}", to_string(most)));
    const auto binding =
        wallets::find_binding(call.tx(), request.wallet_binding_id, call.caller.account);
    if (!binding) throw Problem(Code::not_found, "no such wallet binding");
    if (binding->unlinked_at) throw Problem(Code::conflict, "this wallet was unlinked");
    block_list::require_not_blocked(call.tx(), binding->address, "this wallet");
    accounts::take_turn(call.tx(), call.caller.account);
    const std::int64_t open_max = *call.settings<Settings>().open_intents_max;
    if (count_open_intents(call.tx(), call.caller.account, call.now) >= open_max)
        throw Problem(Code::conflict,
                      fmt::format("this account has {} open intents, as many as it may; cancel one",
                                  open_max));
    if (!treasury_.address || chain_ == nullptr)
        throw Problem(Code::unavailable, "funding is not set up on this server");

    IntentRow row;
    row.intent_id = call.make_id<IntentId>();
    row.account_id = call.caller.account;
    row.binding_id = binding->binding_id;
    row.binding_version = binding->version;
    row.wallet = binding->address;
    row.asset = query.asset.value_or(Asset::usdc);
    row.token = treasury_.token(row.asset);
    row.treasury = *treasury_.address;
    row.amount = request.amount_micro;
    row.created_at = call.now;
    row.expires_at = call.now + intent_lifetime;
    add_intent(call.tx(), row);
    // Watched from now on, even if it is never looked at while it is the one that is set.
    watch(call.tx(), {row.treasury, row.token, row.asset});
    return shown(call, row);
}

std::function<GlimpseFacts()> Funding::prepare_show(api::Call& call, const IntentPath& path) const {
    const IntentRow intent = own_intent(call, path.id);
    const auto pending = find_pending_claim(call.tx(), intent.intent_id);
    if (!pending || chain_ == nullptr || call.now < Time{asked_again_at_})
        return [] { return GlimpseFacts{}; };
    return [this, now = call.now, account = intent.account_id,
            hash = pending->transaction]() -> GlimpseFacts {
        const auto slot = slots_.take_at_once(account);
        if (!slot) return std::nullopt;
        try {
            return glimpse(slot, hash);
        } catch (const Problem&) {
            asked_again_at_ = (now + chain_rests).micros;
            return std::nullopt;
        }
    };
}

Intent Funding::show(api::Call& call, const GlimpseFacts& facts, const IntentPath& path) const {
    const IntentRow row = own_intent(call, path.id);
    Intent intent = shown(call, row);
    const auto pending = find_pending_claim(call.tx(), row.intent_id);
    if (!pending) return intent;
    intent.pending_claim = IntentPendingClaim{{chain::to_string(pending->transaction)},
                                              {pending->log_index},
                                              pending->claimed_at,
                                              pending->until,
                                              {},
                                              {},
                                              {}};
    if (!facts || facts->seen.status == chain::Glimpse::Status::unseen) return intent;
    intent.pending_claim->block_number = Count{facts->seen.block};
    intent.pending_claim->confirmations = confirmations_of(*facts);
    intent.pending_claim->needed = needed_of(*facts);
    return intent;
}

Intent Funding::cancel(api::Call& call, const IntentPath& path) const {
    const IntentRow intent = own_intent(call, path.id);
    if (cancel_intent(call.tx(), intent.intent_id)) {
        delete_pending_claim(call.tx(), intent.intent_id);
        tell(call.context(), funding_cancelled, intent, {.state = IntentState::CANCELLED});
    }
    const IntentRow now = own_intent(call, path.id);
    if (now.state == IntentState::CONFIRMED)
        throw Problem(Code::conflict, "this intent is confirmed: its transfer was credited");
    return shown(call, now);
}

api::Page<Intent> Funding::list(api::Call& call, const api::PageQuery& query) const {
    const api::Pager pager(call.cursors, {"funding-intents", to_string(call.caller.account)},
                           query);
    return pager.page(list_intents(call.tx(), call.caller.account, pager.after_id<IntentId>(),
                                   pager.rows_wanted()),
                      &IntentRow::intent_id,
                      [&](const IntentRow& row) { return shown(call, row); });
}

api::Page<SuspenseDeposit> Funding::suspense(api::Call& call, const SuspenseQuery& query) const {
    const api::Pager pager(
        call.cursors, {"suspense", query.state ? std::string(enum_name(*query.state)) : ""}, query);
    std::optional<DepositMark> after;
    if (pager.after()) {
        const std::size_t colon = pager.after()->find(':');
        after = DepositMark{pager.after()->substr(0, colon),
                            parse_decimal(pager.after()->substr(colon + 1)).value_or(0)};
    }
    const auto key = [](const UnclaimedRow& row) {
        return fmt::format("{}:{}", chain::to_string(row.deposit.transaction), row.deposit.ordinal);
    };
    const auto show = [&](const UnclaimedRow& row) {
        const DepositMark mark{chain::to_string(row.deposit.transaction), row.deposit.ordinal};
        SuspenseDeposit shown{.deposit_id = id_of(mark),
                              .asset = row.deposit.asset,
                              .amount_micro = row.deposit.amount,
                              .from = {crypto::checksummed(row.deposit.sender)},
                              .tx_hash = {mark.transaction},
                              .log_index = {row.deposit.log_index},
                              .block_number = {row.deposit.block},
                              .seen_at = row.deposit.seen_at,
                              .state = row.state,
                              .return_ = {}};
        // What is in suspense has no payment, or none that was not called off.
        if (row.state != UnclaimedState::SUSPENSE)
            if (auto back = payments_.find_return(call.tx(), mark))
                shown.return_ = std::move(*back);
        return shown;
    };
    return pager.page(list_unclaimed(call.tx(), query.state, after, pager.rows_wanted()), key,
                      show);
}

std::function<ClaimFacts()> Funding::prepare_claim(api::Call& call, const IntentPath& path,
                                                   const ClaimTransfer& request) const {
    const IntentRow intent = own_intent(call, path.id);
    if (intent.state == IntentState::CONFIRMED) return [] { return ClaimFacts{}; };
    if (intent.state == IntentState::CANCELLED)
        throw Problem(Code::conflict, "this intent was cancelled; make another one");
    if (call.now >= intent.expires_at + claim_window)
        throw Problem(Code::conflict, "this intent is over; write to support about the transfer");
    if (chain_ == nullptr) throw Problem(Code::unavailable, "no chain is set up on this server");
    const auto hash = chain::parse_hash(request.tx_hash.value);
    require(hash.has_value(), "the wire lets only transaction hashes through");
    return [this, hash = *hash, log_index = request.log_index.value,
            account = intent.account_id]() -> ClaimFacts {
        const auto slot = slots_.take(account);
        if (!slot)
            throw Problem(Code::unavailable, "many claims are being looked up; try again later");
        try {
            return chain_->find_transfer(hash, log_index);
        } catch (const chain::ProviderError& error) {
            log(Level::warn, "chain_provider_failed", {{"why", error.what()}});
            throw Problem(Code::unavailable,
                          "the chain cannot be read now; nothing was credited; try again later");
        }
    };
}

Claimed Funding::claim(api::Call& call, const ClaimFacts& facts, const IntentPath& path,
                       const ClaimTransfer& request) const {
    using Status = chain::Sighting::Status;
    const IntentRow intent = own_intent(call, path.id);
    if (intent.state == IntentState::CONFIRMED || !facts)
        return {intent.intent_id, ClaimState::CONFIRMED};
    switch (facts->status) {
        case Status::unseen:
            // The same key must be able to confirm later, so the answer is not kept.
            call.do_not_store();
            put_pending_claim(call.tx(),
                              {intent.intent_id, chain::parse_hash(request.tx_hash.value).value(),
                               request.log_index.value, intent.expires_at + claim_window},
                              call.now);
            return {intent.intent_id, ClaimState::PENDING};
        case Status::failed:
            return {intent.intent_id,
                    refuse_claim(call.context(), intent, "the transaction was reverted")};
        case Status::no_transfer:
            return {intent.intent_id,
                    refuse_claim(call.context(), intent,
                                 "the transaction has no token transfer at this log index")};
        case Status::final:
            return {intent.intent_id, book({call.tx(), call.random, call.now}, payments_, intent,
                                           facts->transfer.value())};
    }
    throw std::logic_error("a sighting has one of four states");
}

chain::Glimpse Funding::glimpse(const std::unique_ptr<ClaimSlots::Slot>& slot,
                                const chain::Hash& transaction) const {
    if (!slot) throw Problem(Code::unavailable, "many claims are being looked up; try again later");
    try {
        return chain_->glimpse(transaction);
    } catch (const chain::ProviderError& error) {
        log(Level::warn, "chain_provider_failed", {{"why", error.what()}});
        throw Problem(Code::unavailable, "the chain cannot be read now; try again later");
    }
}

std::function<GlimpseFacts()> Funding::prepare_look(api::Call& call, const IntentPath& path,
                                                    const TransfersQuery& query) const {
    const IntentRow intent = own_intent(call, path.id);
    if (chain_ == nullptr) throw Problem(Code::unavailable, "no chain is set up on this server");
    const auto hash = chain::parse_hash(query.tx_hash.value);
    require(hash.has_value(), "the wire lets only transaction hashes through");
    return [this, hash = *hash, account = intent.account_id]() -> GlimpseFacts {
        return glimpse(slots_.take(account), hash);
    };
}

SeenTransfers Funding::look(api::Call& call, const GlimpseFacts& facts, const IntentPath& path,
                            const TransfersQuery& query) const {
    const IntentRow intent = own_intent(call, path.id);
    require(facts.has_value(), "the chain was asked for the transaction");
    SeenTransfers shown;
    shown.tx_hash = {chain::to_string(chain::parse_hash(query.tx_hash.value).value())};
    shown.state = shown_state(*facts);
    if (shown.state == TransactionState::unseen) return shown;
    shown.block_number = Count{facts->seen.block};
    shown.confirmations = confirmations_of(*facts);
    shown.needed = needed_of(*facts);
    // Read once: whoever made the transaction chose how many transfers it has.
    const std::vector<Watched> watched = list_watched(call.tx());
    for (const chain::Transfer& transfer : facts->seen.transfers) {
        const auto known = std::ranges::find_if(watched, [&](const Watched& one) {
            return one.treasury == transfer.to && one.token == transfer.token;
        });
        const bool ours = known != watched.end() || transfer.to == intent.treasury;
        const auto asset = known != watched.end() ? std::optional(known->asset)
                                                  : treasury_.asset_of(transfer.token);
        if (!ours || !asset || !transfer.amount) continue;
        if (shown.items.size() == seen_transfers_max) break;
        SeenTransfer seen{{transfer.log_index},
                          *asset,
                          {crypto::checksummed(transfer.from)},
                          {crypto::checksummed(transfer.to)},
                          *transfer.amount,
                          true,
                          {}};
        if (std::string why = why_not(call.tx(), intent, transfer, call.now); !why.empty()) {
            seen.matches = false;
            seen.why = std::move(why);
        }
        shown.items.push_back(std::move(seen));
    }
    return shown;
}

}  // namespace berth::funding
