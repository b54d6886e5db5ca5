#include "transfers/settlement.hpp"

#include "transfers/rows.hpp"

namespace berth::transfers {
namespace {

constexpr std::string_view find_intents_sql =
    "SELECT transfer_id, kind, account_id, asset, amount, address, address_id, state, tx_hash, "
    "created_at, updated_at FROM (SELECT transfer_id, kind, account_id, asset, amount, address, "
    "address_id, state, tx_hash, created_at, updated_at, "
    "ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY transfer_id) AS turn "
    "FROM transfers WHERE state = 'INTENT') waiting ORDER BY turn, transfer_id LIMIT $1";

constexpr std::string_view list_attempts_sql =
    "SELECT transfer_id, attempt, signer, nonce, fee_max, priority_fee, tx_hash, signed_bytes, "
    "created_at, after_block FROM transfer_attempts WHERE transfer_id = $1 ORDER BY attempt";
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
constexpr std::string_view oldest_open_sql =
    "SELECT MIN(made) FROM ("
    "SELECT MIN(created_at) AS made FROM transfers WHERE state = 'INTENT' UNION ALL "
    "SELECT MIN(created_at) AS made FROM transfers WHERE state = 'SUBMITTED') AS open_ones";
constexpr std::string_view is_new_sql =
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM transfers) "
    "AND NOT EXISTS (SELECT 1 FROM treasury_nonces)";
constexpr std::string_view find_nonce_sql =
    "SELECT next_nonce FROM treasury_nonces WHERE treasury = $1";
constexpr std::string_view take_nonce_sql =
    "UPDATE treasury_nonces SET next_nonce = next_nonce + 1 "
    "WHERE treasury = $1 AND next_nonce >= $2 AND NOT EXISTS "
    "(SELECT 1 FROM settlement_holds WHERE ended_at IS NULL) RETURNING next_nonce - 1";
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
constexpr std::string_view is_known_sql =
    "SELECT COUNT(*) FROM transfer_attempts WHERE tx_hash = $1";
constexpr std::string_view is_foreign_sql =
    "SELECT COUNT(*) FROM foreign_nonces WHERE treasury = $1 AND nonce = $2";
constexpr std::string_view intents_like_sql =
    "SELECT transfer_id, kind, account_id, asset, amount, address, address_id, state, tx_hash, "
    "created_at, updated_at FROM transfers WHERE state = 'INTENT' AND asset = $1 "
    "AND address = $2 AND amount = $3 ORDER BY transfer_id";

constexpr std::string_view find_in_flight_sql =
    "SELECT transfer_id, kind, account_id, asset, amount, address, address_id, state, tx_hash, "
    "created_at, updated_at, nonce, sends, send_at FROM transfers WHERE state = 'SUBMITTED' "
    "AND signer = $1 AND nonce >= $2 AND nonce < $3 ORDER BY nonce LIMIT $4";
constexpr std::string_view find_unsent_sql =
    "SELECT transfer_id, kind, account_id, asset, amount, address, address_id, state, tx_hash, "
    "created_at, updated_at, nonce, sends, send_at FROM transfers WHERE state = 'SUBMITTED' "
    "AND signer = $1 AND nonce >= $2 AND nonce < $3 AND (nonce = $2 OR send_at <= $4) "
    "ORDER BY nonce LIMIT $5";
constexpr std::string_view note_send_sql =
    "UPDATE transfers SET sends = sends + 1, send_at = $2 WHERE transfer_id = $1";
constexpr std::string_view sum_in_flight_sql =
    "SELECT asset, CAST(SUM(amount) AS BIGINT) FROM transfers WHERE state = 'SUBMITTED' "
    "AND signer = $1 AND nonce >= $2 AND nonce < $3 GROUP BY asset";
constexpr std::string_view sum_signed_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM transfers "
    "WHERE signed_at > $1 AND state IN ('SUBMITTED', 'SETTLED')";
constexpr std::string_view sum_signed_of_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM transfers "
    "WHERE signed_at > $1 AND state IN ('SUBMITTED', 'SETTLED') AND account_id = $2";
constexpr std::string_view list_signers_sql =
    "SELECT DISTINCT signer FROM transfers WHERE state = 'SUBMITTED' AND signer IS NOT NULL "
    "ORDER BY signer";
constexpr std::string_view without_attempt_sql =
    "SELECT transfer_id FROM transfers WHERE state = 'SUBMITTED' AND attempts = 0 LIMIT $1";

AttemptRow read_attempt(const db::Result::Row& row) {
    AttemptRow attempt;
    attempt.transfer = row.get<TransferId>(0);
    attempt.attempt = row.get<std::int64_t>(1);
    attempt.signer = get_address(row, 2);
    attempt.nonce = row.get<std::int64_t>(3);
    attempt.fee_max = row.get<std::int64_t>(4);
    attempt.priority_fee = row.get<std::int64_t>(5);
    attempt.hash = get_hash(row, 6);
    attempt.signed_bytes = row.get<Bytes>(7);
    attempt.created_at = row.get<Time>(8);
    attempt.after_block = row.get<std::int64_t>(9);
    return attempt;
}

// With their attempts, which are asked for in one round trip.
std::vector<InFlight> read_in_flight(db::Transaction& tx, const db::Result& rows) {
    std::vector<InFlight> list;
    std::vector<db::Transaction::Ticket> tickets;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        list.push_back({.transfer = read_transfer(rows[i]),
                        .nonce = rows[i].get<std::int64_t>(11),
                        .sends = rows[i].get<std::int64_t>(12),
                        .send_at = rows[i].get<Time>(13)});
        tickets.push_back(tx.start(list_attempts_sql, list.back().transfer.id));
    }
    for (std::size_t i = 0; i < list.size(); ++i)
        list[i].attempts = read_all<AttemptRow>(tx.finish(tickets[i]), read_attempt);
    return list;
}

}  // namespace

