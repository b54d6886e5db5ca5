// All SQL of what is signed and sent: nonces, attempts, and transfers on their way. Money itself
// moves in the ledger.
#pragma once

#include <array>
#include <map>

#include "transfers/store.hpp"

namespace berth::transfers {

struct AttemptRow {
    TransferId transfer_id;
    std::int64_t attempt = 1;
    crypto::Address signer;
    std::int64_t nonce = 0;
    std::int64_t fee_max = 0;
    std::int64_t priority_fee = 0;
    chain::Hash tx_hash;
    Bytes signed_bytes;
    Time created_at;
    std::int64_t after_block = 0;  // final when it was signed: the chain has it above, if at all
};
std::vector<AttemptRow> list_attempts(db::Transaction& tx, TransferId transfer);  // oldest first

// Those in INTENT, one of each account before the second of any: an account with many holds up
// nobody else.
std::vector<TransferRow> find_intents(db::Transaction& tx, std::int64_t rows_max);

// The one in INTENT that was made first, and when the first of those was made that are SUBMITTED.
std::optional<TransferRow> find_oldest_intent(db::Transaction& tx);
std::optional<Time> find_oldest_submitted(db::Transaction& tx);
// How many of customers are above what a day lets one have: they wait for ever.
struct DayCaps {
    Micro account;
    Micro all;
};
std::int64_t count_stranded(db::Transaction& tx, const DayCaps& caps);
void note_short(db::Transaction& tx, TransferId transfer, ShortOf short_of);

// The treasury's next nonce, which only taking one and reconciling move.
std::int64_t find_next_nonce(db::Transaction& tx, const crypto::Address& treasury);
// The first look of a database at its treasury: what the key did before is nobody's payment here.
// Only while no transfer was ever made, so that books from a backup never take this for theirs.
void meet_treasury(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce);
// Takes it; empty when it is below `least` (the chain knows of transactions that the books do not),
// and while a hold is on.
std::optional<std::int64_t> take_nonce(db::Transaction& tx, const crypto::Address& treasury,
                                       std::int64_t least);

// Nobody else signs, with whatever key, until this transaction has ended: what was signed today can
// be counted, and stays true.
void take_signing_turn(db::Transaction& tx);
// The setting that whoever signs asks for in the database itself.
inline constexpr std::string_view payouts_paused_key = "money.payouts_paused";

// A treasury that the books know: it signed, was compared with them, or was named to anybody. What
// any of them has sent and the books do not know may be a transfer that waits to be signed.
struct KnownTreasury {
    crypto::Address treasury;
    std::int64_t next_nonce = 0;
    std::optional<Time> retired_at = {};  // from then on nothing that it sends is ours
};
std::vector<KnownTreasury> list_treasuries(db::Transaction& tx);
// What a retired one sends is no payment of ours any more, and is not looked at: whoever stole its
// key could otherwise stop all payments for good. Nothing is ever signed with it again. False when
// its counter is not at `nonce`, or it is retired already.
bool retire_treasury(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce,
                     std::string_view why, Time now);

// While a hold is on nothing is signed: the books were restored, or a person wants it so.
void add_hold(db::Context context, std::string_view why);
std::optional<std::string> find_hold(db::Transaction& tx);  // why; the oldest
void end_holds(db::Transaction& tx, Time now, std::string_view why);

// Reconciling: a nonce that somebody else used, and the counter put behind those that are accounted
// for. False when the counter is not at `from` any more.
void add_foreign_nonce(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce,
                       const std::optional<chain::Hash>& transaction, std::string_view why,
                       Time now);
bool advance_nonce(db::Transaction& tx, const crypto::Address& treasury, std::int64_t from,
                   std::int64_t to);
// Below this block the chain has nothing of the treasury that the books do not know: where its last
// payment was signed, or the last of any when it has none. 0: nothing was ever signed.
std::int64_t last_known_block(db::Transaction& tx, const crypto::Address& treasury);
bool is_known(db::Transaction& tx, const chain::Hash& transaction);
bool is_foreign(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce);
bool is_signed(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce);
// Whether a transfer was signed with it, or something else is known to have used it.
bool is_accounted_for(db::Transaction& tx, const crypto::Address& treasury, std::int64_t nonce);
// In INTENT, to this address, of this amount.
std::vector<TransferRow> find_intents_like(db::Transaction& tx, Asset asset,
                                           const crypto::Address& address, Micro amount);

// Writes an attempt down, of a transfer that is SUBMITTED and has had exactly those before it.
// False, and nothing has changed, when somebody else was quicker.
bool add_attempt(db::Transaction& tx, const AttemptRow& attempt, Time send_again_at);

struct InFlight {
    TransferRow transfer;
    std::int64_t nonce = 0;
    std::int64_t sends = 0;
    Time send_at;                           // when its bytes are sent again
    std::vector<AttemptRow> attempts = {};  // oldest first
};
struct NonceRange {
    crypto::Address signer;
    std::int64_t first = 0;
    std::int64_t end = 0;  // not inclusive
};
// SUBMITTED ones with these nonces, in their order, with their attempts.
std::vector<InFlight> find_in_flight(db::Transaction& tx, const NonceRange& range,
                                     std::int64_t rows_max);
// The one at `first` whenever it is due, and others from there on that are due now.
std::vector<InFlight> find_unsent(db::Transaction& tx, const NonceRange& range, Time now,
                                  std::int64_t rows_max);
void note_send(db::Transaction& tx, TransferId transfer, Time send_again_at);
// What is not in a block yet, by asset.
std::array<Micro, ledger::assets.size()> sum_in_flight(db::Transaction& tx,
                                                       const NonceRange& range);
// What was signed since then and has not failed, of one account or of all, in both assets together.
Micro sum_signed(db::Transaction& tx, const std::optional<AccountId>& account, Time since);
std::map<AccountId, Micro> sum_signed_by_account(db::Transaction& tx, Time since);
struct SignedAmount {
    Time signed_at;
    Micro amount;
};
std::vector<SignedAmount> list_signed_amounts(db::Transaction& tx, AccountId account,
                                              Time since);  // oldest first
// Who signed what is SUBMITTED.
std::vector<crypto::Address> list_signers(db::Transaction& tx);
// SUBMITTED without signed bytes: nothing that this program does leaves one.
std::vector<TransferId> find_without_attempt(db::Transaction& tx, std::int64_t rows_max);

}  // namespace berth::transfers
