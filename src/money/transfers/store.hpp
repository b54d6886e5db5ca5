// All SQL of transfers, addresses and confirmations. Money itself moves in the ledger.
#pragma once

#include <optional>
#include <vector>

#include "chain/chain.hpp"
#include "db/migrate.hpp"
#include "funding/suspense.hpp"
#include "transfers/addresses.hpp"

namespace berth::transfers {

// Withdrawal addresses

struct AddressRow {
    AddressId address_id;
    AccountId account_id;
    crypto::Address address;
    std::optional<std::string> label = {};
    AddressState state = AddressState::AWAITING_EMAIL_CONFIRMATION;
    Time created_at;
    std::optional<Time> confirmed_at = {};
    std::optional<Time> expires_at = {};
    std::optional<Time> last_used_at = {};
    bool cools = true;  // a transfer to it waits while it is new
};
std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account,
                                       const crypto::Address& address);
std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account, AddressId id);
std::vector<AddressRow> list_addresses(db::Transaction& tx, AccountId account);
// Adds an address that waits for its confirmation, or lets one that waits already wait anew; the id
// it has in the end.
AddressId put_waiting_address(db::Transaction& tx, const AddressRow& address);
struct SavedAddress {
    AddressId address_id;
    Time now;
    bool cools = true;
};
// False when it is gone. One that was saved before stays as it was saved then.
bool save_address(db::Transaction& tx, const SavedAddress& address);
void note_address_use(db::Transaction& tx, AddressId id, Time now);
void delete_address(db::Transaction& tx, AddressId id);
void delete_expired_address(db::Transaction& tx, AddressId id, Time now);

struct ConfirmationRow {
    ConfirmationId confirmation_id;
    AccountId account_id;
    AddressId address_id;
    std::optional<TransferId> transfer_id = {};
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

// What the treasury had too little of when this one's turn came; or the token would not take it.
enum class ShortOf { gas, tokens, token };
BOOST_DESCRIBE_ENUM(ShortOf, gas, tokens, token)

struct TransferRow {
    TransferId transfer_id;
    TransferKind kind = TransferKind::withdrawal;
    AccountId account_id;
    Asset asset = Asset::usdc;
    Micro amount;
    crypto::Address address;
    AddressId address_id;  // none of a return
    TransferState state = TransferState::INTENT;
    std::optional<std::string> tx_hash = {};
    Time created_at;
    Time updated_at;
    std::optional<std::string> reason = {};  // why it ended without being paid
    // What a return sends back.
    std::optional<std::string> deposit_tx = {};
    std::optional<std::int64_t> deposit_ordinal = {};
    std::optional<ShortOf> short_of = {};
    std::optional<std::string> held_why = {};  // an operator holds it back
};
void add_transfer(db::Transaction& tx, const TransferRow& transfer);
std::optional<TransferRow> find_transfer(db::Transaction& tx, TransferId id);
// The one that sends this deposit back, or did; empty when there is none.
std::optional<TransferRow> find_return(db::Transaction& tx, const funding::DepositMark& deposit);
std::vector<TransferRow> list_transfers(db::Transaction& tx, AccountId account, TransferKind kind,
                                        const std::optional<TransferId>& before,
                                        std::int64_t rows_max);
// Newest first, of all accounts.
struct TransferFilter {
    std::optional<AccountId> account = {};
    std::optional<TransferKind> kind = {};
    std::optional<TransferState> state = {};
    std::optional<Asset> asset = {};
    std::optional<crypto::Address> address = {};
    std::optional<Time> since = {};
    std::optional<Time> until = {};
    std::optional<bool> held = {};
};
std::vector<TransferRow> list_transfers_like(db::Transaction& tx, const TransferFilter& filter,
                                             const std::optional<TransferId>& before,
                                             std::int64_t rows_max);
// Oldest first: what waits to be signed or to be final and was asked for before `asked_before`, and
// what is held back whenever that was.
std::vector<TransferRow> list_late_transfers(db::Transaction& tx, Time asked_before,
                                             const std::optional<TransferId>& after,
                                             std::int64_t rows_max);
// How many those are, up to `rows_max`, and when the oldest of them was asked for.
struct LateCount {
    std::int64_t count = 0;
    std::optional<Time> oldest;
};
LateCount count_late_transfers(db::Transaction& tx, Time asked_before, std::int64_t rows_max);
// Holds one back that was not signed. False when it was, or is over.
bool hold_back(db::Transaction& tx, TransferId id, const std::string& why,
               const std::optional<AccountId>& by = {});
// Ends that. False when nobody holds it any more, it is over, or, with `only_of`, somebody else
// than this operator holds it by now.
bool release_held(db::Transaction& tx, TransferId id, const std::optional<AccountId>& only_of);
// Whether it is held back by this operator alone: once another has held it, too, it is nobody's.
bool was_held_by(db::Transaction& tx, TransferId id, AccountId by);
std::int64_t count_open_transfers(db::Transaction& tx, AccountId account);
struct Step {
    TransferState from;
    TransferState to;
    std::string_view reason = {};   // of an end without a payment
    bool unless_held = false;       // not for one that an operator holds back
    std::string_view tx_hash = {};  // by which it is over on the chain, for its owner
};
// False when the transfer is not in `from` any more, or is held back and that matters. Its owner is
// told.
bool move_transfer(const db::Context& context, TransferId id, const Step& step);
// Of a transfer in this state; false when it is in another one.
bool set_transfer_hash(db::Transaction& tx, TransferId id, TransferState state,
                       const chain::Hash& hash);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::transfers
