#include <fmt/format.h>

#include "funding/rows.hpp"
#include "funding/store.hpp"

namespace berth::funding {
namespace {

constexpr std::string_view add_intent_sql =
    "INSERT INTO funding_intents (intent_id, account_id, binding_id, binding_version, wallet, "
    "asset, token, treasury, amount, state, exception, created_at, expires_at, claim_tx, "
    "claim_log_index, confirmed_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'OPEN', NULL, $10, $11, NULL, NULL, NULL)";
constexpr std::string_view find_intent_sql =
    "SELECT intent_id, account_id, binding_id, binding_version, wallet, asset, token, treasury, "
    "amount, state, exception, created_at, expires_at, claim_tx, claim_log_index, confirmed_at "
    "FROM funding_intents WHERE intent_id = $1";
constexpr std::string_view list_intents_sql =
    "SELECT intent_id, account_id, binding_id, binding_version, wallet, asset, token, treasury, "
    "amount, state, exception, created_at, expires_at, claim_tx, claim_log_index, confirmed_at "
    "FROM funding_intents WHERE account_id = $1 AND intent_id < $2 "
    "ORDER BY intent_id DESC LIMIT $3";
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
    "VALUES ($1, $2, $3, $4, $5, $4) ON CONFLICT (intent_id) DO UPDATE SET tx_hash = $2, "
    "log_index = $3, claimed_at = $4, until = $5";
constexpr std::string_view delete_pending_claim_sql =
    "DELETE FROM pending_claims WHERE intent_id = $1";
constexpr std::string_view find_pending_claims_sql =
    "SELECT intent_id, tx_hash, log_index, until FROM pending_claims "
    "ORDER BY looked_at, intent_id LIMIT $1";
constexpr std::string_view note_look_sql =
    "UPDATE pending_claims SET looked_at = $2 WHERE intent_id = $1";
constexpr std::string_view take_pending_claim_sql =
    "DELETE FROM pending_claims WHERE intent_id = $1 AND tx_hash = $2 AND log_index = $3";
constexpr std::string_view count_open_intents_sql =
    "SELECT COUNT(*) FROM funding_intents WHERE account_id = $1 "
    "AND state IN ('OPEN', 'EXCEPTION') AND expires_at > $2";

constexpr std::string_view add_deposit_sql =
    "INSERT INTO deposits (tx_hash, ordinal, asset, sender, treasury, amount, block, seen_at, "
    "updated_at, state, intent_id, account_id) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11) "
    "ON CONFLICT (tx_hash, ordinal) DO NOTHING";
constexpr std::string_view take_suspense_sql =
    "UPDATE deposits SET state = 'CLAIMED', intent_id = $3, account_id = $4, updated_at = $5 "
    "WHERE tx_hash = $1 AND ordinal = $2 AND state = 'SUSPENSE'";
constexpr std::string_view end_suspense_sql =
    "UPDATE deposits SET state = $3, account_id = $4, updated_at = $5 "
    "WHERE tx_hash = $1 AND ordinal = $2 AND state = 'SUSPENSE'";
constexpr std::string_view find_deposit_sql =
    "SELECT tx_hash, ordinal, asset, sender, treasury, amount, block, seen_at FROM deposits "
    "WHERE tx_hash = $1 AND ordinal = $2";
constexpr std::string_view list_suspense_sql =
    "SELECT tx_hash, ordinal, asset, sender, treasury, amount, block, seen_at FROM deposits "
    "WHERE state = 'SUSPENSE' AND (tx_hash, ordinal) > ($1, $2) ORDER BY tx_hash, ordinal LIMIT $3";

struct SuspenseSum {
    Asset asset{};
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(SuspenseSum, (), (asset, amount))
const db::Query<SuspenseSum> sum_suspense_sql(
    "SELECT {} FROM (SELECT asset, CAST(SUM(amount) AS BIGINT) AS amount FROM deposits "
    "WHERE state = 'SUSPENSE' GROUP BY asset) AS sums");

constexpr std::string_view watch_sql =
    "INSERT INTO watched_treasuries (treasury, token, asset, first_block, read_to) "
    "VALUES ($1, $2, $3, NULL, NULL) ON CONFLICT (treasury, token) DO NOTHING";
constexpr std::string_view list_watched_sql =
    "SELECT treasury, token, asset, first_block, read_to FROM watched_treasuries "
    "ORDER BY treasury, token";
constexpr std::string_view find_watched_sql =
    "SELECT treasury, token, asset, first_block, read_to FROM watched_treasuries "
    "WHERE treasury = $1 AND token = $2";
constexpr std::string_view is_treasury_sql =
    "SELECT 1 FROM watched_treasuries WHERE treasury = $1 LIMIT 1";
constexpr std::string_view note_read_sql =
    "UPDATE watched_treasuries SET first_block = COALESCE(first_block, $3), read_to = $4 "
    "WHERE treasury = $1 AND token = $2 AND (read_to IS NULL OR read_to < $4)";

IntentRow read_intent(const db::Result::Row& row) {
    IntentRow intent;
    intent.id = row.get<IntentId>(0);
    intent.account = row.get<AccountId>(1);
    intent.binding = row.get<BindingId>(2);
    intent.binding_version = row.get<std::int64_t>(3);
    intent.wallet = get_address(row, 4);
    intent.asset = get_asset(row, 5);
    intent.token = get_address(row, 6);
    intent.treasury = get_address(row, 7);
    intent.amount = row.get<Micro>(8);
    intent.state = get_state<IntentState>(row, 9);
    intent.exception = row.get<std::optional<std::string>>(10);
    intent.created_at = row.get<Time>(11);
    intent.expires_at = row.get<Time>(12);
    intent.claim_tx = row.get<std::optional<std::string>>(13);
    intent.claim_log_index = row.get<std::optional<std::int64_t>>(14);
    intent.confirmed_at = row.get<std::optional<Time>>(15);
    return intent;
}

bool add_deposit(db::Transaction& tx, const DepositRow& deposit, std::string_view state,
                 const std::optional<IntentId>& intent, const std::optional<AccountId>& account) {
    return tx.run(add_deposit_sql, chain::to_string(deposit.transaction), deposit.ordinal,
                  ledger::name(deposit.asset), crypto::to_string(deposit.sender),
                  crypto::to_string(deposit.treasury), deposit.amount, deposit.block,
                  deposit.seen_at, state, intent, account)
               .affected == 1;
}

DepositRow read_deposit(const db::Result::Row& row) {
    DepositRow deposit;
    deposit.transaction = get_hash(row, 0);
    deposit.ordinal = row.get<std::int64_t>(1);
    deposit.asset = get_asset(row, 2);
    deposit.sender = get_address(row, 3);
    if (!row.is_null(4)) deposit.treasury = get_address(row, 4);
    deposit.amount = row.get<Micro>(5);
    deposit.block = row.get<std::int64_t>(6);
    deposit.seen_at = row.get<Time>(7);
    return deposit;
}

Watched read_watched(const db::Result::Row& row) {
    Watched watched{get_address(row, 0), get_address(row, 1), get_asset(row, 2)};
    if (!row.is_null(3))
        watched.blocks = {row.get<std::int64_t>(3), row.get<std::int64_t>(4)};
    return watched;
}

}  // namespace

void add_intent(db::Transaction& tx, const IntentRow& intent) {
    tx.run(add_intent_sql, intent.id, intent.account, intent.binding, intent.binding_version,
           crypto::to_string(intent.wallet), ledger::name(intent.asset),
           crypto::to_string(intent.token), crypto::to_string(intent.treasury), intent.amount,
           intent.created_at, intent.expires_at);
}

std::optional<IntentRow> find_intent(db::Transaction& tx, IntentId id) {
    const auto rows = tx.run(find_intent_sql, id);
    return rows.empty() ? std::nullopt : std::optional(read_intent(rows[0]));
}

std::vector<IntentRow> list_intents(db::Transaction& tx, AccountId account,
                                    const std::optional<IntentId>& before, std::int64_t rows_max) {
    IntentId last;
    last.uuid.bytes.fill('\xff');
    const auto rows = tx.run(list_intents_sql, account, before.value_or(last), rows_max);
    std::vector<IntentRow> intents;
    for (std::size_t i = 0; i < rows.size(); ++i) intents.push_back(read_intent(rows[i]));
    return intents;
}

std::int64_t count_open_intents(db::Transaction& tx, AccountId account, Time now) {
    return tx.run(count_open_intents_sql, account, now)[0].get<std::int64_t>(0);
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
    const auto rows = tx.run(oldest_intent_sql, crypto::to_string(treasury), expires_after);
    return rows[0].get<std::optional<Time>>(0);
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

std::vector<PendingClaim> find_pending_claims(db::Transaction& tx, std::int64_t rows_max) {
    const auto rows = tx.run(find_pending_claims_sql, rows_max);
    std::vector<PendingClaim> claims;
    for (std::size_t i = 0; i < rows.size(); ++i)
        claims.push_back({rows[i].get<IntentId>(0), get_hash(rows[i], 1),
                          rows[i].get<std::int64_t>(2), rows[i].get<Time>(3)});
    return claims;
}

void note_look(db::Transaction& tx, IntentId intent, Time now) {
    tx.run(note_look_sql, intent, now);
}

Taken take_deposit(db::Transaction& tx, const DepositRow& deposit, const IntentRow& intent) {
    if (add_deposit(tx, deposit, "CLAIMED", intent.id, intent.account)) return Taken::fresh;
    const auto taken = tx.run(take_suspense_sql, chain::to_string(deposit.transaction),
                              deposit.ordinal, intent.id, intent.account, deposit.seen_at);
    return taken.affected == 1 ? Taken::from_suspense : Taken::no;
}

bool add_suspense(db::Transaction& tx, const DepositRow& deposit) {
    return add_deposit(tx, deposit, "SUSPENSE", std::nullopt, std::nullopt);
}

std::optional<DepositRow> find_deposit(db::Transaction& tx, const DepositMark& deposit) {
    const auto rows = tx.run(find_deposit_sql, deposit.transaction, deposit.ordinal);
    return rows.empty() ? std::nullopt : std::optional(read_deposit(rows[0]));
}

bool take_suspense(db::Transaction& tx, const DepositMark& deposit, std::string_view state,
                   const std::optional<AccountId>& account, Time now) {
    return tx.run(end_suspense_sql, deposit.transaction, deposit.ordinal, state, account, now)
               .affected == 1;
}

std::vector<DepositRow> list_suspense(db::Transaction& tx, const std::optional<DepositMark>& after,
                                      std::int64_t rows_max) {
    const DepositMark mark = after.value_or(DepositMark{});
    const auto rows = tx.run(list_suspense_sql, mark.transaction, mark.ordinal, rows_max);
    std::vector<DepositRow> deposits;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        deposits.push_back(read_deposit(rows[i]));
    }
    return deposits;
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
    const auto rows = tx.run(list_watched_sql);
    std::vector<Watched> list;
    for (std::size_t i = 0; i < rows.size(); ++i) list.push_back(read_watched(rows[i]));
    return list;
}

std::optional<Watched> find_watched(db::Transaction& tx, const crypto::Address& treasury,
                                    const crypto::Address& token) {
    const auto rows =
        tx.run(find_watched_sql, crypto::to_string(treasury), crypto::to_string(token));
    return rows.empty() ? std::nullopt : std::optional(read_watched(rows[0]));
}

bool is_treasury(db::Transaction& tx, const crypto::Address& address) {
    return !tx.run(is_treasury_sql, crypto::to_string(address)).empty();
}

void note_read(db::Transaction& tx, const Watched& watched, const Watched::Blocks& blocks) {
    tx.run(note_read_sql, crypto::to_string(watched.treasury), crypto::to_string(watched.token),
           blocks.first, blocks.read_to);
}

}  // namespace berth::funding
