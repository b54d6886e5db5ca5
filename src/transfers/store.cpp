#include <fmt/format.h>

#include "transfers/evidence.hpp"
#include "transfers/rows.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {
namespace {

constexpr std::string_view find_address_sql =
    "SELECT address_id, account_id, address, label, state, created_at, confirmed_at, expires_at, "
    "last_used_at FROM withdrawal_addresses "
    "WHERE account_id = $1 AND network = 'base' AND address = $2";
constexpr std::string_view find_address_by_id_sql =
    "SELECT address_id, account_id, address, label, state, created_at, confirmed_at, expires_at, "
    "last_used_at FROM withdrawal_addresses WHERE address_id = $2 AND account_id = $1";
constexpr std::string_view list_addresses_sql =
    "SELECT address_id, account_id, address, label, state, created_at, confirmed_at, expires_at, "
    "last_used_at FROM withdrawal_addresses WHERE account_id = $1 ORDER BY created_at, address_id";
// The newest wish counts: its label and its end.
constexpr std::string_view put_address_sql =
    "INSERT INTO withdrawal_addresses (address_id, account_id, network, address, label, state, "
    "created_at, confirmed_at, expires_at, last_used_at) "
    "VALUES ($1, $2, 'base', $3, $4, 'AWAITING_EMAIL_CONFIRMATION', $5, NULL, $6, NULL) "
    "ON CONFLICT (account_id, network, address) DO UPDATE SET label = $4, expires_at = $6 "
    "WHERE withdrawal_addresses.state = 'AWAITING_EMAIL_CONFIRMATION' RETURNING address_id";
constexpr std::string_view save_own_address_sql =
    "INSERT INTO withdrawal_addresses (address_id, account_id, network, address, label, state, "
    "created_at, confirmed_at, expires_at, last_used_at) "
    "VALUES ($1, $2, 'base', $3, NULL, 'SAVED', $4, $4, NULL, NULL) "
    "ON CONFLICT (account_id, network, address) DO NOTHING";
constexpr std::string_view save_address_sql =
    "UPDATE withdrawal_addresses SET state = 'SAVED', confirmed_at = COALESCE(confirmed_at, $2), "
    "expires_at = NULL WHERE address_id = $1";
constexpr std::string_view use_address_sql =
    "UPDATE withdrawal_addresses SET last_used_at = $2 WHERE address_id = $1";
constexpr std::string_view delete_address_sql =
    "DELETE FROM withdrawal_addresses WHERE address_id = $1";

constexpr std::string_view delete_expired_address_sql =
    "DELETE FROM withdrawal_addresses WHERE address_id = $1 "
    "AND state = 'AWAITING_EMAIL_CONFIRMATION' AND expires_at <= $2";

constexpr std::string_view add_confirmation_sql =
    "INSERT INTO confirmations (confirmation_id, account_id, address_id, transfer_id, token_hash, "
    "expires_at) VALUES ($1, $2, $3, $4, $5, $6)";
// Spending deletes the row: there is nothing left that could be spent again.
constexpr std::string_view spend_confirmation_sql =
    "DELETE FROM confirmations WHERE confirmation_id = $1 AND token_hash = $2 "
    "RETURNING confirmation_id, account_id, address_id, transfer_id, token_hash, expires_at";
constexpr std::string_view expired_confirmations_sql =
    "SELECT confirmation_id, account_id, address_id, transfer_id, token_hash, expires_at "
    "FROM confirmations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2";
constexpr std::string_view address_confirmations_sql =
    "SELECT confirmation_id, account_id, address_id, transfer_id, token_hash, expires_at "
    "FROM confirmations WHERE address_id = $1";
constexpr std::string_view delete_confirmation_sql =
    "DELETE FROM confirmations WHERE confirmation_id = $1";

constexpr std::string_view count_confirmations_sql =
    "SELECT COUNT(*) FROM confirmations WHERE account_id = $1 AND expires_at > $2";

constexpr std::string_view add_transfer_sql =
    "INSERT INTO transfers (transfer_id, kind, account_id, asset, amount, address, address_id, "
    "state, tx_hash, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, $9, $9)";
constexpr std::string_view find_transfer_sql =
    "SELECT transfer_id, kind, account_id, asset, amount, address, address_id, state, tx_hash, "
    "created_at, updated_at FROM transfers WHERE transfer_id = $1";
constexpr std::string_view list_transfers_sql =
    "SELECT transfer_id, kind, account_id, asset, amount, address, address_id, state, tx_hash, "
    "created_at, updated_at FROM transfers WHERE account_id = $1 AND kind = $2 "
    "AND transfer_id < $3 ORDER BY transfer_id DESC LIMIT $4";
constexpr std::string_view count_open_transfers_sql =
    "SELECT COUNT(*) FROM transfers WHERE account_id = $1 "
    "AND state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED')";
constexpr std::string_view find_payment_sql =
    "SELECT tx_hash FROM transfers WHERE transfer_id = $1 AND state IN ('SETTLED', 'FAILED') "
    "AND tx_hash IS NOT NULL";
constexpr std::string_view move_transfer_sql =
    "UPDATE transfers SET state = $3, updated_at = $4 WHERE transfer_id = $1 AND state = $2";
constexpr std::string_view set_hash_sql =
    "UPDATE transfers SET tx_hash = $3 WHERE transfer_id = $1 AND state = $2";


AddressRow read_address(const db::Result::Row& row) {
    AddressRow address;
    address.id = row.get<AddressId>(0);
    address.account = row.get<AccountId>(1);
    address.address = get_address(row, 2);
    address.label = row.get<std::optional<std::string>>(3);
    address.state = get_state<AddressState>(row, 4);
    address.created_at = row.get<Time>(5);
    address.confirmed_at = row.get<std::optional<Time>>(6);
    address.expires_at = row.get<std::optional<Time>>(7);
    address.last_used_at = row.get<std::optional<Time>>(8);
    return address;
}

ConfirmationRow read_confirmation(const db::Result::Row& row) {
    return {row.get<ConfirmationId>(0), row.get<AccountId>(1), row.get<AddressId>(2),
            row.get<std::optional<TransferId>>(3), row.get<Bytes>(4), row.get<Time>(5)};
}

}  // namespace

