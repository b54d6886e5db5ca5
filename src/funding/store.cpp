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
    "claim_log_index = $3, confirmed_at = $4 WHERE intent_id = $1 AND state <> 'CONFIRMED'";
constexpr std::string_view set_exception_sql =
    "UPDATE funding_intents SET state = 'EXCEPTION', exception = $2 "
    "WHERE intent_id = $1 AND state <> 'CONFIRMED'";

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
    "SELECT COUNT(*) FROM funding_intents WHERE account_id = $1 AND state <> 'CONFIRMED' "
    "AND expires_at > $2";

constexpr std::string_view add_deposit_sql =
    "INSERT INTO deposits (tx_hash, ordinal, asset, sender, amount, block, seen_at, state, "
    "intent_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
    "ON CONFLICT (tx_hash, ordinal) DO NOTHING";
constexpr std::string_view take_suspense_sql =
    "UPDATE deposits SET state = 'CLAIMED', intent_id = $3 "
    "WHERE tx_hash = $1 AND ordinal = $2 AND state = 'SUSPENSE'";
constexpr std::string_view list_suspense_sql =
    "SELECT tx_hash, ordinal, asset, sender, amount, block, seen_at FROM deposits "
    "WHERE state = 'SUSPENSE' AND (tx_hash, ordinal) > ($1, $2) ORDER BY tx_hash, ordinal LIMIT $3";

constexpr std::string_view find_cursor_sql = "SELECT block FROM chain_cursors WHERE name = $1";
// Only ever forwards: of two watchers the slower one changes nothing.
constexpr std::string_view set_cursor_sql =
    "INSERT INTO chain_cursors (name, block) VALUES ($1, $2) "
    "ON CONFLICT (name) DO UPDATE SET block = $2 WHERE chain_cursors.block < $2";

// A claimed deposit was credited to the account of its intent, in its amount.
constexpr std::string_view wrong_claims_sql =
    "SELECT d.tx_hash, d.ordinal FROM deposits d "
    "LEFT JOIN funding_intents i ON i.intent_id = d.intent_id "
    "LEFT JOIN ledger_transactions t "
    "  ON t.reference = 'deposit:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "WHERE d.state = 'CLAIMED' AND (i.intent_id IS NULL OR i.state <> 'CONFIRMED' "
    "  OR i.amount <> d.amount OR i.asset <> d.asset OR i.claim_tx <> d.tx_hash "
    "  OR t.transaction_id IS NULL OR t.account_id <> i.account_id) LIMIT 100";
// One in suspense is parked and not credited.
constexpr std::string_view wrong_suspense_sql =
    "SELECT d.tx_hash, d.ordinal FROM deposits d "
    "LEFT JOIN ledger_transactions p "
    "  ON p.reference = 'park:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "LEFT JOIN ledger_transactions t "
    "  ON t.reference = 'deposit:8453:' || d.tx_hash || ':' || CAST(d.ordinal AS TEXT) "
    "WHERE d.state = 'SUSPENSE' AND (p.transaction_id IS NULL OR t.transaction_id IS NOT NULL) "
    "LIMIT 100";
constexpr std::string_view wrong_confirmations_sql =
    "SELECT i.intent_id FROM funding_intents i LEFT JOIN deposits d ON d.intent_id = i.intent_id "
    "WHERE i.state = 'CONFIRMED' AND d.tx_hash IS NULL LIMIT 100";

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
                 const std::optional<IntentId>& intent) {
    return tx.run(add_deposit_sql, chain::to_string(deposit.transaction), deposit.ordinal,
                  ledger::name(deposit.asset), crypto::to_string(deposit.sender), deposit.amount,
                  deposit.block, deposit.seen_at, state, intent)
               .affected == 1;
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

std::vector<PendingClaim> look_at_claims(db::Transaction& tx, Time now, std::int64_t rows_max) {
    const auto rows = tx.run(find_pending_claims_sql, rows_max);
    std::vector<PendingClaim> claims;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        claims.push_back({rows[i].get<IntentId>(0), get_hash(rows[i], 1),
                          rows[i].get<std::int64_t>(2), rows[i].get<Time>(3)});
        tx.start(note_look_sql, claims.back().intent, now);
    }
    return claims;
}

Taken take_deposit(db::Transaction& tx, const DepositRow& deposit, IntentId intent) {
    if (add_deposit(tx, deposit, "CLAIMED", intent)) return Taken::fresh;
    const auto taken = tx.run(take_suspense_sql, chain::to_string(deposit.transaction),
                              deposit.ordinal, intent);
    return taken.affected == 1 ? Taken::from_suspense : Taken::no;
}

bool add_suspense(db::Transaction& tx, const DepositRow& deposit) {
    return add_deposit(tx, deposit, "SUSPENSE", std::nullopt);
}

std::vector<DepositRow> list_suspense(db::Transaction& tx, const std::optional<DepositMark>& after,
                                      std::int64_t rows_max) {
    const DepositMark mark = after.value_or(DepositMark{});
    const auto rows = tx.run(list_suspense_sql, mark.transaction, mark.ordinal, rows_max);
    std::vector<DepositRow> deposits;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto row = rows[i];
        deposits.push_back({get_hash(row, 0), row.get<std::int64_t>(1), get_asset(row, 2),
                            get_address(row, 3), row.get<Micro>(4), row.get<std::int64_t>(5),
                            row.get<Time>(6)});
    }
    return deposits;
}

std::optional<std::int64_t> find_chain_cursor(db::Transaction& tx, std::string_view name) {
    const auto rows = tx.run(find_cursor_sql, name);
    return rows.empty() ? std::nullopt : std::optional(rows[0].get<std::int64_t>(0));
}

void set_chain_cursor(db::Transaction& tx, std::string_view name, std::int64_t block) {
    tx.run(set_cursor_sql, name, block);
}

std::vector<std::string> check_deposits(db::Transaction& tx) {
    std::vector<std::string> faults;
    const auto add = [&](std::string_view sql, std::string_view fault) {
        const auto rows = tx.run(sql);
        for (std::size_t i = 0; i < rows.size(); ++i)
            faults.push_back(fmt::format("deposit {} {}: {}", rows[i].get<std::string>(0),
                                         rows[i].get<std::int64_t>(1), fault));
    };
    add(wrong_claims_sql, "is claimed, but not as its intent and the ledger say");
    add(wrong_suspense_sql, "is in suspense, but not in the ledger");
    const auto rows = tx.run(wrong_confirmations_sql);
    for (std::size_t i = 0; i < rows.size(); ++i)
        faults.push_back(fmt::format("intent {}: is confirmed without a deposit",
                                     to_string(rows[i].get<IntentId>(0))));
    return faults;
}

}  // namespace berth::funding
