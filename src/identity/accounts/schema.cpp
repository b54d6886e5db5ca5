#include "accounts/store.hpp"

namespace berth::accounts {

namespace {

constexpr db::Migration history[] = {
    {.feature = "accounts",
     .number = 1,
     .sql = "CREATE TABLE accounts ("
            "  account_id @id NOT NULL PRIMARY KEY,"
            "  kind @text NOT NULL CHECK (kind IN ('human', 'agent')),"
            "  email @text UNIQUE,"
            "  role @text NOT NULL CHECK (role IN ('renter', 'host', 'admin')),"
            "  host_capability @int NOT NULL,"
            "  host_barred @int NOT NULL,"  // an operator took the capability away
            "  suspended @int NOT NULL,"
            "  version @int NOT NULL,"  // + 1 on every change an operator may have looked at
            "  totp_secret @bytes,"     // sealed
            "  totp_step @int NOT NULL,"
            "  created_at @int NOT NULL,"
            "  last_sign_in_at @int,"
            "  CHECK ((kind = 'human') = (email IS NOT NULL))"
            ") @strict;"

            "CREATE TABLE sessions ("
            "  session_id @id NOT NULL PRIMARY KEY,"
            "  token_hash @bytes NOT NULL UNIQUE,"
            "  account_id @id NOT NULL,"
            "  origin @text NOT NULL,"
            "  user_agent_hash @bytes NOT NULL,"
            "  pending @int NOT NULL,"
            "  failures @int NOT NULL,"
            "  account_sensitive_until @int NOT NULL,"
            "  wallet_until @int NOT NULL,"
            "  admin_sensitive_until @int NOT NULL,"
            "  created_at @int NOT NULL,"
            "  last_seen_at @int NOT NULL,"
            "  expires_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX sessions_by_account ON sessions (account_id);"
            "CREATE INDEX sessions_by_end ON sessions (expires_at);"

            "CREATE TABLE email_codes ("
            "  purpose @text NOT NULL,"
            "  email @text NOT NULL,"
            "  code_id @id NOT NULL,"
            "  code_hash @bytes,"  // null once spent
            "  token_hash @bytes,"
            "  bound_to @text NOT NULL,"
            "  tries @int NOT NULL,"
            "  expires_at @int NOT NULL,"
            "  window_start @int NOT NULL,"
            "  sent @int NOT NULL,"
            "  PRIMARY KEY (purpose, email)"
            ") @strict;"
            "CREATE UNIQUE INDEX email_codes_by_token ON email_codes (token_hash);"
            "CREATE INDEX email_codes_by_end ON email_codes (expires_at);"

            "CREATE TABLE totp_enrollments ("
            "  enrollment_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  sealed_secret @bytes NOT NULL,"
            "  expires_at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX totp_enrollments_by_account ON totp_enrollments (account_id);"
            "CREATE INDEX totp_enrollments_by_end ON totp_enrollments (expires_at);"

            "CREATE TABLE recovery_codes ("
            "  account_id @id NOT NULL,"
            "  code_hash @bytes NOT NULL,"
            "  PRIMARY KEY (account_id, code_hash)"
            ") @strict;"

            "CREATE TABLE api_keys ("
            "  hash_number @int NOT NULL PRIMARY KEY,"  // the start of the hash: quicker to find
            "  key_hash @bytes NOT NULL,"
            "  key_id @id NOT NULL UNIQUE,"
            "  account_id @id NOT NULL,"
            "  name @text NOT NULL,"
            "  prefix @text NOT NULL,"
            "  renter @int NOT NULL,"
            "  host @int NOT NULL,"
            "  created_at @int NOT NULL,"
            "  expires_at @int,"
            "  last_used_at @int,"
            "  revoked_at @int"
            ") @strict;"
            "CREATE INDEX api_keys_by_account ON api_keys (account_id, key_id);"

            "CREATE TABLE integrations ("
            "  account_id @id NOT NULL,"
            "  provider @text NOT NULL,"
            "  sealed_token @bytes NOT NULL,"
            "  updated_at @int NOT NULL,"
            "  PRIMARY KEY (account_id, provider)"
            ") @strict;",
     .formerly = 4},
    {.feature = "accounts",
     .number = 2,
     .sql =
         // Codes live ten minutes: none is worth carrying over.
     "DROP TABLE email_codes;"
     "CREATE TABLE email_codes ("
     "  code_id @id NOT NULL PRIMARY KEY,"
     "  purpose @text NOT NULL,"
     "  email @text NOT NULL,"
     "  asked_from @text NOT NULL,"
     "  code_hash @bytes,"  // null once spent
     "  token_hash @bytes,"
     "  bound_to @text NOT NULL,"
     "  tries @int NOT NULL,"
     "  created_at @int NOT NULL,"
     "  expires_at @int NOT NULL"
     ") @strict;"
     "CREATE UNIQUE INDEX email_codes_by_token ON email_codes (token_hash);"
     "CREATE INDEX email_codes_by_mailbox ON email_codes (email, purpose, created_at);"
     "CREATE INDEX email_codes_by_age ON email_codes (created_at);"

     "CREATE TABLE allowances ("
     "  kind @text NOT NULL,"
     "  subject @text NOT NULL,"
     "  full_at @int NOT NULL,"
     "  PRIMARY KEY (kind, subject)"
     ") @strict;"
     "CREATE INDEX allowances_by_end ON allowances (full_at);"},
    {.feature = "accounts",
     .number = 3,
     .sql =
         // What a person knows a session by.
     "ALTER TABLE sessions ADD COLUMN user_agent @text NOT NULL DEFAULT '';"
     "ALTER TABLE sessions ADD COLUMN opened_from @text NOT NULL DEFAULT '';"
     // An agent steps up with its key.
     "ALTER TABLE api_keys ADD COLUMN account_sensitive_until @int NOT NULL DEFAULT 0;"
     "ALTER TABLE api_keys ADD COLUMN wallet_until @int NOT NULL DEFAULT 0;"},
    // What a key may spend, what it has open, and for which jobs.
    {.feature = "accounts",
     .number = 4,
     .sql = "CREATE TABLE key_policies ("
            "  key_id @id NOT NULL PRIMARY KEY,"
            "  policy @text NOT NULL,"
            "  max_rate @int,"
            "  max_open @int,"
            "  max_hold @int,"
            "  per_day @int,"
            "  open_rentals @int NOT NULL CHECK (open_rentals >= 0),"
            "  held @int NOT NULL CHECK (held >= 0),"
            "  day @int NOT NULL,"
            "  day_held @int NOT NULL,"
            "  CHECK (max_open IS NULL OR open_rentals <= max_open),"
            "  CHECK (max_hold IS NULL OR held <= max_hold)"
            ") @strict;"
            "CREATE TABLE key_holds ("
            "  job_id @id NOT NULL,"
            "  key_id @id NOT NULL,"
            "  amount @int NOT NULL,"
            "  rentals @int NOT NULL,"
            "  PRIMARY KEY (job_id, key_id)"
            ") @strict;"},
    // When an admin ceased to be one, for those who ask whether there was a second one lately; and
    // operators who are no admins.
    {.feature = "accounts",
     .number = 5,
     .sql = "ALTER TABLE accounts ADD COLUMN admin_ended_at @int;"
            "ALTER TABLE accounts ADD COLUMN desk_role @text "
            "CHECK (desk_role IS NULL OR desk_role IN ('support', 'finance'));"},
    // The networks that people signed in from, which have a share of their own of a mailbox's mail.
    {.feature = "accounts",
     .number = 6,
     .sql = "CREATE TABLE sign_in_networks ("
            "  account_id @id NOT NULL,"
            "  network @text NOT NULL,"
            "  last_at @int NOT NULL,"
            "  PRIMARY KEY (account_id, network)"
            ") @strict;"},
    // How old an authenticator is; one from before this was kept is as old as it can be.
    {.feature = "accounts",
     .number = 7,
     .sql = "ALTER TABLE accounts ADD COLUMN totp_since @int;"
            "UPDATE accounts SET totp_since = created_at WHERE totp_secret IS NOT NULL;"},
    // Which networks came first: they stay.
    {.feature = "accounts",
     .number = 8,
     .sql = "ALTER TABLE sign_in_networks ADD COLUMN first_at @int NOT NULL DEFAULT 0;"
            "UPDATE sign_in_networks SET first_at = last_at;"},
    // Accounts that operators have frozen; and keys, found by their prefix.
    {.feature = "accounts",
     .number = 9,
     .sql = "ALTER TABLE accounts ADD COLUMN frozen @int NOT NULL DEFAULT 0;"
            "CREATE INDEX api_keys_by_id ON api_keys (key_id);"
            "CREATE INDEX api_keys_by_prefix ON api_keys (prefix);"},
    // Addresses that accounts signed in by before: they are told when somebody wants another one.
    {.feature = "accounts",
     .number = 10,
     .sql = "CREATE TABLE former_emails ("
            "  account_id @id NOT NULL,"
            "  email @text NOT NULL,"
            "  ended_at @int NOT NULL,"
            "  PRIMARY KEY (account_id, email)"
            ") @strict;"},
    // Who may open an account while the market is closed.
    {.feature = "accounts",
     .number = 11,
     .sql = "CREATE TABLE allow_list ("
            "  allowed_id @id NOT NULL PRIMARY KEY,"
            "  kind @text NOT NULL CHECK (kind IN ('email', 'domain', 'wallet')),"
            "  value @text NOT NULL,"
            "  reason @text NOT NULL,"
            "  added_by @id NOT NULL,"
            "  created_at @int NOT NULL,"
            "  expires_at @int,"
            "  invited_at @int,"
            "  used_at @int,"
            "  UNIQUE (kind, value)"
            ") @strict;"},
    // Addresses that take the place of a lost one before long: nobody opens another account by one.
    {.feature = "accounts",
     .number = 12,
     .sql = "CREATE TABLE promised_emails ("
            "  email @text NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  promised_until @int NOT NULL"
            ") @strict;"
            "CREATE INDEX promised_emails_by_account ON promised_emails (account_id);"},
    // Operators look for the address that somebody used to have. (An id of a key is unique, and so
    // has an index of its own.)
    {.feature = "accounts",
     .number = 13,
     .sql = "CREATE INDEX former_emails_by_email ON former_emails (email);"
            "DROP INDEX api_keys_by_id;"},
    // Who has frozen it: another operator does not end that alone.
    {.feature = "accounts", .number = 14, .sql = "ALTER TABLE accounts ADD COLUMN frozen_by @id;"},
    // Whose sessions, keys or rights changed, numbered in the order of commits.
    {.feature = "accounts",
     .number = 15,
     .sql = "CREATE TABLE access_epoch ("
            "  one @int NOT NULL PRIMARY KEY CHECK (one = 1),"
            "  epoch @int NOT NULL"
            ") @strict;"
            "CREATE TABLE access_changes ("
            "  account_id @id NOT NULL PRIMARY KEY,"
            "  epoch @int NOT NULL"
            ") @strict;"
            "CREATE INDEX access_changes_by_epoch ON access_changes (epoch);"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::accounts