std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account,
                                       const crypto::Address& address) {
    const auto rows = tx.run(find_address_sql, account, crypto::to_string(address));
    return rows.empty() ? std::nullopt : std::optional(read_address(rows[0]));
}

std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account, AddressId id) {
    const auto rows = tx.run(find_address_by_id_sql, account, id);
    return rows.empty() ? std::nullopt : std::optional(read_address(rows[0]));
}

std::vector<AddressRow> list_addresses(db::Transaction& tx, AccountId account) {
    return read_all<AddressRow>(tx.run(list_addresses_sql, account), read_address);
}

AddressId put_waiting_address(db::Transaction& tx, const AddressRow& address) {
    const auto rows =
        tx.run(put_address_sql, address.id, address.account, crypto::to_string(address.address),
               address.label, address.created_at, address.expires_at);
    // Saved at this very moment by another request: the next try will find it so.
    if (rows.empty()) throw db::Unavailable("the address is being saved");
    return rows[0].get<AddressId>(0);
}

void save_own_address(db::Transaction& tx, AddressId id, AccountId account,
                      const crypto::Address& address, Time now) {
    tx.run(save_own_address_sql, id, account, crypto::to_string(address), now);
}

bool save_address(db::Transaction& tx, AddressId id, Time now) {
    return tx.run(save_address_sql, id, now).affected == 1;
}

void note_address_use(db::Transaction& tx, AddressId id, Time now) {
    tx.run(use_address_sql, id, now);
}

