// Requests and responses of funding.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "ledger/ledger.hpp"
#include "wallets/types.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::funding {

using ledger::Asset;
using wallets::BindingId;
using wire::Count;
using IntentId = Id<struct IntentTag>;
using DepositId = Id<struct DepositTag>;

using MovedAmount = wire::Amount<1, ledger::amount_max.value>;

struct AssetQuery {
    std::optional<Asset> asset;  // USDC when it is left out
};
BOOST_DESCRIBE_STRUCT(AssetQuery, (), (asset))
constexpr auto wire_docs(const AssetQuery*) {
    return std::to_array<wire::Doc>({
        {"asset", "Which token will be sent.", "USDC", "USDC"},
    });
}

struct NewIntent {
    BindingId wallet_binding_id;
    MovedAmount amount_micro;
};
BOOST_DESCRIBE_STRUCT(NewIntent, (), (wallet_binding_id, amount_micro))
constexpr auto wire_docs(const NewIntent*) {
    return std::to_array<wire::Doc>({
        {"wallet_binding_id", "The linked wallet that the transfer will come from."},
        {"amount_micro", "Exactly what will be sent.", "25000000"},
    });
}

enum class IntentState { OPEN, CONFIRMED, EXCEPTION, EXPIRED, CANCELLED };
BOOST_DESCRIBE_ENUM(IntentState, OPEN, CONFIRMED, EXCEPTION, EXPIRED, CANCELLED)

struct IntentClaim {
    wire::TransactionHash tx_hash;
    Count log_index;
    Time confirmed_at;
};
BOOST_DESCRIBE_STRUCT(IntentClaim, (), (tx_hash, log_index, confirmed_at))
constexpr auto wire_docs(const IntentClaim*) {
    return std::to_array<wire::Doc>({
        {"log_index", "Which log of the transaction is the transfer.", "3"},
    });
}

// A claim whose transfer is not final yet. What is told of its block is left out where no block has
// it, or the chain cannot be asked at the moment.
struct IntentPendingClaim {
    wire::TransactionHash tx_hash;
    Count log_index;
    Time claimed_at;
    Time until;
    std::optional<Count> block_number;
    std::optional<Count> confirmations;
    std::optional<Count> needed;
};
BOOST_DESCRIBE_STRUCT(IntentPendingClaim, (),
                      (tx_hash, log_index, claimed_at, until, block_number, confirmations, needed))
constexpr auto wire_docs(const IntentPendingClaim*) {
    return std::to_array<wire::Doc>({
        {"log_index", "Which log of the transaction is the transfer.", "3"},
        {"claimed_at", "When it was claimed."},
        {"until", "Until when it is looked for."},
        {"block_number", "The block that has it; left out while none is known.", "41900000"},
        {"confirmations", "Its block and those on top of it.", "12"},
        {"needed", "As many the newest final block has at the moment; then it is credited.", "450"},
    });
}

