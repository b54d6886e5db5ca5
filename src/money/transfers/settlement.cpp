#include "transfers/settlement.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "transfers/rows.hpp"
#include "transfers/told.hpp"

namespace berth::transfers {

BOOST_DESCRIBE_STRUCT(AttemptRow, (),
                      (transfer_id, attempt, signer, nonce, fee_max, priority_fee, tx_hash,
                       signed_bytes, created_at, after_block))
BOOST_DESCRIBE_STRUCT(SignedAmount, (), (signed_at, amount))
BOOST_DESCRIBE_STRUCT(KnownTreasury, (), (treasury, next_nonce, retired_at))

namespace {

const db::Query<TransferRow> find_intents_sql(
    "SELECT {} FROM (SELECT transfers.*, "
    "ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY transfer_id) AS turn "
    "FROM transfers WHERE state = 'INTENT') waiting ORDER BY turn, transfer_id LIMIT $1");

const db::Query<AttemptRow> list_attempts_sql(
    "SELECT {} FROM transfer_attempts WHERE transfer_id = $1 ORDER BY attempt");
constexpr std::string_view add_attempt_sql =
    "INSERT INTO transfer_attempts (transfer_id, attempt, signer, nonce, fee_max, priority_fee, "
    "tx_hash, signed_bytes, created_at, after_block) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
// All attempts of a transfer have one signer and nonce; the first one brings them.
constexpr std::string_view note_attempt_sql =
    "UPDATE transfers SET tx_hash = $3, attempts = $2, signer = $4, nonce = $5, "
    "signed_at = COALESCE(signed_at, $6), sends = 1, send_at = $7 "
    "WHERE transfer_id = $1 AND state = 'SUBMITTED' AND attempts = $2 - 1 "
    "AND (signer IS NULL OR (signer = $4 AND nonce = $5))";

constexpr std::string_view add_nonces_sql =
    "INSERT INTO treasury_nonces (treasury, next_nonce) VALUES ($1, $2) "
    "ON CONFLICT (treasury) DO NOTHING";
const db::Query<TransferRow> oldest_intent_sql(
    "SELECT {} FROM transfers WHERE state = 'INTENT' ORDER BY created_at, transfer_id LIMIT 1");
constexpr std::string_view oldest_submitted_sql =
    "SELECT MIN(created_at) FROM transfers WHERE state = 'SUBMITTED'";
constexpr std::string_view count_stranded_sql =
    "SELECT COUNT(*) FROM transfers WHERE state = 'INTENT' "
    "AND (amount > $2 OR (amount > $1 AND kind <> 'return'))";
constexpr std::string_view note_short_sql =
    "UPDATE transfers SET short_of = $2 WHERE transfer_id = $1 AND state = 'INTENT'";
constexpr std::string_view is_new_sql =
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM transfers) "
    "AND NOT EXISTS (SELECT 1 FROM treasury_nonces)";
constexpr std::string_view find_nonce_sql =
    "SELECT next_nonce FROM treasury_nonces WHERE treasury = $1";
const db::Query<KnownTreasury> list_treasuries_sql(
    "SELECT {} FROM treasury_nonces ORDER BY treasury");
constexpr std::string_view retire_sql =
    "UPDATE treasury_nonces SET retired_at = $3, retired_why = $4 "
    "WHERE treasury = $1 AND next_nonce = $2 AND retired_at IS NULL";
constexpr std::string_view take_nonce_sql =
    "UPDATE treasury_nonces SET next_nonce = next_nonce + 1 "
    "WHERE treasury = $1 AND next_nonce >= $2 AND retired_at IS NULL AND NOT EXISTS "
    "(SELECT 1 FROM settlement_holds WHERE ended_at IS NULL) RETURNING next_nonce - 1";
constexpr std::string_view take_turn_sql =
    "UPDATE signing_turns SET taken = taken + 1 WHERE turn = 1";
constexpr std::string_view advance_nonce_sql =
    "UPDATE treasury_nonces SET next_nonce = $3 WHERE treasury = $1 AND next_nonce = $2";

constexpr std::string_view add_hold_sql =
    "INSERT INTO settlement_holds (hold_id, why, created_at, ended_at, ended_why) "
    "VALUES ($1, $2, $3, NULL, NULL)";
constexpr std::string_view find_hold_sql =
    "SELECT why FROM settlement_holds WHERE ended_at IS NULL ORDER BY hold_id LIMIT 1";
constexpr std::string_view end_holds_sql =
    "UPDATE settlement_holds SET ended_at = $1, ended_why = $2 WHERE ended_at IS NULL";
constexpr std::string_view add_foreign_sql =
    "INSERT INTO foreign_nonces (treasury, nonce, tx_hash, why, created_at) "
    "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (treasury, nonce) DO NOTHING";
constexpr std::string_view last_block_sql =
    "SELECT after_block FROM transfer_attempts WHERE signer = $1 "
    "ORDER BY nonce DESC, attempt DESC LIMIT 1";
constexpr std::string_view last_block_of_any_sql =
    "SELECT after_block FROM transfer_attempts ORDER BY created_at DESC LIMIT 1";
constexpr std::string_view is_signed_sql =
    "SELECT COUNT(*) FROM transfer_attempts WHERE signer = $1 AND nonce = $2";
constexpr std::string_view is_known_sql =
    "SELECT COUNT(*) FROM transfer_attempts WHERE tx_hash = $1";
constexpr std::string_view is_foreign_sql =
    "SELECT COUNT(*) FROM foreign_nonces WHERE treasury = $1 AND nonce = $2";
const db::Query<TransferRow> intents_like_sql(
    "SELECT {} FROM transfers "
    "WHERE state = 'INTENT' AND asset = $1 AND address = $2 AND amount = $3 "
    "ORDER BY transfer_id");

struct FlightColumns {
    TransferId transfer_id;
    TransferKind kind{};
    AccountId account_id;
    Asset asset{};
    Micro amount;
    crypto::Address address;
    AddressId address_id;
    TransferState state{};
    std::optional<std::string> tx_hash;
    Time created_at;
    Time updated_at;
    std::optional<std::string> reason;
    std::optional<std::string> deposit_tx;
    std::optional<std::int64_t> deposit_ordinal;
    std::int64_t nonce = 0;
    std::int64_t sends = 0;
    Time send_at;
};
BOOST_DESCRIBE_STRUCT(FlightColumns, (),
                      (transfer_id, kind, account_id, asset, amount, address, address_id, state,
                       tx_hash, created_at, updated_at, reason, deposit_tx, deposit_ordinal, nonce,
                       sends, send_at))
const db::Query<FlightColumns> find_in_flight_sql(
    "SELECT {} FROM transfers WHERE state = 'SUBMITTED' "
    "AND signer = $1 AND nonce >= $2 AND nonce < $3 ORDER BY nonce LIMIT $4");
const db::Query<FlightColumns> find_unsent_sql(
    "SELECT {} FROM transfers WHERE state = 'SUBMITTED' "
    "AND signer = $1 AND nonce >= $2 AND nonce < $3 AND (nonce = $2 OR send_at <= $4) "
    "ORDER BY nonce LIMIT $5");
constexpr std::string_view note_send_sql =
    "UPDATE transfers SET sends = sends + 1, send_at = $2 WHERE transfer_id = $1";
struct FlightSum {
    Asset asset{};
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(FlightSum, (), (asset, amount))
const db::Query<FlightSum> sum_in_flight_sql(
    "SELECT {} FROM (SELECT asset, CAST(SUM(amount) AS BIGINT) AS amount FROM transfers "
    "WHERE state = 'SUBMITTED' AND signer = $1 AND nonce >= $2 AND nonce < $3 "
    "GROUP BY asset) AS sums");
constexpr std::string_view sum_signed_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM transfers "
    "WHERE signed_at > $1 AND state IN ('SUBMITTED', 'SETTLED')";
constexpr std::string_view sum_signed_of_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM transfers "
    "WHERE signed_at > $1 AND state IN ('SUBMITTED', 'SETTLED') AND account_id = $2";
struct AccountSum {
    AccountId account_id;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(AccountSum, (), (account_id, amount))
const db::Query<AccountSum> sum_signed_by_account_sql(
    "SELECT {} FROM (SELECT account_id, CAST(SUM(amount) AS BIGINT) AS amount FROM transfers "
    "WHERE signed_at > $1 AND state IN ('SUBMITTED', 'SETTLED') GROUP BY account_id) AS sums");
const db::Query<SignedAmount> list_signed_amounts_sql(
    "SELECT {} FROM transfers WHERE signed_at > $1 AND state IN ('SUBMITTED', 'SETTLED') "
    "AND account_id = $2 ORDER BY signed_at");
constexpr std::string_view list_signers_sql =
    "SELECT DISTINCT signer FROM transfers WHERE state = 'SUBMITTED' AND signer IS NOT NULL "
    "ORDER BY signer";
constexpr std::string_view without_attempt_sql =
    "SELECT transfer_id FROM transfers WHERE state = 'SUBMITTED' AND attempts = 0 LIMIT $1";

TransferRow transfer_of(FlightColumns& row) {
    return {.transfer_id = row.transfer_id,
            .kind = row.kind,
            .account_id = row.account_id,
            .asset = row.asset,
            .amount = row.amount,
            .address = row.address,
            .address_id = row.address_id,
            .state = row.state,
            .tx_hash = std::move(row.tx_hash),
            .created_at = row.created_at,
            .updated_at = row.updated_at,
            .reason = std::move(row.reason),
            .deposit_tx = std::move(row.deposit_tx),
            .deposit_ordinal = row.deposit_ordinal};
}

// With their attempts, which are asked for in one round trip.
std::vector<InFlight> read_in_flight(db::Transaction& tx, std::vector<FlightColumns> rows) {
    std::vector<InFlight> list;
    std::vector<db::Transaction::Ticket> tickets;
    for (FlightColumns& row : rows) {
        list.push_back({.transfer = transfer_of(row),
                        .nonce = row.nonce,
                        .sends = row.sends,
                        .send_at = row.send_at});
        tickets.push_back(tx.start(list_attempts_sql.sql(), list.back().transfer.transfer_id));
    }
    for (std::size_t i = 0; i < list.size(); ++i)
        list[i].attempts = list_attempts_sql.rows(tx.finish(tickets[i]));
    return list;
}

}  // namespace

std::vector<AttemptRow> list_attempts(db::Transaction& tx, TransferId transfer) {
    return tx.fetch(list_attempts_sql, transfer);
}

std::vector<TransferRow> find_intents(db::Transaction& tx, std::int64_t rows_max) {
    return tx.fetch(find_intents_sql, rows_max);
}

std::int64_t find_next_nonce(db::Transaction& tx, const crypto::Address& treasury) {
    return tx.fetch_value<std::int64_t>(find_nonce_sql, treasury).value_or(0);
}

std::optional<TransferRow> find_oldest_intent(db::Transaction& tx) {
    return tx.fetch_one(oldest_intent_sql);
}

std::optional<Time> find_oldest_submitted(db::Transaction& tx) {
    return tx.fetch_value<std::optional<Time>>(oldest_submitted_sql).value();
}

std::int64_t count_stranded(db::Transaction& tx, const DayCaps& caps) {
    return tx.fetch_value<std::int64_t>(count_stranded_sql, caps.account, caps.all).value();
}

void note_short(db::Transaction& tx, TransferId transfer, ShortOf short_of) {
    tx.run(note_short_sql, transfer, short_of);
}

void meet_treasury(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce) {
    if (!tx.run(is_new_sql).empty()) tx.run(add_nonces_sql, crypto::to_string(treasury), nonce);
}

std::optional<std::int64_t> take_nonce(db::Transaction& tx, const crypto::Address& treasury,
                                       std::int64_t least) {
    tx.run(add_nonces_sql, treasury, 0);
    return tx.fetch_value<std::int64_t>(take_nonce_sql, treasury, least);
}

std::vector<KnownTreasury> list_treasuries(db::Transaction& tx) {
    std::vector<KnownTreasury> list = tx.fetch(list_treasuries_sql);
    for (const funding::Watched& watched : funding::list_watched(tx))
        if (std::ranges::find(list, watched.treasury, &KnownTreasury::treasury) == list.end())
            list.push_back({.treasury = watched.treasury});
    return list;
}

bool retire_treasury(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce,
                     std::string_view why, Time now) {
    tx.run(add_nonces_sql, treasury, 0);
    return tx.run(retire_sql, treasury, nonce, now, why).affected == 1;
}

void take_signing_turn(db::Transaction& tx) {
    require(tx.run(take_turn_sql).affected == 1, "there is a turn to take");
}

void add_hold(db::Context context, std::string_view why) {
    context.tx.run(add_hold_sql, make_uuid(context.now, context.random), why, context.now);
    events::tell_operators(context, operations_settlement_held, "all",
                           SettlementHeldFacts{events::in_brief(why)});
}

std::optional<std::string> find_hold(db::Transaction& tx) {
    return tx.fetch_value<std::string>(find_hold_sql);
}

void end_holds(db::Transaction& tx, Time now, std::string_view why) {
    tx.run(end_holds_sql, now, why);
}

void add_foreign_nonce(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce,
                       const std::optional<chain::Hash>& transaction, std::string_view why,
                       Time now) {
    const auto hash = transaction ? std::optional(chain::to_string(*transaction)) : std::nullopt;
    tx.run(add_foreign_sql, crypto::to_string(treasury), nonce, hash, why, now);
}

bool advance_nonce(db::Transaction& tx, const crypto::Address& treasury, std::int64_t from,
                   std::int64_t to) {
    const std::string name = crypto::to_string(treasury);
    tx.run(add_nonces_sql, name, 0);
    return tx.run(advance_nonce_sql, name, from, to).affected == 1;
}

std::int64_t last_known_block(db::Transaction& tx, const crypto::Address& treasury) {
    if (const auto own = tx.fetch_value<std::int64_t>(last_block_sql, treasury)) return *own;
    // Books are complete up to the last thing they know: what it signed is later than that.
    return tx.fetch_value<std::int64_t>(last_block_of_any_sql).value_or(0);
}

bool is_known(db::Transaction& tx, const chain::Hash& transaction) {
    return tx.fetch_value<std::int64_t>(is_known_sql, transaction).value() > 0;
}

bool is_foreign(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce) {
    return tx.fetch_value<std::int64_t>(is_foreign_sql, treasury, nonce).value() > 0;
}

bool is_signed(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce) {
    return tx.fetch_value<std::int64_t>(is_signed_sql, treasury, nonce).value() > 0;
}

bool is_accounted_for(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce) {
    return is_foreign(tx, treasury, nonce) || is_signed(tx, treasury, nonce);
}

std::vector<TransferRow> find_intents_like(db::Transaction& tx, Asset asset,
                                           const crypto::Address& address, Micro amount) {
    return tx.fetch(intents_like_sql, asset, address, amount);
}

bool add_attempt(db::Transaction& tx, const AttemptRow& attempt, Time send_again_at) {
    const std::string signer = crypto::to_string(attempt.signer);
    const std::string hash = chain::to_string(attempt.tx_hash);
    const bool ours = tx.run(note_attempt_sql, attempt.transfer_id, attempt.attempt, hash, signer,
                             attempt.nonce, attempt.created_at, send_again_at)
                          .affected == 1;
    if (!ours) return false;
    tx.run(add_attempt_sql, attempt.transfer_id, attempt.attempt, signer, attempt.nonce,
           attempt.fee_max, attempt.priority_fee, hash, db::Blob{attempt.signed_bytes},
           attempt.created_at, attempt.after_block);
    return true;
}

std::vector<InFlight> find_in_flight(db::Transaction& tx, const NonceRange& range,
                                     std::int64_t rows_max) {
    return read_in_flight(
        tx, tx.fetch(find_in_flight_sql, range.signer, range.first, range.end, rows_max));
}

std::vector<InFlight> find_unsent(db::Transaction& tx, const NonceRange& range, Time now,
                                  std::int64_t rows_max) {
    return read_in_flight(
        tx, tx.fetch(find_unsent_sql, range.signer, range.first, range.end, now, rows_max));
}

void note_send(db::Transaction& tx, TransferId transfer, Time send_again_at) {
    tx.run(note_send_sql, transfer, send_again_at);
}

std::array<Micro, ledger::assets.size()> sum_in_flight(db::Transaction& tx,
                                                       const NonceRange& range) {
    std::array<Micro, ledger::assets.size()> sums{};
    for (const FlightSum& sum : tx.fetch(sum_in_flight_sql, range.signer, range.first, range.end))
        sums[static_cast<std::size_t>(sum.asset)] = sum.amount;
    return sums;
}

Micro sum_signed(db::Transaction& tx, const std::optional<AccountId>& account, Time since) {
    const auto sum = account ? tx.fetch_value<Micro>(sum_signed_of_sql, since, *account)
                             : tx.fetch_value<Micro>(sum_signed_sql, since);
    return sum.value();
}

std::map<AccountId, Micro> sum_signed_by_account(db::Transaction& tx, Time since) {
    std::map<AccountId, Micro> sums;
    for (const AccountSum& sum : tx.fetch(sum_signed_by_account_sql, since))
        sums[sum.account_id] = sum.amount;
    return sums;
}

std::vector<SignedAmount> list_signed_amounts(db::Transaction& tx, AccountId account, Time since) {
    return tx.fetch(list_signed_amounts_sql, since, account);
}

std::vector<crypto::Address> list_signers(db::Transaction& tx) {
    return tx.fetch_values<crypto::Address>(list_signers_sql);
}

std::vector<TransferId> find_without_attempt(db::Transaction& tx, std::int64_t rows_max) {
    return tx.fetch_values<TransferId>(without_attempt_sql, rows_max);
}

}  // namespace berth::transfers
