#include <fmt/format.h>

#include "audit/audit.hpp"
#include "transfers/evidence.hpp"
#include "transfers/rows.hpp"
#include "transfers/told.hpp"

namespace berth::transfers {

BOOST_DESCRIBE_STRUCT(AddressRow, (),
                      (address_id, account_id, address, label, state, created_at, confirmed_at,
                       expires_at, last_used_at, cools))
BOOST_DESCRIBE_STRUCT(ConfirmationRow, (),
                      (confirmation_id, account_id, address_id, transfer_id, token_hash,
                       expires_at))
BOOST_DESCRIBE_STRUCT(LateCount, (), (count, oldest))

namespace {

const db::Query<AddressRow> find_address_sql(
    "SELECT {} FROM withdrawal_addresses "
    "WHERE account_id = $1 AND network = 'base' AND address = $2");
const db::Query<AddressRow> find_address_by_id_sql(
    "SELECT {} FROM withdrawal_addresses WHERE address_id = $2 AND account_id = $1");
const db::Query<AddressRow> list_addresses_sql(
    "SELECT {} FROM withdrawal_addresses WHERE account_id = $1 ORDER BY created_at, address_id");
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
    "UPDATE withdrawal_addresses SET state = 'SAVED', "
    "cools = CASE WHEN confirmed_at IS NULL THEN $3 ELSE cools END, "
    "confirmed_at = COALESCE(confirmed_at, $2), expires_at = NULL WHERE address_id = $1";
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
const db::Query<ConfirmationRow> spend_confirmation_sql(
    "DELETE FROM confirmations WHERE confirmation_id = $1 AND token_hash = $2 RETURNING {}");
const db::Query<ConfirmationRow> expired_confirmations_sql(
    "SELECT {} FROM confirmations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2");
const db::Query<ConfirmationRow> address_confirmations_sql(
    "SELECT {} FROM confirmations WHERE address_id = $1");
constexpr std::string_view delete_confirmation_sql =
    "DELETE FROM confirmations WHERE confirmation_id = $1";

constexpr std::string_view count_confirmations_sql =
    "SELECT COUNT(*) FROM confirmations WHERE account_id = $1 AND expires_at > $2";

constexpr std::string_view add_transfer_sql =
    "INSERT INTO transfers (transfer_id, kind, account_id, asset, amount, address, address_id, "
    "state, tx_hash, created_at, updated_at, deposit_tx, deposit_ordinal) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, $9, $9, $10, $11)";
const db::Query<TransferRow> find_transfer_sql("SELECT {} FROM transfers WHERE transfer_id = $1");
// At most one of them is not called off.
const db::Query<TransferRow> find_return_sql(
    "SELECT {} FROM transfers WHERE deposit_tx = $1 AND deposit_ordinal = $2 "
    "AND kind = 'return' AND state IN ('INTENT', 'SUBMITTED', 'SETTLED')");
const db::Query<TransferRow> list_transfers_sql(
    "SELECT {} FROM transfers WHERE account_id = $1 AND kind = $2 AND transfer_id < $3 "
    "ORDER BY transfer_id DESC LIMIT $4");
constexpr std::string_view filters_of_all =
    "AND (kind = $3 OR $3 IS NULL) AND (state = $4 OR $4 IS NULL) AND (asset = $5 OR $5 IS NULL) "
    "AND (created_at >= $6 OR $6 IS NULL) AND (created_at < $7 OR $7 IS NULL) "
    "AND ($8 IS NULL OR (held_why IS NULL) <> ($8 = 1)) ORDER BY transfer_id DESC LIMIT $9";
// An account, an address and a state that few are in have an index each, so they have statements of
// their own.
db::Query<TransferRow> all_transfers(std::string_view which) {
    return db::Query<TransferRow>(fmt::format(
        "SELECT {{}} FROM transfers WHERE transfer_id < $1 {} {}", which, filters_of_all));
}
const auto list_all_sql = all_transfers("AND $2 IS NULL AND $10 IS NULL");
// Both conditions are spelled as those of the index.
const auto list_of_state_sql = all_transfers(
    "AND $2 IS NULL AND $10 IS NULL AND state = $4 AND state <> 'SETTLED' "
    "AND transfer_id IS NOT NULL");
// What is held back are a few among all.
const auto list_held_sql = all_transfers("AND $2 IS NULL AND $10 IS NULL AND held_why IS NOT NULL");
const auto list_of_account_sql = all_transfers("AND account_id = $2 AND $10 IS NULL");
const auto list_of_address_sql =
    all_transfers("AND (account_id = $2 OR $2 IS NULL) AND address = $10");
// The condition is spelled as that of the index of open ones.
const std::string are_late_sql =
    "WHERE state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED') "
    "AND state <> 'AWAITING_EMAIL_CONFIRMATION' AND (created_at <= $1 OR held_why IS NOT NULL) ";
const db::Query<TransferRow> list_late_sql("SELECT {} FROM transfers " + are_late_sql +
                                           "AND (transfer_id > $2 OR $2 IS NULL) "
                                           "ORDER BY transfer_id LIMIT $3");
const db::Query<LateCount> count_late_sql(
    "SELECT {} FROM (SELECT COUNT(*) AS count, MIN(created_at) AS oldest FROM "
    "(SELECT created_at FROM transfers " +
    are_late_sql + "LIMIT $2) AS late) AS counted");
// Who held it first does not let go alone what another has held since: then it is nobody's.
constexpr std::string_view hold_back_sql =
    "UPDATE transfers SET held_why = $2, held_by = CASE WHEN held_why IS NULL THEN $3 "
    "WHEN held_by <> $3 THEN NULL ELSE held_by END "
    "WHERE transfer_id = $1 AND state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT')";
constexpr std::string_view release_held_sql =
    "UPDATE transfers SET held_why = NULL WHERE transfer_id = $1 AND held_why IS NOT NULL "
    "AND (held_by = $2 OR $2 IS NULL) AND state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT')";
constexpr std::string_view was_held_by_sql =
    "SELECT 1 FROM transfers WHERE transfer_id = $1 AND held_why IS NOT NULL AND held_by = $2";
constexpr std::string_view count_open_transfers_sql =
    "SELECT COUNT(*) FROM transfers WHERE account_id = $1 "
    "AND state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED')";
constexpr std::string_view find_payment_sql =
    "SELECT tx_hash FROM transfers WHERE transfer_id = $1 AND state IN ('SETTLED', 'FAILED') "
    "AND tx_hash IS NOT NULL";
const db::Query<TransferRow> move_transfer_sql(
    "UPDATE transfers SET state = $3, updated_at = $4, reason = $5 "
    "WHERE transfer_id = $1 AND state = $2 AND ($6 = 0 OR held_why IS NULL) RETURNING {}");
constexpr std::string_view set_hash_sql =
    "UPDATE transfers SET tx_hash = $3 WHERE transfer_id = $1 AND state = $2";

constexpr std::string_view knows_attempt_sql =
    "SELECT 1 FROM transfer_attempts WHERE tx_hash = $1 LIMIT 1";
constexpr std::string_view knows_own_attempt_sql =
    "SELECT 1 FROM transfer_attempts a JOIN transfers t ON t.transfer_id = a.transfer_id "
    "WHERE a.tx_hash = $1 AND t.account_id = $2 LIMIT 1";
const db::Query<SignedTransfer> list_signed_sql(
    "SELECT {} FROM (SELECT t.account_id, t.asset, t.amount, a.tx_hash FROM transfers t "
    "JOIN transfer_attempts a ON a.transfer_id = t.transfer_id "
    "WHERE t.state = 'SUBMITTED') signed_ones");

}  // namespace

std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account,
                                       const crypto::Address& address) {
    return tx.fetch_one(find_address_sql, account, address);
}

