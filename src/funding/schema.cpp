#include "funding/store.hpp"

namespace berth::funding {
namespace {

constexpr db::Migration history[] = {
    {.feature = "funding",
     .number = 1,
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
        ") @strict;",
     .formerly = 8},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::funding