void delete_address(db::Transaction& tx, AddressId id) { tx.run(delete_address_sql, id); }

void delete_expired_address(db::Transaction& tx, AddressId id, Time now) {
    tx.run(delete_expired_address_sql, id, now);
}

void add_confirmation(db::Transaction& tx, const ConfirmationRow& confirmation) {
    tx.run(add_confirmation_sql, confirmation.id, confirmation.account, confirmation.address,
           confirmation.transfer, db::Blob{confirmation.token_hash}, confirmation.expires_at);
}

std::optional<ConfirmationRow> spend_confirmation(db::Transaction& tx, ConfirmationId id,
                                                  std::string_view token_hash) {
    const auto rows = tx.run(spend_confirmation_sql, id, db::Blob{token_hash});
    return rows.empty() ? std::nullopt : std::optional(read_confirmation(rows[0]));
}

std::vector<ConfirmationRow> find_expired_confirmations(db::Transaction& tx, Time now,
                                                        std::int64_t rows_max) {
    return read_all<ConfirmationRow>(tx.run(expired_confirmations_sql, now, rows_max),
                                     read_confirmation);
}

std::vector<ConfirmationRow> find_confirmations(db::Transaction& tx, AddressId address) {
    return read_all<ConfirmationRow>(tx.run(address_confirmations_sql, address), read_confirmation);
}

bool delete_confirmation(db::Transaction& tx, ConfirmationId id) {
    return tx.run(delete_confirmation_sql, id).affected == 1;
}

std::int64_t count_confirmations(db::Transaction& tx, AccountId account, Time after) {
    return tx.run(count_confirmations_sql, account, after)[0].get<std::int64_t>(0);
}

void add_transfer(db::Transaction& tx, const TransferRow& transfer) {
    tx.run(add_transfer_sql, transfer.id, state_name(transfer.kind), transfer.account,
           ledger::name(transfer.asset), transfer.amount, crypto::to_string(transfer.address),
           transfer.address_id, state_name(transfer.state), transfer.created_at);
}

std::optional<TransferRow> find_transfer(db::Transaction& tx, TransferId id) {
    const auto rows = tx.run(find_transfer_sql, id);
    return rows.empty() ? std::nullopt : std::optional(read_transfer(rows[0]));
}

std::vector<TransferRow> list_transfers(db::Transaction& tx, AccountId account, TransferKind kind,
                                        const std::optional<TransferId>& before,
                                        std::int64_t rows_max) {
    TransferId last;
    last.uuid.bytes.fill('\xff');
    return read_all<TransferRow>(tx.run(list_transfers_sql, account, state_name(kind),
                                        before.value_or(last), rows_max),
                                 read_transfer);
}

std::int64_t count_open_transfers(db::Transaction& tx, AccountId account) {
    return tx.run(count_open_transfers_sql, account)[0].get<std::int64_t>(0);
}

std::map<TransferId, std::string> find_payments(db::Transaction& tx,
                                                std::span<const TransferId> transfers) {
    std::vector<db::Transaction::Ticket> tickets;
    for (const TransferId transfer : transfers)
        tickets.push_back(tx.start(find_payment_sql, transfer));
    std::map<TransferId, std::string> payments;
    for (std::size_t i = 0; i < transfers.size(); ++i)
        if (auto hash = db::read_value<std::string>(tx.finish(tickets[i])))
            payments[transfers[i]] = std::move(*hash);
    return payments;
}

bool move_transfer(db::Transaction& tx, TransferId id, const Step& step, Time now) {
    return tx.run(move_transfer_sql, id, state_name(step.from), state_name(step.to), now)
               .affected == 1;
}

bool set_transfer_hash(db::Transaction& tx, TransferId id, TransferState state,
                       const chain::Hash& hash) {
    return tx.run(set_hash_sql, id, state_name(state), chain::to_string(hash)).affected == 1;
}

}  // namespace berth::transfers
