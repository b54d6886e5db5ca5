// Requests and responses of funding.
#pragma once

#include <boost/describe.hpp>

#include "ledger/ledger.hpp"
#include "wallets/types.hpp"
#include "wire/rules.hpp"

namespace berth::funding {

using ledger::Asset;
using wallets::BindingId;
using wire::Count;
using IntentId = Id<struct IntentTag>;

using MovedAmount = wire::Amount<1, ledger::amount_max.value>;

struct AssetQuery {
    std::optional<Asset> asset;  // USDC when it is left out
};
BOOST_DESCRIBE_STRUCT(AssetQuery, (), (asset))

struct NewIntent {
    BindingId wallet_binding_id;
    MovedAmount amount_micro;
};
BOOST_DESCRIBE_STRUCT(NewIntent, (), (wallet_binding_id, amount_micro))

enum class IntentState { OPEN, CONFIRMED, EXCEPTION, EXPIRED, CANCELLED };
BOOST_DESCRIBE_ENUM(IntentState, OPEN, CONFIRMED, EXCEPTION, EXPIRED, CANCELLED)

struct IntentClaim {
    wire::TransactionHash tx_hash;
    Count log_index;
    Time confirmed_at;
};
BOOST_DESCRIBE_STRUCT(IntentClaim, (), (tx_hash, log_index, confirmed_at))

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
};
BOOST_DESCRIBE_STRUCT(Intent, (), (intent_id, chain_id, token, treasury_address, amount_micro,
                                   expires_at, instructions, state, wallet_binding_id,
                                   wallet_binding_version, created_at, claim, exception))

struct IntentPath {
    IntentId id;
};
BOOST_DESCRIBE_STRUCT(IntentPath, (), (id))

struct ClaimTransfer {
    wire::TransactionHash tx_hash;
    wire::Integer<0, 2'147'483'647> log_index;
};
BOOST_DESCRIBE_STRUCT(ClaimTransfer, (), (tx_hash, log_index))

enum class ClaimState { PENDING, CONFIRMED, EXCEPTION };
BOOST_DESCRIBE_ENUM(ClaimState, PENDING, CONFIRMED, EXCEPTION)

struct Claimed {
    IntentId intent_id;
    ClaimState state = ClaimState::PENDING;
};
BOOST_DESCRIBE_STRUCT(Claimed, (), (intent_id, state))

struct SuspenseDeposit {
    wire::TransactionHash tx_hash;
    Count ordinal;  // of the log in its receipt
    Asset asset = Asset::usdc;
    wire::EvmAddress from;
    Micro amount_micro;
    Count block;
    Time seen_at;
};
BOOST_DESCRIBE_STRUCT(SuspenseDeposit, (), (tx_hash, ordinal, asset, from, amount_micro, block,
                                            seen_at))

}  // namespace berth::funding
