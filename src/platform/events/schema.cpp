#include "events/keeping.hpp"

namespace berth::events {

namespace {

constexpr db::Migration history[] = {
    {.feature = "events",
     .number = 1,
     .sql =
         // One per account that was ever told something. Locked by who tells, until the commit: so
         // a number that is seen has all those before it.
     "CREATE TABLE event_heads ("
     "  account_id @id NOT NULL PRIMARY KEY,"
     "  oldest @int NOT NULL CHECK (oldest >= 1),"
     "  newest @int NOT NULL,"
     "  CHECK (newest >= oldest - 1)"
     ") @strict;"

     // Append-only, but for what has become old. Of all operators where account_id is zeros.
     "CREATE TABLE events ("
     "  account_id @id NOT NULL,"
     "  sequence @int NOT NULL,"
     "  event_id @id NOT NULL,"
     "  at @int NOT NULL,"
     "  type @text NOT NULL,"
     "  subject_kind @text NOT NULL,"
     "  subject_id @text NOT NULL,"
     "  audience @text NOT NULL CHECK (audience IN ('renter', 'host', 'both', 'operators')),"
     "  data @text NOT NULL,"
     "  PRIMARY KEY (account_id, sequence)"
     ") @strict;"
     "CREATE INDEX events_by_time ON events (at, account_id, sequence);"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::events
