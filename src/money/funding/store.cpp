#include <fmt/format.h>

#include "base/check.hpp"
#include "crypto/hash.hpp"
#include "funding/store.hpp"

namespace berth::funding {

BOOST_DESCRIBE_STRUCT(IntentRow, (),
                      (intent_id, account_id, binding_id, binding_version, wallet, asset, token,
                       treasury, amount, state, exception, created_at, expires_at, claim_tx,
                       claim_log_index, confirmed_at))

namespace {

constexpr std::size_t hash_digits = 12;  // of a transaction, before all else in a deposit's name

constexpr std::string_view add_intent_sql =
    "INSERT INTO funding_intents (intent_id, account_id, binding_id, binding_version, wallet, "
    "asset, token, treasury, amount, state, exception, created_at, expires_at, claim_tx, "
    "claim_log_index, confirmed_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'OPEN', NULL, $10, $11, NULL, NULL, NULL)";
const db::Query<IntentRow> find_intent_sql("SELECT {} FROM funding_intents WHERE intent_id = $1");
const db::Query<IntentRow> list_intents_sql(
    "SELECT {} FROM funding_intents WHERE account_id = $1 AND intent_id < $2 "
    "ORDER BY intent_id DESC LIMIT $3");
constexpr std::string_view confirm_intent_sql =
    "UPDATE funding_intents SET state = 'CONFIRMED', exception = NULL, claim_tx = $2, "
    "claim_log_index = $3, confirmed_at = $4 WHERE intent_id = $1 AND state IN ('OPEN', "
    "'EXCEPTION')";
constexpr std::string_view set_exception_sql =
    "UPDATE funding_intents SET state = 'EXCEPTION', exception = $2 "
    "WHERE intent_id = $1 AND state IN ('OPEN', 'EXCEPTION')";
constexpr std::string_view cancel_intent_sql =
    "UPDATE funding_intents SET state = 'CANCELLED' "
    "WHERE intent_id = $1 AND state IN ('OPEN', 'EXCEPTION')";
constexpr std::string_view oldest_intent_sql =
    "SELECT MIN(created_at) FROM funding_intents "
    "WHERE treasury = $1 AND state IN ('OPEN', 'EXCEPTION') AND expires_at > $2";

constexpr std::string_view put_pending_claim_sql =
    "INSERT INTO pending_claims (intent_id, tx_hash, log_index, claimed_at, until, looked_at) "
    "VALUES ($1, $2, $3, $4, $5, $4) ON CONFLICT (intent_id) DO UPDATE SET "
    "looked_at = CASE WHEN pending_claims.tx_hash = $2 THEN pending_claims.looked_at ELSE $4 END, "
    "claimed_at = CASE WHEN pending_claims.tx_hash = $2 THEN pending_claims.claimed_at "
    "ELSE $4 END, tx_hash = $2, log_index = $3, until = $5";
constexpr std::string_view delete_pending_claim_sql =
    "DELETE FROM pending_claims WHERE intent_id = $1";
struct ClaimColumns {
    IntentId intent_id;
    chain::Hash tx_hash;
    std::int64_t log_index = 0;
    Time until;
    Time claimed_at;
};
BOOST_DESCRIBE_STRUCT(ClaimColumns, (), (intent_id, tx_hash, log_index, until, claimed_at))
PendingClaim claim_of(const ClaimColumns& row) {
    return {.intent = row.intent_id,
            .transaction = row.tx_hash,
            .log_index = row.log_index,
            .until = row.until,
            .claimed_at = row.claimed_at};
}
// looked_at is when the next look is due.
const db::Query<ClaimColumns> find_pending_claims_sql(
    "SELECT {} FROM pending_claims WHERE looked_at <= $1 ORDER BY looked_at, intent_id LIMIT $2");
const db::Query<ClaimColumns> find_pending_claim_sql(
    "SELECT {} FROM pending_claims WHERE intent_id = $1");
constexpr std::string_view prune_intents_sql =
    "DELETE FROM funding_intents WHERE intent_id IN (SELECT i.intent_id FROM funding_intents i "
    "LEFT JOIN pending_claims p ON p.intent_id = i.intent_id "
    "WHERE i.state IN ('OPEN', 'CANCELLED') AND i.expires_at <= $1 AND i.claim_tx IS NULL "
    "AND p.intent_id IS NULL LIMIT $2)";
constexpr std::string_view note_look_sql =
    "UPDATE pending_claims SET looked_at = $2 WHERE intent_id = $1";
constexpr std::string_view take_pending_claim_sql =
    "DELETE FROM pending_claims WHERE intent_id = $1 AND tx_hash = $2 AND log_index = $3";
constexpr std::string_view count_open_intents_sql =
    "SELECT COUNT(*) FROM funding_intents WHERE account_id = $1 "
    "AND state IN ('OPEN', 'EXCEPTION') AND expires_at > $2";

constexpr std::string_view add_deposit_sql =
    "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, seen_at, "
    "updated_at, state, intent_id, account_id, log_index) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12) "
    "ON CONFLICT (tx_hash, ordinal) DO NOTHING";
constexpr std::string_view take_suspense_sql =
    "UPDATE deposits SET state = 'CLAIMED', intent_id = $3, account_id = $4, updated_at = $5 "
    "WHERE tx_hash = $1 AND ordinal = $2 AND state = 'SUSPENSE'";
constexpr std::string_view end_suspense_sql =
    "UPDATE deposits SET state = $3, account_id = $4, updated_at = $5 "
    "WHERE tx_hash = $1 AND ordinal = $2 AND state = 'SUSPENSE'";
struct DepositColumns {
    chain::Hash tx_hash;
    std::int64_t ordinal = 0;
    Asset asset{};
    crypto::Address sender;
    std::optional<crypto::Address> treasury;  // none: from before it was noted
    Micro amount;
    std::int64_t block = 0;
    Time seen_at;
    std::optional<std::int64_t> log_index;  // none: from before it was noted
};
BOOST_DESCRIBE_STRUCT(DepositColumns, (),
                      (tx_hash, ordinal, asset, sender, treasury, amount, block, seen_at,
                       log_index))
const db::Query<DepositColumns> find_deposit_sql(
    "SELECT {} FROM deposits WHERE tx_hash = $1 AND ordinal = $2");
constexpr std::string_view is_used_sql =
    "SELECT 1 FROM deposits WHERE tx_hash = $1 AND ordinal = $2 AND state <> 'SUSPENSE'";
struct MarkColumns {
    std::string tx_hash;
    std::int64_t ordinal = 0;
};
BOOST_DESCRIBE_STRUCT(MarkColumns, (), (tx_hash, ordinal))
const db::Query<MarkColumns> marks_between_sql(
    "SELECT {} FROM deposits WHERE tx_hash >= $1 AND tx_hash <= $2");
struct UnclaimedColumns {
    chain::Hash tx_hash;
    std::int64_t ordinal = 0;
    Asset asset{};
    crypto::Address sender;
    std::optional<crypto::Address> treasury;
    Micro amount;
    std::int64_t block = 0;
    Time seen_at;
    std::optional<std::int64_t> log_index;
    UnclaimedState state{};
};
BOOST_DESCRIBE_STRUCT(UnclaimedColumns, (),
                      (tx_hash, ordinal, asset, sender, treasury, amount, block, seen_at, log_index,
                       state))
// "state <> 'CLAIMED'" is what the index of unclaimed ones is chosen by.
const db::Query<UnclaimedColumns> list_unclaimed_sql(
    "SELECT {} FROM deposits WHERE state <> 'CLAIMED' AND state IN ($1, $2) "
    "AND (tx_hash, ordinal) > ($3, $4) ORDER BY tx_hash, ordinal LIMIT $5");
constexpr std::string_view find_in_suspense_sql =
    "SELECT ordinal FROM deposits WHERE tx_hash = $1 AND asset = $2 AND amount = $3 "
    "AND state = 'SUSPENSE' ORDER BY ordinal LIMIT 1";
constexpr std::string_view knows_deposit_sql = "SELECT 1 FROM deposits WHERE tx_hash = $1 LIMIT 1";
constexpr std::string_view knows_claim_sql =
    "SELECT 1 FROM deposits WHERE tx_hash = $1 AND account_id = $2 "
    "UNION ALL SELECT 1 FROM funding_intents WHERE account_id = $2 AND claim_tx = $1 "
    "UNION ALL SELECT 1 FROM pending_claims p JOIN funding_intents i ON i.intent_id = p.intent_id "
    "WHERE p.tx_hash = $1 AND i.account_id = $2 LIMIT 1";
constexpr std::string_view end_returning_sql =
    "UPDATE deposits SET state = $3, updated_at = $4 "
    "WHERE tx_hash = $1 AND ordinal = $2 AND state = 'RETURNING'";

struct SuspenseSum {
    Asset asset{};
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(SuspenseSum, (), (asset, amount))
const db::Query<SuspenseSum> sum_suspense_sql(
    "SELECT {} FROM (SELECT asset, CAST(SUM(amount) AS BIGINT) AS amount FROM deposits "
    "WHERE state <> 'CLAIMED' AND state IN ('SUSPENSE', 'RETURNING') GROUP BY asset) AS sums");

struct ClaimedSum {
    AccountId account_id;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(ClaimedSum, (), (account_id, amount))
const db::Query<ClaimedSum> sum_claimed_sql(
    "SELECT {} FROM (SELECT account_id, CAST(SUM(amount) AS BIGINT) AS amount FROM deposits "
    "WHERE updated_at > $1 AND state = 'CLAIMED' GROUP BY account_id) AS sums");

constexpr std::string_view watch_sql =
    "INSERT INTO watched_treasuries (treasury, token, asset, first_block, read_to) "
    "VALUES ($1, $2, $3, NULL, NULL) ON CONFLICT (treasury, token) DO NOTHING";
struct WatchedColumns {
    crypto::Address treasury;
    crypto::Address token;
    Asset asset{};
    std::optional<std::int64_t> first_block;
    std::optional<std::int64_t> read_to;
};
BOOST_DESCRIBE_STRUCT(WatchedColumns, (), (treasury, token, asset, first_block, read_to))
const db::Query<WatchedColumns> list_watched_sql(
    "SELECT {} FROM watched_treasuries ORDER BY treasury, token");
const db::Query<WatchedColumns> find_watched_sql(
    "SELECT {} FROM watched_treasuries WHERE treasury = $1 AND token = $2");
constexpr std::string_view is_treasury_sql =
    "SELECT 1 FROM watched_treasuries WHERE treasury = $1 LIMIT 1";
constexpr std::string_view note_read_sql =
    "UPDATE watched_treasuries SET first_block = COALESCE(first_block, $3), read_to = $4 "
    "WHERE treasury = $1 AND token = $2 AND (read_to IS NULL OR read_to < $4)";

bool add_deposit(db::Transaction& tx, const DepositRow& deposit, std::string_view state,
                 const std::optional<IntentId>& intent, const std::optional<AccountId>& account) {
    return tx.run(add_deposit_sql, chain::to_string(deposit.transaction), deposit.ordinal,
                  ledger::name(deposit.asset), crypto::to_string(deposit.sender),
                  crypto::to_string(deposit.treasury), deposit.amount, deposit.block,
                  deposit.seen_at, state, intent, account, deposit.log_index)
               .affected == 1;
}

DepositRow deposit_of(const DepositColumns& row) {
    return {.transaction = row.tx_hash,
            .ordinal = row.ordinal,
            .asset = row.asset,
            .sender = row.sender,
            .treasury = row.treasury.value_or(crypto::Address{}),
            .amount = row.amount,
            .block = row.block,
            .seen_at = row.seen_at,
            .log_index = row.log_index.value_or(row.ordinal)};
}

Watched watched_of(const WatchedColumns& row) {
    Watched watched{.treasury = row.treasury, .token = row.token, .asset = row.asset};
    if (row.first_block) watched.blocks = {*row.first_block, row.read_to.value()};
    return watched;
}

}  // namespace

void add_intent(db::Transaction& tx, const IntentRow& intent) {
    tx.run(add_intent_sql, intent.intent_id, intent.account_id, intent.binding_id,
           intent.binding_version, crypto::to_string(intent.wallet), ledger::name(intent.asset),
           crypto::to_string(intent.token), crypto::to_string(intent.treasury), intent.amount,
           intent.created_at, intent.expires_at);
}

std::optional<IntentRow> find_intent(db::Transaction& tx, IntentId id) {
    return tx.fetch_one(find_intent_sql, id);
}

std::vector<IntentRow> list_intents(db::Transaction& tx, AccountId account,
                                    const std::optional<IntentId>& before, std::int64_t rows_max) {
    IntentId last;
    last.uuid.bytes.fill('\xff');
    return tx.fetch(list_intents_sql, account, before.value_or(last), rows_max);
}

std::int64_t count_open_intents(db::Transaction& tx, AccountId account, Time now) {
    return tx.fetch_value<std::int64_t>(count_open_intents_sql, account, now).value();
}

bool confirm_intent(db::Transaction& tx, IntentId id, const chain::Transfer& transfer, Time now) {
    return tx.run(confirm_intent_sql, id, chain::to_string(transfer.transaction),
                  transfer.log_index, now)
               .affected == 1;
}

bool set_exception(db::Transaction& tx, IntentId id, std::string_view why) {
    return tx.run(set_exception_sql, id, why).affected == 1;
}

bool cancel_intent(db::Transaction& tx, IntentId id) {
    return tx.run(cancel_intent_sql, id).affected == 1;
}

std::optional<Time> find_oldest_intent(db::Transaction& tx, const crypto::Address& treasury,
                                       Time expires_after) {
    return tx.fetch_value<std::optional<Time>>(oldest_intent_sql, treasury, expires_after).value();
}

void put_pending_claim(db::Transaction& tx, const PendingClaim& claim, Time now) {
    tx.run(put_pending_claim_sql, claim.intent, chain::to_string(claim.transaction),
           claim.log_index, now, claim.until);
}

void delete_pending_claim(db::Transaction& tx, IntentId intent) {
    tx.run(delete_pending_claim_sql, intent);
}

bool take_pending_claim(db::Transaction& tx, const PendingClaim& claim) {
    return tx.run(take_pending_claim_sql, claim.intent, chain::to_string(claim.transaction),
                  claim.log_index)
               .affected == 1;
}

std::vector<PendingClaim> find_pending_claims(db::Transaction& tx, Time now,
                                              std::int64_t rows_max) {
    std::vector<PendingClaim> claims;
    for (const ClaimColumns& row : tx.fetch(find_pending_claims_sql, now, rows_max))
        claims.push_back(claim_of(row));
    return claims;
}

std::optional<PendingClaim> find_pending_claim(db::Transaction& tx, IntentId intent) {
    const auto row = tx.fetch_one(find_pending_claim_sql, intent);
    return row ? std::optional(claim_of(*row)) : std::nullopt;
}

void note_look(db::Transaction& tx, IntentId intent, Time next_look_at) {
    tx.run(note_look_sql, intent, next_look_at);
}

std::int64_t prune_intents(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_intents_sql, now - unused_intents_kept, rows_max).affected;
}

Taken take_deposit(db::Transaction& tx, const DepositRow& deposit, const IntentRow& intent) {
    if (add_deposit(tx, deposit, "CLAIMED", intent.intent_id, intent.account_id))
        return Taken::fresh;
    const auto taken =
        tx.run(take_suspense_sql, chain::to_string(deposit.transaction), deposit.ordinal,
               intent.intent_id, intent.account_id, deposit.seen_at);
    return taken.affected == 1 ? Taken::from_suspense : Taken::no;
}

bool add_suspense(db::Transaction& tx, const DepositRow& deposit) {
    return add_deposit(tx, deposit, "SUSPENSE", std::nullopt, std::nullopt);
}

std::optional<DepositRow> find_deposit(db::Transaction& tx, const DepositMark& deposit) {
    const auto row = tx.fetch_one(find_deposit_sql, deposit.transaction, deposit.ordinal);
    return row ? std::optional(deposit_of(*row)) : std::nullopt;
}

bool is_used(db::Transaction& tx, const DepositMark& deposit) {
    return !tx.run(is_used_sql, deposit.transaction, deposit.ordinal).empty();
}

// The first bytes are those of the transaction, by which it is found again; the rest tells it from
// all others. RFC 9562 version 8.
DepositId id_of(const DepositMark& deposit) {
    const Bytes hash = crypto::sha256(deposit.transaction + ":" + std::to_string(deposit.ordinal));
    const auto first = from_hex(std::string_view(deposit.transaction).substr(2, hash_digits));
    require(first.has_value(), "a deposit is named by its transaction");
    Bytes bytes = *first + hash.substr(0, sizeof(Uuid) - first->size());
    bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x80);
    bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
    return {uuid_from_bytes(bytes).value()};
}

std::optional<DepositMark> find_mark(db::Transaction& tx, DepositId id) {
    constexpr std::size_t rest = 2 * sizeof(chain::Hash) - hash_digits;
    const std::string first = "0x" + to_hex(id.uuid.view().substr(0, hash_digits / 2));
    for (const MarkColumns& row : tx.fetch(marks_between_sql, first + std::string(rest, '0'),
                                           first + std::string(rest, 'f')))
        if (const DepositMark mark{row.tx_hash, row.ordinal}; id_of(mark) == id) return mark;
    return std::nullopt;
}

bool take_suspense(db::Transaction& tx, const DepositMark& deposit, std::string_view state,
                   const std::optional<AccountId>& account, Time now) {
    return tx.run(end_suspense_sql, deposit.transaction, deposit.ordinal, state, account, now)
               .affected == 1;
}

bool end_returning(db::Transaction& tx, const DepositMark& deposit, std::string_view state,
                   Time now) {
    return tx.run(end_returning_sql, deposit.transaction, deposit.ordinal, state, now).affected ==
           1;
}

std::vector<UnclaimedRow> list_unclaimed(db::Transaction& tx,
                                         const std::optional<UnclaimedState>& state,
                                         const std::optional<DepositMark>& after,
                                         std::int64_t rows_max) {
    const DepositMark mark = after.value_or(DepositMark{});
    std::vector<UnclaimedRow> list;
    for (const UnclaimedColumns& row : tx.fetch(
             list_unclaimed_sql, state.value_or(UnclaimedState::SUSPENSE),
             state.value_or(UnclaimedState::RETURNING), mark.transaction, mark.ordinal, rows_max))
        list.push_back({deposit_of({row.tx_hash, row.ordinal, row.asset, row.sender, row.treasury,
                                    row.amount, row.block, row.seen_at, row.log_index}),
                        row.state});
    return list;
}

std::optional<DepositMark> find_in_suspense(db::Transaction& tx, const std::string& transaction,
                                            Asset asset, Micro amount) {
    const auto ordinal =
        tx.fetch_value<std::int64_t>(find_in_suspense_sql, transaction, asset, amount);
    return ordinal ? std::optional(DepositMark{transaction, *ordinal}) : std::nullopt;
}

bool knows_deposit(db::Transaction& tx, const std::string& transaction) {
    return !tx.run(knows_deposit_sql, transaction).empty();
}

bool knows_claim(db::Transaction& tx, AccountId account, const std::string& transaction) {
    return !tx.run(knows_claim_sql, transaction, account).empty();
}

std::map<AccountId, Micro> sum_claimed(db::Transaction& tx, Time since) {
    std::map<AccountId, Micro> sums;
    for (const ClaimedSum& sum : tx.fetch(sum_claimed_sql, since))
        sums[sum.account_id] = sum.amount;
    return sums;
}

std::array<Micro, ledger::assets.size()> sum_suspense(db::Transaction& tx) {
    std::array<Micro, ledger::assets.size()> sums{};
    for (const SuspenseSum& row : tx.fetch(sum_suspense_sql))
        sums[static_cast<std::size_t>(row.asset)] = row.amount;
    return sums;
}

void watch(db::Transaction& tx, const Watched& watched) {
    tx.run(watch_sql, crypto::to_string(watched.treasury), crypto::to_string(watched.token),
           ledger::name(watched.asset));
}

std::vector<Watched> list_watched(db::Transaction& tx) {
    std::vector<Watched> list;
    for (const WatchedColumns& row : tx.fetch(list_watched_sql)) list.push_back(watched_of(row));
    return list;
}

std::optional<Watched> find_watched(db::Transaction& tx, const crypto::Address& treasury,
                                    const crypto::Address& token) {
    const auto row = tx.fetch_one(find_watched_sql, treasury, token);
    return row ? std::optional(watched_of(*row)) : std::nullopt;
}

bool is_treasury(db::Transaction& tx, const crypto::Address& address) {
    return !tx.run(is_treasury_sql, crypto::to_string(address)).empty();
}

void note_read(db::Transaction& tx, const Watched& watched, const Watched::Blocks& blocks) {
    tx.run(note_read_sql, crypto::to_string(watched.treasury), crypto::to_string(watched.token),
           blocks.first, blocks.read_to);
}

}  // namespace berth::funding
