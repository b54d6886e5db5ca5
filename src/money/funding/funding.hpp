// Funding: an intent says what will be sent, a claim says which transfer it was. A transfer is
// believed when it is final on chain, and credited once, whoever asks and however often.
#pragma once

#include <atomic>
#include <functional>

#include "api/router.hpp"
#include "chain/chain.hpp"
#include "funding/slots.hpp"
#include "funding/suspense.hpp"
#include "ledger/treasury.hpp"

namespace berth::funding {

inline constexpr Duration intent_lifetime = std::chrono::hours(24);
inline constexpr Duration claim_window = std::chrono::hours(24 * 7);  // after the intent expired
inline constexpr Duration chain_clock_skew_max = std::chrono::minutes(1);

// What the chain said about a claim; nothing when it need not be asked.
using ClaimFacts = std::optional<chain::Sighting>;
// What it shows of a transaction, for people; nothing when it need not or cannot be asked.
using GlimpseFacts = std::optional<chain::Glimpse>;

inline constexpr std::size_t seen_transfers_max = 100;
// How long a chain that did not answer is not asked for what can be left out.
inline constexpr Duration chain_rests = std::chrono::seconds(30);

// Judges and books one transfer for one intent. Throws a Problem FORBIDDEN when its sender is no
// wallet of the account, CONFLICT when the transfer was used before or the intent was cancelled,
// UNAVAILABLE when it cannot be told yet whether the transfer is older than the service, or whether
// it was sent back.
ClaimState book(ledger::Context context, const Payments& payments, const IntentRow& intent,
                const chain::Transfer& transfer);
// Notes on the intent what is wrong with its claim.
ClaimState refuse_claim(const db::Context& context, const IntentRow& intent, std::string_view why);

DepositRow deposit_row(const chain::Transfer& transfer, Asset asset, Time now);

class Funding {
public:
    // `chain` may be null: nothing can be funded then.
    Funding(const ledger::Treasury& treasury, chain::Chain* chain, const Payments& payments)
        : treasury_(treasury), chain_(chain), payments_(payments) {}

    void add_routes(api::Router& router) const;

    Intent create(api::Call& call, const AssetQuery& query, const NewIntent& request) const;
    // While a claim waits the chain is asked for its block, and does not have to answer.
    std::function<GlimpseFacts()> prepare_show(api::Call& call, const IntentPath& path) const;
    Intent show(api::Call& call, const GlimpseFacts& facts, const IntentPath& path) const;
    Intent cancel(api::Call& call, const IntentPath& path) const;
    api::Page<Intent> list(api::Call& call, const api::PageQuery& query) const;
    api::Page<SuspenseDeposit> suspense(api::Call& call, const SuspenseQuery& query) const;

    std::function<ClaimFacts()> prepare_claim(api::Call& call, const IntentPath& path,
                                              const ClaimTransfer& request) const;
    Claimed claim(api::Call& call, const ClaimFacts& facts, const IntentPath& path,
                  const ClaimTransfer& request) const;

    // The transfers of a transaction to the treasury, judged as a claim would be; nothing is
    // claimed.
    std::function<GlimpseFacts()> prepare_look(api::Call& call, const IntentPath& path,
                                               const TransfersQuery& query) const;
    SeenTransfers look(api::Call& call, const GlimpseFacts& facts, const IntentPath& path,
                       const TransfersQuery& query) const;

private:
    // Asks the chain, with a place among those who do.
    chain::Glimpse glimpse(const std::unique_ptr<ClaimSlots::Slot>& slot,
                           const chain::Hash& transaction) const;

    const ledger::Treasury& treasury_;
    chain::Chain* chain_;
    const Payments& payments_;
    mutable ClaimSlots slots_;
    // Until then who only looks at an intent does not wait for a chain that did not answer.
    mutable std::atomic<std::int64_t> asked_again_at_{0};  // as Time::micros
};

}  // namespace berth::funding
