#include "funding/store.hpp"

namespace berth::funding {
namespace {

constexpr db::Migration history[] = {
    {.feature = "funding",
     .number = 1,
     .sql = "CREATE TABLE funding_intents ("
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

            // A claim whose transfer is not final yet; the watcher looks again. At most one per
            // intent.
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
            "CREATE INDEX deposits_in_suspense ON deposits (tx_hash, ordinal) WHERE state = "
            "'SUSPENSE';"

            // How far the watcher has read.
            "CREATE TABLE chain_cursors ("
            "  name @text NOT NULL PRIMARY KEY,"
            "  block @int NOT NULL"
            ") @strict;",
     .formerly = 8},
    // An intent can be cancelled. A deposit says whose it is and which treasury got it. Every
    // treasury that was ever named to anybody is watched, each token of it on its own. (Constraints
    // are not altered in place, so the tables are written anew.)
    {.feature = "funding",
     .number = 2,
     .sql =
         "CREATE TABLE new_intents ("
         "  intent_id @id NOT NULL PRIMARY KEY,"
         "  account_id @id NOT NULL,"
         "  binding_id @id NOT NULL,"
         "  binding_version @int NOT NULL,"
         "  wallet @text NOT NULL,"
         "  asset @text NOT NULL,"
         "  token @text NOT NULL,"
         "  treasury @text NOT NULL,"
         "  amount @int NOT NULL CHECK (amount > 0),"
         "  state @text NOT NULL CHECK (state IN ('OPEN', 'CONFIRMED', 'EXCEPTION', 'CANCELLED')),"
         "  exception @text,"
         "  created_at @int NOT NULL,"
         "  expires_at @int NOT NULL,"
         "  claim_tx @text,"
         "  claim_log_index @int,"
         "  confirmed_at @int"
         ") @strict;"
         "INSERT INTO new_intents (intent_id, account_id, binding_id, binding_version, wallet, "
         "asset,"
         "  token, treasury, amount, state, exception, created_at, expires_at, claim_tx,"
         "  claim_log_index, confirmed_at) SELECT intent_id, account_id, binding_id,"
         "  binding_version, wallet, asset, token, treasury, amount, state, exception, created_at,"
         "  expires_at, claim_tx, claim_log_index, confirmed_at FROM funding_intents;"
         "DROP TABLE funding_intents;"
         "ALTER TABLE new_intents RENAME TO funding_intents;"
         "CREATE INDEX funding_intents_by_account ON funding_intents (account_id, intent_id);"
         "CREATE INDEX funding_intents_open ON funding_intents (account_id, expires_at)"
         "  WHERE state IN ('OPEN', 'EXCEPTION');"

         "CREATE TABLE new_deposits ("
         "  tx_hash @text NOT NULL,"
         "  ordinal @int NOT NULL,"
         "  asset @text NOT NULL,"
         "  sender @text NOT NULL,"
         "  treasury @text,"  // none: from before it was noted
         "  amount @int NOT NULL CHECK (amount > 0),"
         "  block @int NOT NULL,"
         "  seen_at @int NOT NULL,"
         "  updated_at @int NOT NULL,"
         "  state @text NOT NULL CHECK (state IN ('SUSPENSE', 'CLAIMED', 'OWN', 'RETURNED')),"
         "  intent_id @id UNIQUE,"
         "  account_id @id,"
         "  PRIMARY KEY (tx_hash, ordinal),"
         "  CHECK ((state = 'CLAIMED') = (account_id IS NOT NULL))"
         ") @strict;"
         "INSERT INTO new_deposits (tx_hash, ordinal, asset, sender, treasury, amount, block,"
         "  seen_at, updated_at, state, intent_id, account_id)"
         "  SELECT d.tx_hash, d.ordinal, d.asset, d.sender, NULL, d.amount, d.block, d.seen_at,"
         "  d.seen_at, d.state, d.intent_id, i.account_id FROM deposits d"
         "  LEFT JOIN funding_intents i ON i.intent_id = d.intent_id;"
         "DROP TABLE deposits;"
         "ALTER TABLE new_deposits RENAME TO deposits;"
         "CREATE INDEX deposits_in_suspense ON deposits (tx_hash, ordinal) WHERE state = "
         "'SUSPENSE';"

         // What is older than first_block is history; up to read_to everything is known.
         "CREATE TABLE watched_treasuries ("
         "  treasury @text NOT NULL,"
         "  token @text NOT NULL,"
         "  asset @text NOT NULL,"
         "  first_block @int,"
         "  read_to @int,"
         "  PRIMARY KEY (treasury, token),"
         "  CHECK ((first_block IS NULL) = (read_to IS NULL))"
         ") @strict;"
         "INSERT INTO watched_treasuries (treasury, token, asset, first_block, read_to)"
         "  SELECT DISTINCT i.treasury, i.token, i.asset,"
         "  CASE WHEN c.block IS NULL THEN NULL ELSE f.block END,"
         "  CASE WHEN f.block IS NULL THEN NULL ELSE c.block END FROM funding_intents i"
         "  LEFT JOIN chain_cursors c ON c.name = 'deposits:' || i.treasury"
         "  LEFT JOIN chain_cursors f ON f.name = 'first';"
         "DROP TABLE chain_cursors;"},
    // A transfer in suspense can be on its way back to its sender.
    {.feature = "funding",
     .number = 3,
     .sql =
         "CREATE TABLE deposits_3 ("
         "  tx_hash @text NOT NULL,"
         "  ordinal @int NOT NULL,"
         "  asset @text NOT NULL,"
         "  sender @text NOT NULL,"
         "  treasury @text,"  // none: from before it was noted
         "  amount @int NOT NULL CHECK (amount > 0),"
         "  block @int NOT NULL,"
         "  seen_at @int NOT NULL,"
         "  updated_at @int NOT NULL,"
         "  state @text NOT NULL CHECK (state IN ('SUSPENSE', 'RETURNING', 'CLAIMED', 'OWN',"
         "    'RETURNED')),"
         "  intent_id @id UNIQUE,"
         "  account_id @id,"
         "  PRIMARY KEY (tx_hash, ordinal),"
         "  CHECK ((state = 'CLAIMED') = (account_id IS NOT NULL))"
         ") @strict;"
         "INSERT INTO deposits_3 (tx_hash, ordinal, asset, sender, treasury, amount, block,"
         "  seen_at, updated_at, state, intent_id, account_id)"
         "  SELECT tx_hash, ordinal, asset, sender, treasury, amount, block, seen_at, updated_at,"
         "  state, intent_id, account_id FROM deposits;"
         "DROP TABLE deposits;"
         "ALTER TABLE deposits_3 RENAME TO deposits;"
         "CREATE INDEX deposits_unclaimed ON deposits (tx_hash, ordinal)"
         "  WHERE state <> 'CLAIMED';"
         "CREATE INDEX funding_intents_to ON funding_intents (treasury, expires_at)"
         "  WHERE state IN ('OPEN', 'EXCEPTION');"
         "CREATE INDEX funding_intents_by_confirmation ON funding_intents (confirmed_at)"
         "  WHERE state = 'CONFIRMED';"
         // The nightly proof looks at what has changed since the last one.
         "CREATE INDEX deposits_by_change ON deposits (updated_at);"},
    // As a claim names the transfer; none: from before it was noted.
    {.feature = "funding", .number = 4, .sql = "ALTER TABLE deposits ADD COLUMN log_index @int;"},
    // What nobody used goes after a while.
    {.feature = "funding",
     .number = 5,
     .sql = "CREATE INDEX funding_intents_unused ON funding_intents (expires_at)"
            "  WHERE state IN ('OPEN', 'CANCELLED');"},
    // What operators look through.
    {.feature = "funding",
     .number = 6,
     .sql = "CREATE INDEX deposits_by_sight ON deposits (seen_at, tx_hash, ordinal);"
            "CREATE INDEX deposits_by_sender ON deposits (sender);"
            "CREATE INDEX deposits_by_account ON deposits (account_id)"
            "  WHERE account_id IS NOT NULL;"},
    // Those whose claim was refused, among all there were.
    {.feature = "funding",
     .number = 7,
     .sql = "CREATE INDEX funding_intents_refused ON funding_intents (state, intent_id)"
            "  WHERE state = 'EXCEPTION';"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::funding