std::optional<AddressRow> find_address(db::Transaction& tx, AccountId account, AddressId id) {
    return tx.fetch_one(find_address_by_id_sql, account, id);
}

std::vector<AddressRow> list_addresses(db::Transaction& tx, AccountId account) {
    return tx.fetch(list_addresses_sql, account);
}

AddressId put_waiting_address(db::Transaction& tx, const AddressRow& address) {
    const auto id = tx.fetch_value<AddressId>(put_address_sql, address.address_id,
                                              address.account_id, address.address, address.label,
                                              address.created_at, address.expires_at);
    // Saved at this very moment by another request: the next try will find it so.
    if (!id) throw db::Unavailable("the address is being saved");
    return *id;
}

void record_address(db::Context context, AddressChange change, AccountId account, AddressId id,
                    const crypto::Address& address) {
    const bool saved = change == AddressChange::saved;
    const std::string text = crypto::checksummed(address);
    audit::record(context, {.actor = audit::Actor::of(account),
                            .action = saved ? "save_address" : "remove_address",
                            .target = {"withdrawal_address", to_string(id)},
                            .changes = {{"address", saved ? std::nullopt : std::optional(text),
                                         saved ? std::optional(text) : std::nullopt}}});
}

void save_own_address(db::Context context, AccountId account, const crypto::Address& address) {
    if (const auto known = find_address(context.tx, account, address);
        known && known->state == AddressState::SAVED)
        return;
    const auto id = AddressId::make(context.now, context.random);
    context.tx.run(save_own_address_sql, id, account, crypto::to_string(address), context.now);
    record_address(context, AddressChange::saved, account, id, address);
}

bool save_address(db::Transaction& tx, const SavedAddress& address) {
    return tx.run(save_address_sql, address.address_id, address.now, address.cools).affected == 1;
}

void note_address_use(db::Transaction& tx, AddressId id, Time now) {
    tx.run(use_address_sql, id, now);
}

void delete_address(db::Transaction& tx, AddressId id) { tx.run(delete_address_sql, id); }

void delete_expired_address(db::Transaction& tx, AddressId id, Time now) {
    tx.run(delete_expired_address_sql, id, now);
}

void add_confirmation(db::Transaction& tx, const ConfirmationRow& confirmation) {
    tx.run(add_confirmation_sql, confirmation.confirmation_id, confirmation.account_id,
           confirmation.address_id, confirmation.transfer_id, db::Blob{confirmation.token_hash},
           confirmation.expires_at);
}

