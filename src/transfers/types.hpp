// Requests and responses of withdrawals, payouts and the addresses they go to.
#pragma once

#include <boost/describe.hpp>

#include "ledger/ledger.hpp"
#include "wire/rules.hpp"

namespace berth::transfers {

using ledger::Asset;
using ledger::TransferId;
using AddressId = Id<struct AddressTag>;
using ConfirmationId = Id<struct ConfirmationTag>;

using MovedAmount = wire::Amount<1, ledger::amount_max.value>;

enum class Network { base };
BOOST_DESCRIBE_ENUM(Network, base)

enum class TransferKind { withdrawal, payout };
BOOST_DESCRIBE_ENUM(TransferKind, withdrawal, payout)

struct AskCode {
    TransferKind kind = TransferKind::withdrawal;
    std::optional<Network> network;
    wire::EvmAddress address;
    MovedAmount amount_micro;
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(AskCode, (), (kind, network, address, amount_micro, asset))

struct TransferChallenge {
    std::string message;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(TransferChallenge, (), (message, expires_at))

using Label = wire::Text<1, 40>;

enum class AddressState { AWAITING_EMAIL_CONFIRMATION, SAVED };
BOOST_DESCRIBE_ENUM(AddressState, AWAITING_EMAIL_CONFIRMATION, SAVED)

struct NewAddress {
    std::optional<Network> network;
    wire::EvmAddress address;
    std::optional<Label> label;
    std::optional<wire::SixDigits> code;
};
BOOST_DESCRIBE_STRUCT(NewAddress, (), (network, address, label, code))

struct AddressAccepted {
    AddressState state = AddressState::SAVED;
    AddressId address_id;
    std::optional<ConfirmationId> confirmation_id;
    std::optional<Time> expires_at;
};
BOOST_DESCRIBE_STRUCT(AddressAccepted, (), (state, address_id, confirmation_id, expires_at))

struct WithdrawalAddress {
    AddressId address_id;
    AddressState state = AddressState::SAVED;
    Network network = Network::base;
    wire::EvmAddress address;
    wire::Nullable<std::string> label;
    Time created_at;
    wire::Nullable<Time> confirmed_at;
    wire::Nullable<Time> expires_at;
    wire::Nullable<Time> last_used_at;
};
BOOST_DESCRIBE_STRUCT(WithdrawalAddress, (), (address_id, state, network, address, label, created_at,
                                              confirmed_at, expires_at, last_used_at))

struct WithdrawalAddresses {
    std::vector<WithdrawalAddress> items;
};
BOOST_DESCRIBE_STRUCT(WithdrawalAddresses, (), (items))

struct AddressPath {
    AddressId id;
};
BOOST_DESCRIBE_STRUCT(AddressPath, (), (id))

struct TransferRequest {
    std::optional<Network> network;
    wire::EvmAddress address;
    MovedAmount amount_micro;
    std::optional<Asset> asset;
    std::optional<Label> label;
    std::optional<wire::SixDigits> code;
    std::optional<wire::Text<1, 8192>> siwe_message;
    std::optional<wire::Text<1, 8192>> signature;
};
BOOST_DESCRIBE_STRUCT(TransferRequest, (), (network, address, amount_micro, asset, label, code,
                                            siwe_message, signature))

enum class TransferState {
    AWAITING_EMAIL_CONFIRMATION,
    INTENT,
    SUBMITTED,
    SETTLED,
    FAILED,
    EXPIRED,
    CANCELLED,
};
BOOST_DESCRIBE_ENUM(TransferState, AWAITING_EMAIL_CONFIRMATION, INTENT, SUBMITTED, SETTLED, FAILED,
                    EXPIRED, CANCELLED)

struct TransferAccepted {
    TransferState state = TransferState::INTENT;
    std::optional<TransferId> withdrawal_id;
    std::optional<TransferId> payout_id;
    std::optional<ConfirmationId> confirmation_id;
    AddressId address_id;
    std::optional<Time> expires_at;
    Asset asset = Asset::usdc;
};
BOOST_DESCRIBE_STRUCT(TransferAccepted, (), (state, withdrawal_id, payout_id, confirmation_id,
                                             address_id, expires_at, asset))

struct Transfer {
    TransferId id;
    TransferState state = TransferState::INTENT;
    wire::EvmAddress address;
    Micro amount_micro;
    Asset asset = Asset::usdc;
    wire::Nullable<wire::TransactionHash> tx_hash;
    Time created_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(Transfer, (), (id, state, address, amount_micro, asset, tx_hash, created_at,
                                     updated_at))

struct ConfirmationPath {
    ConfirmationId confirmation_id;
};
BOOST_DESCRIBE_STRUCT(ConfirmationPath, (), (confirmation_id))

struct ConfirmationToken {
    wire::Text<1, 100> token;
};
BOOST_DESCRIBE_STRUCT(ConfirmationToken, (), (token))

enum class ConfirmedState { SAVED, INTENT };
BOOST_DESCRIBE_ENUM(ConfirmedState, SAVED, INTENT)

struct Confirmed {
    ConfirmedState state = ConfirmedState::SAVED;
    AddressId address_id;
    std::optional<TransferId> withdrawal_id;
    std::optional<TransferId> payout_id;
};
BOOST_DESCRIBE_STRUCT(Confirmed, (), (state, address_id, withdrawal_id, payout_id))

}  // namespace berth::transfers
