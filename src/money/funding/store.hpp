// All SQL of funding intents, claims and deposits. Money itself moves in the ledger.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "chain/chain.hpp"
#include "db/migrate.hpp"
#include "funding/types.hpp"

namespace berth::funding {

// Funding intents

// After their end: they can be claimed with for 7 days of these.
inline constexpr Duration unused_intents_kept = std::chrono::hours(24 * 30);

struct IntentRow {
    IntentId intent_id;
    AccountId account_id;
    BindingId binding_id;
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
// The earliest that may still be claimed, of those to this treasury; empty when there is none.
std::optional<Time> find_oldest_intent(db::Transaction& tx, const crypto::Address& treasury,
                                       Time expires_after);
// False when it is confirmed or cancelled already.
bool confirm_intent(db::Transaction& tx, IntentId id, const chain::Transfer& transfer, Time now);
bool set_exception(db::Transaction& tx, IntentId id, std::string_view why);
bool cancel_intent(db::Transaction& tx, IntentId id);

struct PendingClaim {
    IntentId intent;
    chain::Hash transaction;
    std::int64_t log_index = 0;
    Time until;  // then it is forgotten
    Time claimed_at = {};
};
void put_pending_claim(db::Transaction& tx, const PendingClaim& claim, Time now);
std::optional<PendingClaim> find_pending_claim(db::Transaction& tx, IntentId intent);
// Whatever transfer it names.
void delete_pending_claim(db::Transaction& tx, IntentId intent);
// False when the intent has another claim by now, or none.
bool take_pending_claim(db::Transaction& tx, const PendingClaim& claim);
// Those whose next look is due, the longest due first.
std::vector<PendingClaim> find_pending_claims(db::Transaction& tx, Time now, std::int64_t rows_max);
void note_look(db::Transaction& tx, IntentId intent, Time next_look_at);
// Intents that nobody used, long after anything could be claimed with them; how many went.
std::int64_t prune_intents(db::Transaction& tx, Time now, std::int64_t rows_max);

// Deposits

struct DepositRow {
    chain::Hash transaction;
    std::int64_t ordinal = 0;
    Asset asset = Asset::usdc;
    crypto::Address sender;
    crypto::Address treasury;
    Micro amount;
    std::int64_t block = 0;
    Time seen_at;
    std::int64_t log_index = 0;  // in its block
};
enum class Taken { fresh, from_suspense, no };  // `no`: somebody used it before
Taken take_deposit(db::Transaction& tx, const DepositRow& deposit, const IntentRow& intent);
bool add_suspense(db::Transaction& tx, const DepositRow& deposit);  // false when it is known
struct DepositMark {
    std::string transaction;
    std::int64_t ordinal = 0;
};
std::optional<DepositRow> find_deposit(db::Transaction& tx, const DepositMark& deposit);
// Whether somebody used it, or it is being sent back.
bool is_used(db::Transaction& tx, const DepositMark& deposit);
// The name of a deposit on the wire, made from its mark, and the deposit that has it.
DepositId id_of(const DepositMark& deposit);
std::optional<DepositMark> find_mark(db::Transaction& tx, DepositId id);
// False when it is not in suspense.
bool take_suspense(db::Transaction& tx, const DepositMark& deposit, std::string_view state,
                   const std::optional<AccountId>& account, Time now);
// False when it is not being sent back.
bool end_returning(db::Transaction& tx, const DepositMark& deposit, std::string_view state,
                   Time now);
// Transfers that are nobody's: those in suspense or on their way back, or those in one state.
struct UnclaimedRow {
    DepositRow deposit;
    UnclaimedState state = UnclaimedState::SUSPENSE;
};
std::vector<UnclaimedRow> list_unclaimed(db::Transaction& tx,
                                         const std::optional<UnclaimedState>& state,
                                         const std::optional<DepositMark>& after,
                                         std::int64_t rows_max);
// The first of a transaction's transfers in suspense that has this amount; none when there is none.
std::optional<DepositMark> find_in_suspense(db::Transaction& tx, const std::string& transaction,
                                            Asset asset, Micro amount);
// Whether a transaction has paid in, for whomever.
bool knows_deposit(db::Transaction& tx, const std::string& transaction);
// Whether a transaction has paid in for this account, or the account says so.
bool knows_claim(db::Transaction& tx, AccountId account, const std::string& transaction);
// What was credited since then, by account, in both assets together.
std::map<AccountId, Micro> sum_claimed(db::Transaction& tx, Time since);
// On their way back included: until they have arrived they are owed.
std::array<Micro, ledger::assets.size()> sum_suspense(db::Transaction& tx);

// Every treasury that was ever named to anybody, with each of its tokens.

struct Watched {
    crypto::Address treasury;
    crypto::Address token;
    Asset asset = Asset::usdc;
    struct Blocks {
        std::int64_t first = 0;    // what is older is history
        std::int64_t read_to = 0;  // up to here every transfer is known
    };
    std::optional<Blocks> blocks = {};  // none: nobody has looked yet
};
void watch(db::Transaction& tx, const Watched& watched);  // again does nothing
std::vector<Watched> list_watched(db::Transaction& tx);
std::optional<Watched> find_watched(db::Transaction& tx, const crypto::Address& treasury,
                                    const crypto::Address& token);
bool is_treasury(db::Transaction& tx, const crypto::Address& address);
// Only ever forwards: of two watchers the slower one changes nothing. The first block stays.
void note_read(db::Transaction& tx, const Watched& watched, const Watched::Blocks& blocks);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::funding
