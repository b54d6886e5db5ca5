// Requests and responses of money.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "ledger/ledger.hpp"
#include "wallets/types.hpp"
#include "wire/rules.hpp"

// The ledger's own words on the wire; the ledger itself knows no JSON.
namespace berth::ledger {
BOOST_DESCRIBE_ENUM(Asset, usdc, usdt)
constexpr std::string_view wire_name(Asset asset) {
    return asset == Asset::usdc ? "USDC" : "USDT";
}
BOOST_DESCRIBE_ENUM(Pocket, available, held, payable, escrow, reserved, treasury, outbound, suspense,
                    fee_income)
BOOST_DESCRIBE_ENUM(Kind, deposit, hold, hold_release, job_charge, platform_fee, host_earning, refund,
                    refund_host_reversal, refund_fee_reversal, withdrawal_lock, withdrawal_settled,
                    withdrawal_returned, payout_lock, payout_settled, payout_returned, dispute_hold,
                    dispute_release)
BOOST_DESCRIBE_ENUM(Side, debit, credit)
}  // namespace berth::ledger

namespace berth::money {

using ledger::Asset;
using wallets::AddressId;
using wallets::BindingId;
using IntentId = Id<struct IntentTag>;
using ConfirmationId = Id<struct ConfirmationTag>;
using ledger::TransferId;

using Count = wire::Integer<0, 9'007'199'254'740'991>;  // what every JSON reader takes exactly

enum class Network { base };
BOOST_DESCRIBE_ENUM(Network, base)

// Balances and statements

struct AssetQuery {
    std::optional<Asset> asset;  // USDC when it is left out
};
BOOST_DESCRIBE_STRUCT(AssetQuery, (), (asset))

struct Billing {
    Asset asset = Asset::usdc;
    Micro spendable_micro;
    Micro held_micro;      // promised to jobs
    Micro pending_micro;   // on the way out
    Micro disputed_micro;
    Micro withdrawable_micro;
    Micro spent_30d_micro;
    Time as_of;
};
BOOST_DESCRIBE_STRUCT(Billing, (), (asset, spendable_micro, held_micro, pending_micro, disputed_micro,
                                    withdrawable_micro, spent_30d_micro, as_of))

struct EntriesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account_id;  // an admin's choice; everybody else reads their own
};
BOOST_DESCRIBE_STRUCT(EntriesQuery, (), (cursor, limit, account_id))

struct StatementEntry {
    Uuid entry_id;
    ledger::TransactionId transaction_id;
    ledger::Kind kind{};
    ledger::Side direction{};
    Micro amount_micro;
    Asset asset = Asset::usdc;
    ledger::Pocket pocket{};
    wire::Nullable<JobId> job_id;
    std::string external_ref;
    std::vector<std::string> evidence_links;
    Time at;
};
BOOST_DESCRIBE_STRUCT(StatementEntry, (), (entry_id, transaction_id, kind, direction, amount_micro,
                                           asset, pocket, job_id, external_ref, evidence_links, at))

struct Supplier {
    std::string account_id;
};
BOOST_DESCRIBE_STRUCT(Supplier, (), (account_id))

struct Operator {
    std::optional<std::string> name;
    std::optional<std::string> support_email;
};
BOOST_DESCRIBE_STRUCT(Operator, (), (name, support_email))

struct ReceiptEntry {
    std::string transaction_id;
    ledger::Kind kind{};
    std::string external_ref;
    Time at;
};
BOOST_DESCRIBE_STRUCT(ReceiptEntry, (), (transaction_id, kind, external_ref, at))

struct Receipt {
    JobId job_id;
    std::string state;
    Micro machine_rate_micro_per_hour;
    wire::Integer<0, 10'000> platform_fee_bps;
    wire::Decimal accepted_runtime_ms;
    Micro charge_micro;
    Micro fee_micro;
    Micro host_micro;
    Micro funded_budget_micro;
    Supplier supplier;
    Operator operator_;
    std::vector<ReceiptEntry> entries;
};
BOOST_DESCRIBE_STRUCT(Receipt, (), (job_id, state, machine_rate_micro_per_hour, platform_fee_bps,
                                    accepted_runtime_ms, charge_micro, fee_micro, host_micro,
                                    funded_budget_micro, supplier, operator_, entries))

struct JobPath {
    JobId job;
};
BOOST_DESCRIBE_STRUCT(JobPath, (), (job))

// Earnings

struct EarningsDay {
    std::string day;  // YYYY-MM-DD in UTC
    wire::SignedMicro earned_micro;
    wire::SignedMicro fee_micro;
    Micro paid_micro;
    Count rental_count;
};
BOOST_DESCRIBE_STRUCT(EarningsDay, (), (day, earned_micro, fee_micro, paid_micro, rental_count))

struct Earnings {
    Micro earned_micro;
    Micro disputed_micro;
    Micro payable_micro;
    Micro requested_micro;
    Micro settled_micro;
    Micro gross_micro;
    Micro fee_micro;
    Count fee_bps;
    Count window_days;
    Time from;
    Time to;
    std::vector<EarningsDay> days;
};
BOOST_DESCRIBE_STRUCT(Earnings, (), (earned_micro, disputed_micro, payable_micro, requested_micro,
                                     settled_micro, gross_micro, fee_micro, fee_bps, window_days,
                                     from, to, days))

struct MachinePath {
    MachineId id;
};
BOOST_DESCRIBE_STRUCT(MachinePath, (), (id))

struct WindowQuery {
    std::optional<std::string> window;  // "30d"
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(WindowQuery, (), (window, asset))

struct MachineEarnings {
    wire::Integer<1, 365> window_days;
    Time from;
    Time to;
    std::vector<EarningsDay> days;
};
BOOST_DESCRIBE_STRUCT(MachineEarnings, (), (window_days, from, to, days))

// Funding

struct NewIntent {
    BindingId wallet_binding_id;
    Micro amount_micro;
};
BOOST_DESCRIBE_STRUCT(NewIntent, (), (wallet_binding_id, amount_micro))

enum class IntentState { OPEN, CONFIRMED, EXCEPTION, EXPIRED };
BOOST_DESCRIBE_ENUM(IntentState, OPEN, CONFIRMED, EXCEPTION, EXPIRED)

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

// Addresses, confirmations, transfers

enum class TransferKind { withdrawal, payout };
BOOST_DESCRIBE_ENUM(TransferKind, withdrawal, payout)

struct AskCode {
    TransferKind kind = TransferKind::withdrawal;
    std::optional<Network> network;
    wire::EvmAddress address;
    Micro amount_micro;
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
    Micro amount_micro;
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

}  // namespace berth::money
