#include "audit/audit.hpp"

namespace berth::audit {

namespace {

constexpr db::Migration history[] = {
    {.feature = "audit",
     .number = 1,
     .sql =
         // Append-only.
     "CREATE TABLE audit_events ("
     "  sequence @int NOT NULL PRIMARY KEY,"
     "  audit_event_id @id NOT NULL UNIQUE,"
     "  at @int NOT NULL,"
     "  actor_kind @text NOT NULL CHECK (actor_kind IN ('account', 'operator', 'system')),"
     "  account_id @id,"
     "  action @text NOT NULL,"
     "  target_kind @text NOT NULL,"
     "  target_id @text NOT NULL,"
     "  reason @text,"
     "  request_id @id,"
     "  previous_hash @bytes NOT NULL,"
     "  hash @bytes NOT NULL,"
     "  CHECK ((actor_kind = 'account') = (account_id IS NOT NULL))"
     ") @strict;"
     "CREATE INDEX audit_events_by_target ON audit_events (target_kind, target_id, sequence);"

     // Append-only. What an event changed, in order.
     "CREATE TABLE audit_changes ("
     "  sequence @int NOT NULL,"
     "  ordinal @int NOT NULL,"
     "  field @text NOT NULL,"
     "  before @text,"
     "  after @text,"
     "  PRIMARY KEY (sequence, ordinal)"
     ") @strict;"

     // One row: the end of the chain.
     "CREATE TABLE audit_chain ("
     "  chain @int NOT NULL PRIMARY KEY CHECK (chain = 1),"
     "  sequence @int NOT NULL,"
     "  head @bytes NOT NULL"
     ") @strict;"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::audit
