// All SQL of funding intents, claims and deposits. Money itself moves in the ledger.
#pragma once

#include <optional>
#include <vector>

#include "chain/chain.hpp"
#include "db/migrate.hpp"
#include "funding/types.hpp"

namespace berth::funding {

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

// Deposits that are not in the ledger as they should be; for `berthd check ledger`.
std::vector<std::string> check_deposits(db::Transaction& tx);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::funding
