#include "money/store.hpp"

namespace berth::money {

const db::Migration money_migration{
    .number = 8,
    .name = "money",
    .sql =
        "CREATE TABLE funding_intents ("
        "  intent_id @id NOT NULL PRIMARY KEY,"
        "  account_id @id NOT NULL,"
        "  binding_id @id NOT NULL,"
        "  binding_version @int NOT NULL,"
        "  wallet @text NOT NULL,"
        "  asset @text NOT NULL,"
        "  token @text NOT NULL,"
        "  treasury @text NOT NULL,"
        "  amount @int NOT NULL CHECK (amount > 0),"
        "  state @text NOT NULL CHECK (state IN ('OPEN', 'CONFIRMED', 'EXCEPTION')),"
        "  exception @text,"
        "  created_at @int NOT NULL,"
        "  expires_at @int NOT NULL,"
        "  claim_tx @text,"
        "  claim_log_index @int,"
        "  confirmed_at @int"
        ") @strict;"
        "CREATE INDEX funding_intents_by_account ON funding_intents (account_id, intent_id);"

        // A claim whose transfer is not final yet; the watcher looks again. At most one per intent.
        "CREATE TABLE pending_claims ("
        "  intent_id @id NOT NULL PRIMARY KEY,"
        "  tx_hash @text NOT NULL,"
        "  log_index @int NOT NULL,"
        "  claimed_at @int NOT NULL,"
        "  until @int NOT NULL,"
        "  looked_at @int NOT NULL"
        ") @strict;"
        "CREATE INDEX pending_claims_by_look ON pending_claims (looked_at);"

        // Every transfer to the treasury that is known. The key is what a reorganisation of the
        // chain does not change, and it is used up for ever.
        "CREATE TABLE deposits ("
        "  tx_hash @text NOT NULL,"
        "  ordinal @int NOT NULL,"
        "  asset @text NOT NULL,"
        "  sender @text NOT NULL,"
        "  amount @int NOT NULL CHECK (amount > 0),"
        "  block @int NOT NULL,"
        "  seen_at @int NOT NULL,"
        "  state @text NOT NULL CHECK (state IN ('SUSPENSE', 'CLAIMED')),"
        "  intent_id @id UNIQUE,"
        "  PRIMARY KEY (tx_hash, ordinal)"
        ") @strict;"
        "CREATE INDEX deposits_in_suspense ON deposits (tx_hash, ordinal) WHERE state = 'SUSPENSE';"

        // How far the watcher has read.
        "CREATE TABLE chain_cursors ("
        "  name @text NOT NULL PRIMARY KEY,"
        "  block @int NOT NULL"
        ") @strict;"

        "CREATE TABLE confirmations ("
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

        // Every transaction ever signed for a transfer; all of one transfer have the same signer and
        // nonce, so the chain takes at most one of them. A row is committed before its bytes are sent.
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
};

}  // namespace berth::money
