#include "transfers/store.hpp"

namespace berth::transfers {
namespace {

constexpr db::Migration history[] = {
    {.feature = "transfers",
     .number = 1,
     .sql = "CREATE TABLE withdrawal_addresses ("
            "  address_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  network @text NOT NULL,"
            "  address @text NOT NULL,"
            "  label @text,"
            "  state @text NOT NULL CHECK (state IN ('AWAITING_EMAIL_CONFIRMATION', 'SAVED')),"
            "  created_at @int NOT NULL,"
            "  confirmed_at @int,"
            "  expires_at @int,"
            "  last_used_at @int,"
            "  UNIQUE (account_id, network, address)"
            ") @strict;",
     .formerly = 5},
    {.feature = "transfers",
     .number = 2,
     .sql = "CREATE TABLE confirmations ("
            "  confirmation_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  address_id @id NOT NULL,"
            "  transfer_id @id,"
            "  token_hash @bytes NOT NULL,"
            "  expires_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX confirmations_by_end ON confirmations (expires_at);"
            "CREATE INDEX confirmations_by_address ON confirmations (address_id);"
            "CREATE INDEX confirmations_by_account ON confirmations (account_id, expires_at);"

            "CREATE TABLE transfers ("
            "  transfer_id @id NOT NULL PRIMARY KEY,"
            "  kind @text NOT NULL CHECK (kind IN ('withdrawal', 'payout')),"
            "  account_id @id NOT NULL,"
            "  asset @text NOT NULL,"
            "  amount @int NOT NULL CHECK (amount > 0),"
            "  address @text NOT NULL,"
            "  address_id @id NOT NULL,"
            "  state @text NOT NULL CHECK (state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT',"
            "    'SUBMITTED', 'SETTLED', 'FAILED', 'EXPIRED', 'CANCELLED')),"
            "  tx_hash @text,"
            "  created_at @int NOT NULL,"
            "  updated_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX transfers_by_account ON transfers (account_id, kind, transfer_id);"
            "CREATE INDEX transfers_to_sign ON transfers (transfer_id) WHERE state = 'INTENT';"
            "CREATE INDEX transfers_to_follow ON transfers (transfer_id) WHERE state = 'SUBMITTED';"

            // Every transaction ever signed for a transfer; all of one transfer have the same
            // signer and nonce, so the chain takes at most one of them. A row is committed before
            // its bytes are sent.
            "CREATE TABLE transfer_attempts ("
            "  transfer_id @id NOT NULL,"
            "  attempt @int NOT NULL,"
            "  signer @text NOT NULL,"
            "  nonce @int NOT NULL,"
            "  fee_max @int NOT NULL,"
            "  priority_fee @int NOT NULL,"
            "  tx_hash @text NOT NULL UNIQUE,"
            "  signed_bytes @bytes NOT NULL,"
            "  created_at @int NOT NULL,"
            "  PRIMARY KEY (transfer_id, attempt),"
            "  UNIQUE (signer, nonce, attempt)"
            ") @strict;"

            "CREATE TABLE treasury_nonces ("
            "  treasury @text NOT NULL PRIMARY KEY,"
            "  next_nonce @int NOT NULL"
            ") @strict;",
     .formerly = 8},
    // What a transfer that was signed is found by, without looking at its attempts; when its bytes
    // are sent again; and above which block the chain has an attempt, if it has it at all.
    {.feature = "transfers",
     .number = 3,
     .sql =
         "ALTER TABLE transfers ADD COLUMN attempts @int NOT NULL DEFAULT 0;"
         "ALTER TABLE transfers ADD COLUMN signer @text;"
         "ALTER TABLE transfers ADD COLUMN nonce @int;"
         "ALTER TABLE transfers ADD COLUMN signed_at @int;"
         "ALTER TABLE transfers ADD COLUMN sends @int NOT NULL DEFAULT 0;"
         "ALTER TABLE transfers ADD COLUMN send_at @int NOT NULL DEFAULT 0;"
         "ALTER TABLE transfer_attempts ADD COLUMN after_block @int NOT NULL DEFAULT 0;"
         "UPDATE transfers SET"
         "  attempts = (SELECT COUNT(*) FROM transfer_attempts a"
         "    WHERE a.transfer_id = transfers.transfer_id),"
         "  signer = (SELECT MIN(a.signer) FROM transfer_attempts a"
         "    WHERE a.transfer_id = transfers.transfer_id),"
         "  nonce = (SELECT MIN(a.nonce) FROM transfer_attempts a"
         "    WHERE a.transfer_id = transfers.transfer_id),"
         "  signed_at = (SELECT MIN(a.created_at) FROM transfer_attempts a"
         "    WHERE a.transfer_id = transfers.transfer_id);"
         "DROP INDEX transfers_to_sign;"
         "DROP INDEX transfers_to_follow;"
         "CREATE INDEX transfers_to_sign ON transfers (account_id, transfer_id)"
         "  WHERE state = 'INTENT';"
         "CREATE INDEX transfers_in_flight ON transfers (signer, nonce) WHERE state = 'SUBMITTED';"
         "CREATE INDEX transfers_open ON transfers (account_id)"
         "  WHERE state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED');"},
    {.feature = "transfers",
     .number = 4,
     .sql =
         "CREATE INDEX transfers_by_signing ON transfers (signed_at) WHERE signed_at IS NOT NULL;"
         "CREATE TABLE settlement_holds ("
         "  hold_id @id NOT NULL PRIMARY KEY,"
         "  why @text NOT NULL,"
         "  created_at @int NOT NULL,"
         "  ended_at @int,"
         "  ended_why @text"
         ") @strict;"
         // Nonces of the treasury that were used up by what is no transfer of ours.
         "CREATE TABLE foreign_nonces ("
         "  treasury @text NOT NULL,"
         "  nonce @int NOT NULL,"
         "  tx_hash @text,"
         "  why @text NOT NULL,"
         "  created_at @int NOT NULL,"
         "  PRIMARY KEY (treasury, nonce)"
         ") @strict;"},
    // One row that whoever signs holds until the signing is committed.
    {.feature = "transfers",
     .number = 5,
     .sql = "CREATE TABLE signing_turns ("
            "  turn @int NOT NULL PRIMARY KEY CHECK (turn = 1),"
            "  taken @int NOT NULL"
            ") @strict;"
            "INSERT INTO signing_turns (turn, taken) VALUES (1, 0);"},
    // Transfers in suspense go back by the same hand. (Constraints are not altered in place, so the
    // table is written anew.)
    {.feature = "transfers",
     .number = 6,
     .sql = "CREATE TABLE transfers_6 ("
            "  transfer_id @id NOT NULL PRIMARY KEY,"
            "  kind @text NOT NULL CHECK (kind IN ('withdrawal', 'payout', 'return')),"
            "  account_id @id NOT NULL,"  // of a return the platform's
            "  asset @text NOT NULL,"
            "  amount @int NOT NULL CHECK (amount > 0),"
            "  address @text NOT NULL,"
            "  address_id @id NOT NULL,"
            "  state @text NOT NULL CHECK (state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT',"
            "    'SUBMITTED', 'SETTLED', 'FAILED', 'EXPIRED', 'CANCELLED')),"
            "  tx_hash @text,"
            "  created_at @int NOT NULL,"
            "  updated_at @int NOT NULL,"
            "  attempts @int NOT NULL DEFAULT 0,"
            "  signer @text,"
            "  nonce @int,"
            "  signed_at @int,"
            "  sends @int NOT NULL DEFAULT 0,"
            "  send_at @int NOT NULL DEFAULT 0,"
            "  reason @text,"  // of an end without a payment
            "  deposit_tx @text,"
            "  deposit_ordinal @int,"
            "  CHECK ((kind = 'return') = (deposit_tx IS NOT NULL)),"
            "  CHECK ((kind = 'return') = (deposit_ordinal IS NOT NULL))"
            ") @strict;"
            "INSERT INTO transfers_6 (transfer_id, kind, account_id, asset, amount, address,"
            "  address_id, state, tx_hash, created_at, updated_at, attempts, signer, nonce,"
            "  signed_at, sends, send_at) SELECT transfer_id, kind, account_id, asset, amount,"
            "  address, address_id, state, tx_hash, created_at, updated_at, attempts, signer,"
            "  nonce, signed_at, sends, send_at FROM transfers;"
            "DROP TABLE transfers;"
            "ALTER TABLE transfers_6 RENAME TO transfers;"
            "CREATE INDEX transfers_by_account ON transfers (account_id, kind, transfer_id);"
            "CREATE INDEX transfers_to_sign ON transfers (account_id, transfer_id)"
            "  WHERE state = 'INTENT';"
            "CREATE INDEX transfers_in_flight ON transfers (signer, nonce)"
            "  WHERE state = 'SUBMITTED';"
            "CREATE INDEX transfers_open ON transfers (account_id)"
            "  WHERE state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED');"
            "CREATE INDEX transfers_by_signing ON transfers (signed_at)"
            "  WHERE signed_at IS NOT NULL;"
            // The nightly proof looks at what has changed since the last one.
            "CREATE INDEX transfers_by_change ON transfers (updated_at);"
            // What came in goes back once at most.
            "CREATE UNIQUE INDEX transfers_back ON transfers (deposit_tx, deposit_ordinal)"
            "  WHERE kind = 'return' AND state IN ('INTENT', 'SUBMITTED', 'SETTLED');"},
    {.feature = "transfers",
     .number = 7,
     .sql = "CREATE INDEX transfer_attempts_by_time ON transfer_attempts (created_at);"},
    // Whether the first transfers to an address wait: not where its owner had an authenticator for
    // long enough when it was saved.
    {.feature = "transfers",
     .number = 8,
     .sql = "ALTER TABLE withdrawal_addresses ADD COLUMN cools @int NOT NULL DEFAULT 1;"},
    // What a retired treasury sends is none of ours.
    {.feature = "transfers",
     .number = 9,
     .sql = "ALTER TABLE treasury_nonces ADD COLUMN retired_at @int;"
            "ALTER TABLE treasury_nonces ADD COLUMN retired_why @text;"},
    // Accounts that own an address which a treasury paid, by a payment that the books do not know.
    {.feature = "transfers",
     .number = 10,
     .sql = "CREATE TABLE transfer_freezes ("
            "  treasury @text NOT NULL,"
            "  nonce @int NOT NULL,"
            "  account_id @id NOT NULL,"
            "  created_at @int NOT NULL,"
            "  ended_at @int,"
            "  PRIMARY KEY (treasury, nonce, account_id)"
            ") @strict;"
            "CREATE INDEX transfer_freezes_of ON transfer_freezes (account_id)"
            "  WHERE ended_at IS NULL;"},
    // What the treasury was short of when it was this one's turn.
    {.feature = "transfers",
     .number = 11,
     .sql = "ALTER TABLE transfers ADD COLUMN short_of @text;"},
    // What an account had signed within a day, however many others had.
    {.feature = "transfers",
     .number = 12,
     .sql = "CREATE INDEX transfers_of_account_by_signing ON transfers (account_id, signed_at)"
            "  WHERE signed_at IS NOT NULL;"},
    // Addresses that a token would not pay, and how many payments were reverted one after the
    // other.
    {.feature = "transfers",
     .number = 13,
     .sql = "CREATE TABLE refused_payees ("
            "  payee_id @id NOT NULL PRIMARY KEY,"
            "  asset @text NOT NULL,"
            "  address @text NOT NULL,"
            "  refusals @int NOT NULL CHECK (refusals > 0),"
            "  refused_at @int NOT NULL,"
            "  why @text NOT NULL,"
            "  barred_at @int,"
            "  UNIQUE (asset, address)"
            ") @strict;"
            "CREATE TABLE reverts_in_a_row ("
            "  line @int NOT NULL PRIMARY KEY CHECK (line = 1),"
            "  reverts @int NOT NULL"
            ") @strict;"
            "INSERT INTO reverts_in_a_row (line, reverts) VALUES (1, 0);"},
    // Why an operator holds this one back.
    {.feature = "transfers",
     .number = 14,
     .sql = "ALTER TABLE transfers ADD COLUMN held_why @text;"
            // Whose an address is, and what was sent there.
            "CREATE INDEX withdrawal_addresses_by_address ON withdrawal_addresses (address);"
            "CREATE INDEX transfers_by_address ON transfers (address);"},
    // Whose owner was not told yet what became of it. What was over before is nobody's news.
    {.feature = "transfers",
     .number = 15,
     .sql = "ALTER TABLE transfers ADD COLUMN told @int NOT NULL DEFAULT 0;"
            "UPDATE transfers SET told = 1"
            "  WHERE state IN ('SETTLED', 'FAILED', 'EXPIRED', 'CANCELLED');"
            "CREATE INDEX transfers_untold ON transfers (transfer_id)"
            "  WHERE told = 0 AND state IN ('SETTLED', 'FAILED', 'EXPIRED', 'CANCELLED');"},
    // Reverts are counted by asset.
    {.feature = "transfers",
     .number = 16,
     .sql = "DROP TABLE reverts_in_a_row;"
            "CREATE TABLE reverts_in_a_row ("
            "  asset @text NOT NULL PRIMARY KEY,"
            "  reverts @int NOT NULL"
            ") @strict;"},
    // Which operator holds it back.
    {.feature = "transfers", .number = 17, .sql = "ALTER TABLE transfers ADD COLUMN held_by @id;"},
    // Operators look at what is in one state; nearly all are settled. (The second condition
    // keeps the settler's statements to the indexes of their own.)
    {.feature = "transfers",
     .number = 18,
     .sql = "CREATE INDEX transfers_by_state ON transfers (state, transfer_id)"
            "  WHERE state <> 'SETTLED' AND transfer_id IS NOT NULL;"},
    // What an operator holds back, among all there were.
    {.feature = "transfers",
     .number = 19,
     .sql = "CREATE INDEX transfers_held ON transfers (transfer_id) WHERE held_why IS NOT NULL;"},
    // Owners hear of it by the account's events.
    {.feature = "transfers",
     .number = 20,
     .sql = "DROP INDEX transfers_untold;"
            "ALTER TABLE transfers DROP COLUMN told;"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::transfers