std::vector<AttemptRow> list_attempts(db::Transaction& tx, TransferId transfer) {
    return read_all<AttemptRow>(tx.run(list_attempts_sql, transfer), read_attempt);
}

std::vector<TransferRow> find_intents(db::Transaction& tx, std::int64_t rows_max) {
    return read_all<TransferRow>(tx.run(find_intents_sql, rows_max), read_transfer);
}

std::int64_t find_next_nonce(db::Transaction& tx, const crypto::Address& treasury) {
    const auto rows = tx.run(find_nonce_sql, crypto::to_string(treasury));
    return rows.empty() ? 0 : rows[0].get<std::int64_t>(0);
}

std::optional<Time> find_oldest_open(db::Transaction& tx) {
    return tx.run(oldest_open_sql)[0].get<std::optional<Time>>(0);
}

void meet_treasury(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce) {
    if (!tx.run(is_new_sql).empty()) tx.run(add_nonces_sql, crypto::to_string(treasury), nonce);
}

std::optional<std::int64_t> take_nonce(db::Transaction& tx, const crypto::Address& treasury,
                                       std::int64_t least) {
    const std::string name = crypto::to_string(treasury);
    tx.run(add_nonces_sql, name, 0);
    const auto rows = tx.run(take_nonce_sql, name, least);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<std::int64_t>(0));
}

void add_hold(db::Context context, std::string_view why) {
    context.tx.run(add_hold_sql, make_uuid(context.now, context.random), why, context.now);
}

std::optional<std::string> find_hold(db::Transaction& tx) {
    const auto rows = tx.run(find_hold_sql);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<std::string>(0));
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
    const auto rows = tx.run(last_block_sql, crypto::to_string(treasury));
    return rows.empty() ? 0 : rows[0].get<std::int64_t>(0);
}

bool is_known(db::Transaction& tx, const chain::Hash& transaction) {
    return tx.run(is_known_sql, chain::to_string(transaction))[0].get<std::int64_t>(0) > 0;
}

bool is_foreign(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce) {
    return tx.run(is_foreign_sql, crypto::to_string(treasury), nonce)[0].get<std::int64_t>(0) > 0;
}

std::vector<TransferRow> find_intents_like(db::Transaction& tx, Asset asset,
                                           const crypto::Address& address, Micro amount) {
    return read_all<TransferRow>(
        tx.run(intents_like_sql, ledger::name(asset), crypto::to_string(address), amount),
        read_transfer);
}

bool add_attempt(db::Transaction& tx, const AttemptRow& attempt, Time send_again_at) {
    const std::string signer = crypto::to_string(attempt.signer);
    const std::string hash = chain::to_string(attempt.hash);
    const bool ours = tx.run(note_attempt_sql, attempt.transfer, attempt.attempt, hash, signer,
                             attempt.nonce, attempt.created_at, send_again_at)
                          .affected == 1;
    if (!ours) return false;
    tx.run(add_attempt_sql, attempt.transfer, attempt.attempt, signer, attempt.nonce,
           attempt.fee_max, attempt.priority_fee, hash, db::Blob{attempt.signed_bytes},
           attempt.created_at, attempt.after_block);
    return true;
}

std::vector<InFlight> find_in_flight(db::Transaction& tx, const NonceRange& range,
                                     std::int64_t rows_max) {
    return read_in_flight(tx, tx.run(find_in_flight_sql, crypto::to_string(range.signer),
                                     range.first, range.end, rows_max));
}

std::vector<InFlight> find_unsent(db::Transaction& tx, const NonceRange& range, Time now,
                                  std::int64_t rows_max) {
    return read_in_flight(tx, tx.run(find_unsent_sql, crypto::to_string(range.signer), range.first,
                                     range.end, now, rows_max));
}

void note_send(db::Transaction& tx, TransferId transfer, Time send_again_at) {
    tx.run(note_send_sql, transfer, send_again_at);
}

std::array<Micro, ledger::assets.size()> sum_in_flight(db::Transaction& tx,
                                                       const NonceRange& range) {
    std::array<Micro, ledger::assets.size()> sums{};
    const auto rows =
        tx.run(sum_in_flight_sql, crypto::to_string(range.signer), range.first, range.end);
    for (std::size_t i = 0; i < rows.size(); ++i)
        sums[static_cast<std::size_t>(get_asset(rows[i], 0))] = rows[i].get<Micro>(1);
    return sums;
}

Micro sum_signed(db::Transaction& tx, const std::optional<AccountId>& account, Time since) {
    const auto rows = account ? tx.run(sum_signed_of_sql, since, *account)
                              : tx.run(sum_signed_sql, since);
    return rows[0].get<Micro>(0);
}

std::vector<crypto::Address> list_signers(db::Transaction& tx) {
    return read_all<crypto::Address>(
        tx.run(list_signers_sql), [](const db::Result::Row& row) { return get_address(row, 0); });
}

std::vector<TransferId> find_without_attempt(db::Transaction& tx, std::int64_t rows_max) {
    return read_all<TransferId>(
        tx.run(without_attempt_sql, rows_max),
        [](const db::Result::Row& row) { return row.get<TransferId>(0); });
}

}  // namespace berth::transfers
