// All SQL of funding, transfers, addresses and confirmations. Money itself moves in the ledger.
#pragma once

#include <optional>
#include <vector>

#include "chain/chain.hpp"
#include "db/migrate.hpp"
#include "money/types.hpp"

namespace berth::money {

// Funding intents

struct IntentRow {
    IntentId id;
    AccountId account;
    BindingId binding;
    std::int64_t binding_version = 1;
    crypto::Address wallet;
    Asset asset = Asset::usdc;
    crypto::Address token;
    crypto::Address treasury;
    Micro amount;
    IntentState state = IntentState::OPEN;
    std::optional<std::string> exception = {};
    Time created_at;
    Time expires_at;
    std::optional<std::string> claim_tx = {};
    std::optional<std::int64_t> claim_log_index = {};
    std::optional<Time> confirmed_at = {};
};
void add_intent(db::Transaction& tx, const IntentRow& intent);
std::optional<IntentRow> find_intent(db::Transaction& tx, IntentId id);
// Newest first, those before `before`.
std::vector<IntentRow> list_intents(db::Transaction& tx, AccountId account,
                                    const std::optional<IntentId>& before, std::int64_t rows_max);
std::int64_t count_open_intents(db::Transaction& tx, AccountId account, Time now);
// False when it is confirmed already.
bool confirm_intent(db::Transaction& tx, IntentId id, const chain::Transfer& transfer, Time now);
bool set_exception(db::Transaction& tx, IntentId id, std::string_view why);

struct PendingClaim {
    IntentId intent;
    chain::Hash transaction;
    std::int64_t log_index = 0;
    Time until;  // then it is forgotten
};
void put_pending_claim(db::Transaction& tx, const PendingClaim& claim, Time now);
// Whatever transfer it names.
void delete_pending_claim(db::Transaction& tx, IntentId intent);
// False when the intent has another claim by now, or none.
bool take_pending_claim(db::Transaction& tx, const PendingClaim& claim);
// Those that were looked at longest ago; notes that they are looked at now.
std::vector<PendingClaim> look_at_claims(db::Transaction& tx, Time now, std::int64_t rows_max);

// Deposits

struct DepositRow {
    chain::Hash transaction;
    std::int64_t ordinal = 0;
    Asset asset = Asset::usdc;
    crypto::Address sender;
    Micro amount;
    std::int64_t block = 0;
    Time seen_at;
};
enum class Taken { fresh, from_suspense, no };  // `no`: somebody used it before
Taken take_deposit(db::Transaction& tx, const DepositRow& deposit, IntentId intent);
bool add_suspense(db::Transaction& tx, const DepositRow& deposit);  // false when it is known
struct DepositMark {
    std::string transaction;
    std::int64_t ordinal = 0;
};
std::vector<DepositRow> list_suspense(db::Transaction& tx, const std::optional<DepositMark>& after,
                                      std::int64_t rows_max);

std::optional<std::int64_t> find_chain_cursor(db::Transaction& tx, std::string_view name);
void set_chain_cursor(db::Transaction& tx, std::string_view name, std::int64_t block);

// Withdrawal addresses

struct AddressRow {
    AddressId id;
    AccountId account;
    crypto::Address address;
    std::optional<std::string> label = {};
    AddressState state = AddressState::AWAITING_EMAIL_CONFIRMATION;
    Time created_at;
    std::optional<Time> confirmed_at = {};
    std::optional<Time> expires_at = {};
    std::optional<Time> last_used_at = {};
};
std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account,
                                       const crypto::Address& address);
std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account, AddressId id);
std::vector<AddressRow> list_addresses(db::Transaction& tx, AccountId account);
// Adds an address that waits for its confirmation, or lets one that waits already wait anew; the id
// it has in the end.
AddressId put_waiting_address(db::Transaction& tx, const AddressRow& address);
bool save_address(db::Transaction& tx, AddressId id, Time now);  // false when it is gone
void note_address_use(db::Transaction& tx, AddressId id, Time now);
void delete_address(db::Transaction& tx, AddressId id);
void delete_expired_address(db::Transaction& tx, AddressId id, Time now);

struct ConfirmationRow {
    ConfirmationId id;
    AccountId account;
    AddressId address;
    std::optional<TransferId> transfer = {};
    Bytes token_hash;
    Time expires_at;
};
void add_confirmation(db::Transaction& tx, const ConfirmationRow& confirmation);
// The confirmation, for the one caller that uses it up; empty for a wrong token.
std::optional<ConfirmationRow> spend_confirmation(db::Transaction& tx, ConfirmationId id,
                                                  std::string_view token_hash);
std::vector<ConfirmationRow> find_expired_confirmations(db::Transaction& tx, Time now,
                                                        std::int64_t rows_max);
std::vector<ConfirmationRow> find_confirmations(db::Transaction& tx, AddressId address);
bool delete_confirmation(db::Transaction& tx, ConfirmationId id);  // false when it is gone
// How many of the account's end after this.
std::int64_t count_confirmations(db::Transaction& tx, AccountId account, Time after);

// Transfers

struct TransferRow {
    TransferId id;
    TransferKind kind = TransferKind::withdrawal;
    AccountId account;
    Asset asset = Asset::usdc;
    Micro amount;
    crypto::Address address;
    AddressId address_id;
    TransferState state = TransferState::INTENT;
    std::optional<std::string> tx_hash = {};
    Time created_at;
    Time updated_at;
};
void add_transfer(db::Transaction& tx, const TransferRow& transfer);
std::optional<TransferRow> find_transfer(db::Transaction& tx, TransferId id);
std::vector<TransferRow> list_transfers(db::Transaction& tx, AccountId account, TransferKind kind,
                                        const std::optional<TransferId>& before,
                                        std::int64_t rows_max);
std::int64_t count_open_transfers(db::Transaction& tx, AccountId account);
// Both oldest first: those in INTENT, and those in SUBMITTED after `after`.
std::vector<TransferRow> find_intents(db::Transaction& tx, std::int64_t rows_max);
std::vector<TransferRow> find_submitted(db::Transaction& tx, const std::optional<TransferId>& after,
                                        std::int64_t rows_max);
struct Step {
    TransferState from;
    TransferState to;
};
// False when the transfer is not in `from` any more.
bool move_transfer(db::Transaction& tx, TransferId id, const Step& step, Time now);
// Of a transfer in this state; false when it is in another one.
bool set_transfer_hash(db::Transaction& tx, TransferId id, TransferState state,
                       const chain::Hash& hash);

struct AttemptRow {
    TransferId transfer;
    std::int64_t attempt = 1;
    crypto::Address signer;
    std::int64_t nonce = 0;
    std::int64_t fee_max = 0;
    std::int64_t priority_fee = 0;
    chain::Hash hash;
    Bytes signed_bytes;
    Time created_at;
};
bool add_attempt(db::Transaction& tx, const AttemptRow& attempt);  // false when it is there
std::vector<AttemptRow> list_attempts(db::Transaction& tx, TransferId transfer);  // oldest first
// The next nonce of the treasury, never one that was given before, and at least `least`, as long as
// that is not further ahead than nonce_jump_max: empty then.
inline constexpr std::int64_t nonce_jump_max = 1000;
std::optional<std::int64_t> take_nonce(db::Transaction& tx, const crypto::Address& treasury,
                                       std::int64_t least);

// Transfers and deposits that are not in the ledger as they should be; for `berthd check ledger`.
std::vector<std::string> check_transfers(db::Transaction& tx);
std::vector<std::string> check_deposits(db::Transaction& tx);

extern const db::Migration money_migration;

}  // namespace berth::money