std::optional<ConfirmationRow> spend_confirmation(db::Transaction& tx, ConfirmationId id,
                                                  std::string_view token_hash) {
    return tx.fetch_one(spend_confirmation_sql, id, db::Blob{token_hash});
}

std::vector<ConfirmationRow> find_expired_confirmations(db::Transaction& tx, Time now,
                                                        std::int64_t rows_max) {
    return tx.fetch(expired_confirmations_sql, now, rows_max);
}

std::vector<ConfirmationRow> find_confirmations(db::Transaction& tx, AddressId address) {
    return tx.fetch(address_confirmations_sql, address);
}

bool delete_confirmation(db::Transaction& tx, ConfirmationId id) {
    return tx.run(delete_confirmation_sql, id).affected == 1;
}

std::int64_t count_confirmations(db::Transaction& tx, AccountId account, Time after) {
    return tx.fetch_value<std::int64_t>(count_confirmations_sql, account, after).value();
}

void add_transfer(db::Transaction& tx, const TransferRow& transfer) {
    tx.run(add_transfer_sql, transfer.transfer_id, transfer.kind, transfer.account_id,
           transfer.asset, transfer.amount, transfer.address, transfer.address_id, transfer.state,
           transfer.created_at, transfer.deposit_tx, transfer.deposit_ordinal);
}

std::optional<TransferRow> find_transfer(db::Transaction& tx, TransferId id) {
    return tx.fetch_one(find_transfer_sql, id);
}

std::optional<TransferRow> find_return(db::Transaction& tx, const funding::DepositMark& deposit) {
    return tx.fetch_one(find_return_sql, deposit.transaction, deposit.ordinal);
}

std::vector<TransferRow> list_transfers(db::Transaction& tx, AccountId account, TransferKind kind,
                                        const std::optional<TransferId>& before,
                                        std::int64_t rows_max) {
    TransferId last;
    last.uuid.bytes.fill('\xff');
    return tx.fetch(list_transfers_sql, account, kind, before.value_or(last), rows_max);
}

std::vector<TransferRow> list_transfers_like(db::Transaction& tx, const TransferFilter& filter,
                                             const std::optional<TransferId>& before,
                                             std::int64_t rows_max) {
    TransferId last;
    last.uuid.bytes.fill('\xff');
    const bool is_of_few = filter.state && *filter.state != TransferState::SETTLED;
    const bool is_held = filter.held.value_or(false);
    const auto& which = filter.address   ? list_of_address_sql
                        : filter.account ? list_of_account_sql
                        : is_held        ? list_held_sql
                        : is_of_few      ? list_of_state_sql
                                         : list_all_sql;
    return tx.fetch(which, before.value_or(last), filter.account, filter.kind, filter.state,
                    filter.asset, filter.since, filter.until, filter.held, rows_max,
                    filter.address);
}

std::vector<TransferRow> list_late_transfers(db::Transaction& tx, Time asked_before,
                                             const std::optional<TransferId>& after,
                                             std::int64_t rows_max) {
    return tx.fetch(list_late_sql, asked_before, after, rows_max);
}

LateCount count_late_transfers(db::Transaction& tx, Time asked_before, std::int64_t rows_max) {
    return tx.fetch_one(count_late_sql, asked_before, rows_max).value();
}

bool hold_back(db::Transaction& tx, TransferId id, const std::string& why,
               const std::optional<AccountId>& by) {
    return tx.run(hold_back_sql, id, why, by).affected == 1;
}

bool release_held(db::Transaction& tx, TransferId id, const std::optional<AccountId>& only_of) {
    return tx.run(release_held_sql, id, only_of).affected == 1;
}

bool was_held_by(db::Transaction& tx, TransferId id, AccountId by) {
    return !tx.run(was_held_by_sql, id, by).empty();
}

std::int64_t count_open_transfers(db::Transaction& tx, AccountId account) {
    return tx.fetch_value<std::int64_t>(count_open_transfers_sql, account).value();
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

bool move_transfer(const db::Context& context, TransferId id, const Step& step) {
    const auto reason = step.reason.empty() ? std::nullopt : std::optional(step.reason);
    const auto moved = context.tx.fetch_one(move_transfer_sql, id, step.from, step.to, context.now,
                                            reason, step.unless_held);
    if (moved) tell(context, *moved, step.tx_hash);
    return moved.has_value();
}

bool set_transfer_hash(db::Transaction& tx, TransferId id, TransferState state,
                       const chain::Hash& hash) {
    return tx.run(set_hash_sql, id, state, hash).affected == 1;
}

bool knows_attempt(db::Transaction& tx, const std::string& transaction) {
    return !tx.run(knows_attempt_sql, transaction).empty();
}

bool knows_attempt(db::Transaction& tx, AccountId account, const std::string& transaction) {
    return !tx.run(knows_own_attempt_sql, transaction, account).empty();
}

std::vector<SignedTransfer> list_signed(db::Transaction& tx) { return tx.fetch(list_signed_sql); }

}  // namespace berth::transfers
