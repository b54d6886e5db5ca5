#include "delivery/webhook_store.hpp"

namespace berth::delivery {
namespace {

constexpr db::Migration history[] = {
    {.feature = "delivery",
     .number = 1,
     .sql =
         // Nobody else writes what is sent: `sent_through` is the place in the account's stream.
     "CREATE TABLE webhooks ("
     "  webhook_id @id NOT NULL PRIMARY KEY,"
     "  account_id @id NOT NULL,"
     "  key_id @id,"
     "  renter @int NOT NULL,"
     "  host @int NOT NULL,"
     "  url @text NOT NULL,"
     "  types @text NOT NULL,"
     "  enabled @int NOT NULL,"
     "  disabled_cause @text CHECK (disabled_cause IN ('gone', 'unreachable', 'key_ended')),"
     "  sealed_secret @bytes NOT NULL,"
     "  sealed_previous @bytes,"
     "  previous_until @int,"
     "  sent_through @int NOT NULL CHECK (sent_through >= 0),"
     "  place @int NOT NULL,"
     "  attempts @int NOT NULL,"
     "  failing_since @int,"
     "  warned @int NOT NULL,"
     "  next_at @int,"
     "  lease_id @id,"
     "  lease_until @int NOT NULL,"
     "  revision @int NOT NULL,"
     "  created_at @int NOT NULL,"
     "  updated_at @int NOT NULL"
     ") @strict;"
     "CREATE INDEX webhooks_by_account ON webhooks (account_id, webhook_id);"

     // Attempts, and what was asked for and waits.
     "CREATE TABLE webhook_deliveries ("
     "  delivery_id @id NOT NULL PRIMARY KEY,"
     "  webhook_id @id NOT NULL,"
     "  kind @text NOT NULL CHECK (kind IN ('event', 'redelivery', 'test')),"
     "  state @text NOT NULL CHECK (state IN ('waiting', 'delivered', 'retrying', 'failed')),"
     "  event_id @id NOT NULL,"
     "  sequence @int NOT NULL,"
     "  type @text NOT NULL,"
     "  attempt @int NOT NULL,"
     "  status @int,"
     "  fault @text,"
     "  answer @text,"
     "  took_ms @int,"
     "  at @int NOT NULL"
     ") @strict;"
     "CREATE INDEX webhook_deliveries_by_webhook"
     "  ON webhook_deliveries (webhook_id, delivery_id);"
     "CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (at);"
     "CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, delivery_id)"
     "  WHERE state = 'waiting';"},
    {.feature = "delivery",
     .number = 2,
     .sql = "CREATE TABLE mail_choices ("
            "  account_id @id NOT NULL,"
            "  type @text NOT NULL,"
            "  choice @text NOT NULL CHECK (choice IN ('now', 'digest', 'off')),"
            "  PRIMARY KEY (account_id, type)"
            ") @strict;"

            // How far an account's events were looked at for mails.
            "CREATE TABLE mail_places ("
            "  account_id @id NOT NULL PRIMARY KEY,"
            "  through @int NOT NULL,"
            "  window_began @int NOT NULL,"  // of the mails that may be single
            "  window_mails @int NOT NULL,"
            "  next_at @int NOT NULL,"  // nothing is looked at before
            "  digest_through @int NOT NULL,"
            "  digest_at @int"  // none: nothing waits for one
            ") @strict;"
            "CREATE INDEX mail_places_digests ON mail_places (digest_at)"
            "  WHERE digest_at IS NOT NULL;"},
    // Refusals of the event that is next, apart from the times when nobody answered.
    {.feature = "delivery",
     .number = 3,
     .sql = "ALTER TABLE webhooks ADD COLUMN refusals @int NOT NULL DEFAULT 0;"},
    // One is disabled, too, where events that it had yet to send are not kept any more.
    {.feature = "delivery",
     .number = 4,
     .sql = "CREATE TABLE webhooks_4 ("
            "  webhook_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  key_id @id,"
            "  renter @int NOT NULL,"
            "  host @int NOT NULL,"
            "  url @text NOT NULL,"
            "  types @text NOT NULL,"
            "  enabled @int NOT NULL,"
            "  disabled_cause @text CHECK (disabled_cause IN"
            "    ('gone', 'unreachable', 'key_ended', 'events_expired')),"
            "  sealed_secret @bytes NOT NULL,"
            "  sealed_previous @bytes,"
            "  previous_until @int,"
            "  sent_through @int NOT NULL CHECK (sent_through >= 0),"
            "  place @int NOT NULL,"
            "  attempts @int NOT NULL,"
            "  failing_since @int,"
            "  warned @int NOT NULL,"
            "  next_at @int,"
            "  lease_id @id,"
            "  lease_until @int NOT NULL,"
            "  revision @int NOT NULL,"
            "  created_at @int NOT NULL,"
            "  updated_at @int NOT NULL,"
            "  refusals @int NOT NULL DEFAULT 0"
            ") @strict;"
            "INSERT INTO webhooks_4 (webhook_id, account_id, key_id, renter, host, url, types,"
            "  enabled, disabled_cause, sealed_secret, sealed_previous, previous_until,"
            "  sent_through, place, attempts, failing_since, warned, next_at, lease_id,"
            "  lease_until, revision, created_at, updated_at, refusals) SELECT webhook_id,"
            "  account_id, key_id, renter, host, url, types, enabled, disabled_cause,"
            "  sealed_secret, sealed_previous, previous_until, sent_through, place, attempts,"
            "  failing_since, warned, next_at, lease_id, lease_until, revision, created_at,"
            "  updated_at, refusals FROM webhooks;"
            "DROP TABLE webhooks;"
            "ALTER TABLE webhooks_4 RENAME TO webhooks;"
            "CREATE INDEX webhooks_by_account ON webhooks (account_id, webhook_id);"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::delivery
