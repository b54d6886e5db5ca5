// Requests and responses of withdrawals, payouts and the addresses they go to.
#pragma once

#include <boost/describe.hpp>

#include "api/audited.hpp"
#include "audit/audit.hpp"
#include "ledger/ledger.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::transfers {

using ledger::Asset;
using ledger::TransferId;
using AddressId = Id<struct AddressTag>;
using ConfirmationId = Id<struct ConfirmationTag>;

using MovedAmount = wire::Amount<1, ledger::amount_max.value>;

enum class Network { base };
BOOST_DESCRIBE_ENUM(Network, base)

// The last is the operators': a transfer in suspense that goes back.
enum class TransferKind { withdrawal, payout, return_ };
BOOST_DESCRIBE_ENUM(TransferKind, withdrawal, payout, return_)

enum class AskedKind { withdrawal, payout };
BOOST_DESCRIBE_ENUM(AskedKind, withdrawal, payout)

struct AskCode {
    AskedKind kind = AskedKind::withdrawal;
    std::optional<Network> network;
    wire::EvmAddress address;
    MovedAmount amount_micro;
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(AskCode, (), (kind, network, address, amount_micro, asset))
constexpr auto wire_docs(const AskCode*) {
    return std::to_array<wire::Doc>({
        {"kind", "", "withdrawal"},
        {"network", "", "base", "base"},
        {"amount_micro", "Exactly what will be asked for.", "5000000"},
        {"asset", "", "USDC", "USDC"},
    });
}

struct TransferChallenge {
    std::string message;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(TransferChallenge, (), (message, expires_at))
constexpr auto wire_docs(const TransferChallenge*) {
    return std::to_array<wire::Doc>({
        {"message", "The EIP-4361 text to sign, bound to this transfer.",
         "berth.example wants you to sign in with your Ethereum account: …"},
    });
}

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
constexpr auto wire_docs(const NewAddress*) {
    return std::to_array<wire::Doc>({
        {"network", "", "base", "base"},
        {"label", "For people.", "cold wallet"},
        {"code", "Of the authenticator, for an account that has one."},
    });
}

struct AddressAccepted {
    AddressState state = AddressState::SAVED;
    AddressId address_id;
    std::optional<ConfirmationId> confirmation_id;
    std::optional<Time> expires_at;
};
BOOST_DESCRIBE_STRUCT(AddressAccepted, (), (state, address_id, confirmation_id, expires_at))
constexpr auto wire_docs(const AddressAccepted*) {
    return std::to_array<wire::Doc>({
        {"state", "", "AWAITING_EMAIL_CONFIRMATION"},
        {"expires_at", "Until when the mailed link can confirm it."},
    });
}

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
BOOST_DESCRIBE_STRUCT(WithdrawalAddress, (),
                      (address_id, state, network, address, label, created_at, confirmed_at,
                       expires_at, last_used_at))
constexpr auto wire_docs(const WithdrawalAddress*) {
    return std::to_array<wire::Doc>({
        {"label", "", "cold wallet"},
        {"confirmed_at", "Null before the mailed link was used."},
        {"expires_at", "Until when the mailed link can confirm it; null once saved.", "null"},
        {"last_used_at", "Null when nothing went there.", "null"},
    });
}

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
BOOST_DESCRIBE_STRUCT(TransferRequest, (),
                      (network, address, amount_micro, asset, label, code, siwe_message, signature))
constexpr std::string_view wire_rules(const TransferRequest*) {
    return R"({"dependentRequired":{"siwe_message":["signature"],"signature":["siwe_message"]},)"
           R"("not":{"required":["code","siwe_message"]}})";
}
constexpr auto wire_docs(const TransferRequest*) {
    return std::to_array<wire::Doc>({
        {"network", "", "base", "base"},
        {"asset", "", "USDC", "USDC"},
        {"amount_micro", "What is to arrive.", "5000000"},
        {"label", "Saved with a new address.", "cold wallet"},
        {"code", "For a session: the mailed code, or that of the authenticator. A key needs none.",
         wire::left_out},
        {"siwe_message",
         "For an account that has only a wallet: the text of the "
         "challenge.",
         wire::left_out},
        {"signature", "Over siwe_message.", wire::left_out},
    });
}

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

enum class AcceptedState { AWAITING_EMAIL_CONFIRMATION, INTENT };
BOOST_DESCRIBE_ENUM(AcceptedState, AWAITING_EMAIL_CONFIRMATION, INTENT)

struct TransferAccepted {
    AcceptedState state = AcceptedState::INTENT;
    std::optional<TransferId> withdrawal_id;
    std::optional<TransferId> payout_id;
    std::optional<ConfirmationId> confirmation_id;
    AddressId address_id;
    std::optional<Time> expires_at;
    Asset asset = Asset::usdc;
};
BOOST_DESCRIBE_STRUCT(TransferAccepted, (),
                      (state, withdrawal_id, payout_id, confirmation_id, address_id, expires_at,
                       asset))
constexpr auto wire_docs(const TransferAccepted*) {
    return std::to_array<wire::Doc>({
        {"state",
         "INTENT: the money is locked and will be sent. "
         "AWAITING_EMAIL_CONFIRMATION: nothing moves before the mailed "
         "link is used.",
         "INTENT"},
        {"expires_at", "Until when the mailed link can confirm it."},
    });
}

// Why a transfer that is not over waits.
enum class WaitsFor {
    day_cap,
    account_cap,
    cooling_off,
    payouts_paused,
    suspended,
    settlement_hold,
    second_admin,
    gas,
    chain,
};
BOOST_DESCRIBE_ENUM(WaitsFor, day_cap, account_cap, cooling_off, payouts_paused, suspended,
                    settlement_hold, second_admin, gas, chain)

struct Transfer {
    TransferId id;
    TransferState state = TransferState::INTENT;
    wire::EvmAddress address;
    Micro amount_micro;
    Asset asset = Asset::usdc;
    wire::Nullable<wire::TransactionHash> tx_hash;
    wire::Nullable<std::string> reason;
    wire::Nullable<WaitsFor> waits_for;
    wire::Nullable<Time> waits_until;
    Time created_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(Transfer, (),
                      (id, state, address, amount_micro, asset, tx_hash, reason, waits_for,
                       waits_until, created_at, updated_at))
constexpr auto wire_docs(const Transfer*) {
    return std::to_array<wire::Doc>({
        {"id", ""},
        {"tx_hash", "Of the transaction that pays it; null before it was sent."},
        {"reason", "Why it ended without being paid."},
        {"waits_for",
         "What keeps it from being paid: a cap of the day for all accounts or for this one, a new "
         "address that cools off, payouts that are paused, a suspended account, a hold (books that "
         "are being compared with the chain, an operator who holds it or its account back, or an "
         "address that was blocked), a "
         "second admin, gas, or the chain, where it is not final yet or its token would not take "
         "it. Null when it is over, waits for its mailed link, or leaves with the next round."},
        {"waits_until", "Until when, where that is known.", "null"},
    });
}

struct TransferPath {
    TransferId id;
};
BOOST_DESCRIBE_STRUCT(TransferPath, (), (id))

struct ConfirmationPath {
    ConfirmationId confirmation_id;
};
BOOST_DESCRIBE_STRUCT(ConfirmationPath, (), (confirmation_id))

struct ConfirmationToken {
    wire::Text<1, 100> token;
};
BOOST_DESCRIBE_STRUCT(ConfirmationToken, (), (token))
constexpr auto wire_docs(const ConfirmationToken*) {
    return std::to_array<wire::Doc>({
        {"token", "What follows # in the mailed link.", "brc_4eC39HqLyjWDarjtT1zdp7dc"},
    });
}

// CANCELLED: the address is saved, and the transfer that waited for it is over, because its money
// has gone meanwhile, or its token will not pay that address.
enum class ConfirmedState { SAVED, INTENT, CANCELLED };
BOOST_DESCRIBE_ENUM(ConfirmedState, SAVED, INTENT, CANCELLED)

struct Confirmed {
    ConfirmedState state = ConfirmedState::SAVED;
    AddressId address_id;
    std::optional<TransferId> withdrawal_id;
    std::optional<TransferId> payout_id;
};
BOOST_DESCRIBE_STRUCT(Confirmed, (), (state, address_id, withdrawal_id, payout_id))
constexpr auto wire_docs(const Confirmed*) {
    return std::to_array<wire::Doc>({
        {"state",
         "SAVED: the address is. INTENT: and the transfer goes out. CANCELLED: and the transfer is "
         "over, because the balance did not cover it any more, or the token refuses the address.",
         "INTENT"},
    });
}

// What operators see of addresses that a token will not pay.

using PayeeId = Id<struct PayeeTag>;

struct RefusedPayee {
    PayeeId payee_id;
    Asset asset = Asset::usdc;
    wire::EvmAddress address;
    wire::Count refusals;
    Time refused_at;
    std::string why;
    wire::Nullable<Time> barred_at;
};
BOOST_DESCRIBE_STRUCT(RefusedPayee, (),
                      (payee_id, asset, address, refusals, refused_at, why, barred_at))
constexpr auto wire_docs(const RefusedPayee*) {
    return std::to_array<wire::Doc>({
        {"payee_id", "Of this address and asset, until the bar is lifted."},
        {"asset", "The token that refuses it; another one may not.", "USDC"},
        {"refusals", "Payments in a row that were refused.", "3"},
        {"refused_at", "When the last of them was."},
        {"why", "How it was.", "the token would revert a payment to it"},
        {"barred_at", "Since when nothing is sent there; null while there were too few.", "null"},
    });
}

struct PayeePath {
    PayeeId payee_id;
};
BOOST_DESCRIBE_STRUCT(PayeePath, (), (payee_id))
constexpr auto wire_docs(const PayeePath*) {
    return std::to_array<wire::Doc>({
        {"payee_id", "As the list of refused payees has it."},
    });
}

struct LiftPayee {
    api::Reason reason;
};
BOOST_DESCRIBE_STRUCT(LiftPayee, (), (reason))
constexpr auto wire_docs(const LiftPayee*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("Its issuer took it off the list."),
    });
}

struct PayeeLifted {
    PayeeId payee_id;
    Asset asset = Asset::usdc;
    wire::EvmAddress address;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(PayeeLifted, (), (payee_id, asset, address, audit_event_id))
constexpr auto wire_docs(const PayeeLifted*) {
    return std::to_array<wire::Doc>({
        {"payee_id", "It is no more: another refusal gets one of its own."},
        {"asset", "", "USDC"},
    });
}

}  // namespace berth::transfers