struct IntentNetwork {
    wire::Constant<wallets::base_chain_id> chain_id;
    wire::EvmAddress token_address;
    std::string explorer_url;
};
BOOST_DESCRIBE_STRUCT(IntentNetwork, (), (chain_id, token_address, explorer_url))
constexpr auto wire_docs(const IntentNetwork*) {
    return std::to_array<wire::Doc>({
        {"token_address", "The contract of the token to send.",
         "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
        {"explorer_url", "Where people look at transactions.", "https://basescan.org"},
    });
}

struct Intent {
    IntentId intent_id;
    wire::Constant<wallets::base_chain_id> chain_id;
    wire::EvmAddress token;
    wire::EvmAddress treasury_address;
    Micro amount_micro;
    Time expires_at;
    std::string instructions;
    IntentState state = IntentState::OPEN;
    BindingId wallet_binding_id;
    wire::Decimal wallet_binding_version;
    Time created_at;
    wire::Nullable<IntentClaim> claim;
    wire::Nullable<std::string> exception;  // what was wrong with the last claim
    std::optional<IntentPendingClaim> pending_claim;
    std::optional<IntentNetwork> network;
};
BOOST_DESCRIBE_STRUCT(Intent, (),
                      (intent_id, chain_id, token, treasury_address, amount_micro, expires_at,
                       instructions, state, wallet_binding_id, wallet_binding_version, created_at,
                       claim, exception, pending_claim, network))
constexpr auto wire_docs(const Intent*) {
    return std::to_array<wire::Doc>({
        {"token", "The contract of the token to send.",
         "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
        {"treasury_address", "Where to send it. Read it from your own intent: it may change.",
         "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"},
        {"amount_micro", "Exactly what to send.", "25000000"},
        {"expires_at", "A transfer sent in time can be claimed later."},
        {"instructions", "The same in words.",
         "Send exactly 25000000 micro-units of USDC on Base (chain 8453) from yo"
         "ur linked wallet."},
        {"wallet_binding_id", "The linked wallet that the transfer comes from."},
        {"wallet_binding_version", "Of that wallet when the intent was made.", "1"},
        {"claim", "The transfer that was credited; null before.", "null"},
        {"exception", "What was wrong with the last claim; null when nothing was.", "null"},
        {"pending_claim", "Of one intent alone: the claim that waits for the chain, if one does."},
        {"network", "Where the token is, and where people look at it."},
    });
}

struct IntentPath {
    IntentId id;
};
BOOST_DESCRIBE_STRUCT(IntentPath, (), (id))

struct ClaimTransfer {
    wire::TransactionHash tx_hash;
    wire::Integer<0, 2'147'483'647> log_index;
};
BOOST_DESCRIBE_STRUCT(ClaimTransfer, (), (tx_hash, log_index))
constexpr auto wire_docs(const ClaimTransfer*) {
    return std::to_array<wire::Doc>({
        {"tx_hash", "The transaction that holds the transfer."},
        {"log_index", "Which log of the transaction it is.", "3"},
    });
}

struct TransfersQuery {
    wire::TransactionHash tx_hash;
};
BOOST_DESCRIBE_STRUCT(TransfersQuery, (), (tx_hash))
constexpr auto wire_docs(const TransfersQuery*) {
    return std::to_array<wire::Doc>({
        {"tx_hash", "The transaction to look at.",
         "0x5d53558791c9346d644d077354420f9a93600acf54eb6a279f12b43025392c3a"},
    });
}

enum class TransactionState { unseen, included, final, reverted };
BOOST_DESCRIBE_ENUM(TransactionState, unseen, included, final, reverted)

struct SeenTransfer {
    Count log_index;
    Asset asset = Asset::usdc;
    wire::EvmAddress from;
    wire::EvmAddress to;
    Micro amount_micro;
    bool matches = false;
    std::optional<std::string> why;
};
BOOST_DESCRIBE_STRUCT(SeenTransfer, (), (log_index, asset, from, to, amount_micro, matches, why))
constexpr auto wire_docs(const SeenTransfer*) {
    return std::to_array<wire::Doc>({
        {"log_index", "What a claim names it by.", "3"},
        {"from", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"to", "", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"},
        {"amount_micro", "", "25000000"},
        {"matches", "Whether a claim of it would be credited once it is final.", "true"},
        {"why", "What is wrong with it; left out when it matches.",
         "the transfer has another amount than the intent"},
    });
}

// Of one transaction, to the treasury.
struct SeenTransfers {
    wire::TransactionHash tx_hash;
    TransactionState state = TransactionState::unseen;
    wire::Nullable<Count> block_number;
    wire::Nullable<Count> confirmations;
    wire::Nullable<Count> needed;
    std::vector<SeenTransfer> items;
};
BOOST_DESCRIBE_STRUCT(SeenTransfers, (),
                      (tx_hash, state, block_number, confirmations, needed, items))
constexpr auto wire_docs(const SeenTransfers*) {
    return std::to_array<wire::Doc>({
        {"state", "Whether a block has it, and whether that block is final.", "included"},
        {"block_number", "Null while no block has it.", "41900000"},
        {"confirmations", "Its block and those on top of it; null while no block has it.", "12"},
        {"needed", "As many the newest final block has at the moment.", "450"},
        {"items", "Its transfers of known tokens to the treasury, the first hundred."},
    });
}

enum class ClaimState { PENDING, CONFIRMED, EXCEPTION };
BOOST_DESCRIBE_ENUM(ClaimState, PENDING, CONFIRMED, EXCEPTION)

struct Claimed {
    IntentId intent_id;
    ClaimState state = ClaimState::PENDING;
};
BOOST_DESCRIBE_STRUCT(Claimed, (), (intent_id, state))
constexpr auto wire_docs(const Claimed*) {
    return std::to_array<wire::Doc>({
        {"state",
         "PENDING: not final yet, claim again later. CONFIRMED: credited. "
         "EXCEPTION: it does not match the intent.",
         "CONFIRMED"},
    });
}

enum class UnclaimedState { SUSPENSE, RETURNING, RETURNED };
BOOST_DESCRIBE_ENUM(UnclaimedState, SUSPENSE, RETURNING, RETURNED)

struct SuspenseQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<UnclaimedState> state;
};
BOOST_DESCRIBE_STRUCT(SuspenseQuery, (), (cursor, limit, state))
constexpr auto wire_docs(const SuspenseQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only those in this state. Left out: in suspense, and on their way back.",
         "SUSPENSE"},
    });
}

// The payment that sends one back.
struct DepositReturn {
    ledger::TransferId transfer_id;
    wire::EvmAddress address;
    wire::Nullable<wire::TransactionHash> tx_hash;
};
BOOST_DESCRIBE_STRUCT(DepositReturn, (), (transfer_id, address, tx_hash))
constexpr auto wire_docs(const DepositReturn*) {
    return std::to_array<wire::Doc>({
        {"transfer_id", "It stands after the payment on chain, too."},
        {"address", "Where it goes.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"tx_hash", "The transaction, once it is signed."},
    });
}

struct SuspenseDeposit {
    DepositId deposit_id;
    Asset asset = Asset::usdc;
    Micro amount_micro;
    wire::EvmAddress from;
    wire::TransactionHash tx_hash;
    Count log_index;
    Count block_number;
    Time seen_at;
    UnclaimedState state = UnclaimedState::SUSPENSE;
    wire::Nullable<DepositReturn> return_;
};
BOOST_DESCRIBE_STRUCT(SuspenseDeposit, (),
                      (deposit_id, asset, amount_micro, from, tx_hash, log_index, block_number,
                       seen_at, state, return_))
constexpr auto wire_docs(const SuspenseDeposit*) {
    return std::to_array<wire::Doc>({
        {"deposit_id", "What it is matched or sent back by."},
        {"from", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"log_index", "Which log of its block, as a claim names it.", "0"},
        {"block_number", "The block that has it.", "41900000"},
        {"seen_at", ""},
        {"state", "SUSPENSE: nobody has claimed it. RETURNING: it is being sent back.", "SUSPENSE"},
        {"return", "What sends it back, unless it was paid by hand."},
    });
}

}  // namespace berth::funding
