#include "gates/store.hpp"

namespace berth::gates {
namespace {

constexpr db::Migration history[] = {
    {.feature = "gates",
     .number = 1,
     .sql =
         // What operators said of each. heard_at and draining are of its newest process; the bytes
         // are of all doors that it ever had.
     "CREATE TABLE gates ("
     "  gate_id @id NOT NULL PRIMARY KEY,"
     "  host @text NOT NULL,"
     "  dial_host @text NOT NULL,"
     "  link_port @int NOT NULL CHECK (link_port BETWEEN 1 AND 65535),"
     "  call_port @int NOT NULL CHECK (call_port BETWEEN 1 AND 65535),"
     "  ports_from @int NOT NULL CHECK (ports_from >= 1024),"
     "  ports_to @int NOT NULL CHECK (ports_to <= 65535),"
     "  continent @text,"
     "  public_key @text NOT NULL,"
     "  tls_key_sha256 @text NOT NULL,"
     "  added_at @int NOT NULL,"
     "  heard_at @int,"
     "  draining @int NOT NULL,"
     "  drained_at @int,"
     "  removed_at @int,"
     "  bytes_in @int NOT NULL,"
     "  bytes_out @int NOT NULL,"
     "  CHECK (ports_from <= ports_to)"
     ") @strict;"

     // The processes of a gate: two at a time while it is upgraded.
     "CREATE TABLE gate_boots ("
     "  gate_id @id NOT NULL,"
     "  boot_id @text NOT NULL,"
     "  started_at @int NOT NULL,"
     "  heard_at @int,"
     "  draining @int NOT NULL,"
     "  PRIMARY KEY (gate_id, boot_id)"
     ") @strict;"
     "CREATE INDEX gate_boots_by_heard ON gate_boots (heard_at);"

     // One for each name of a job or test, and where it is; it is the same door after a move.
     // linked_boot: the process that said last that its machine has a link. uncarried_since: since
     // when none did; also while the door is taken back.
     "CREATE TABLE gate_doors ("
     "  door_id @id NOT NULL PRIMARY KEY,"
     "  machine_id @id NOT NULL,"
     "  job_id @id,"
     "  run_id @id,"
     "  name @text NOT NULL,"
     "  kind @text NOT NULL CHECK (kind IN ('ssh', 'http', 'test')),"
     "  account @id,"
     "  gate_id @id NOT NULL,"
     "  port @int NOT NULL,"
     "  given_at @int NOT NULL,"
     "  freed_at @int,"
     "  linked_boot @text,"
     "  uncarried_since @int,"
     "  CHECK ((job_id IS NULL) <> (run_id IS NULL)),"
     "  CHECK ((linked_boot IS NULL) <> (uncarried_since IS NULL)),"
     "  UNIQUE (job_id, name),"
     "  UNIQUE (run_id, name)"
     ") @strict;"
     "CREATE UNIQUE INDEX gate_doors_by_port ON gate_doors (gate_id, port)"
     "  WHERE freed_at IS NULL;"
     "CREATE INDEX gate_doors_by_machine ON gate_doors (machine_id) WHERE freed_at IS NULL;"
     "CREATE INDEX gate_doors_by_gate ON gate_doors (gate_id, door_id) WHERE freed_at IS NULL;"
     "CREATE INDEX gate_doors_by_end ON gate_doors (freed_at) WHERE freed_at IS NOT NULL;"

     // Every port that was ever used, with its last door. One that was given back rests.
     "CREATE TABLE gate_ports ("
     "  gate_id @id NOT NULL,"
     "  port @int NOT NULL,"
     "  door_id @id NOT NULL,"
     "  freed_at @int,"
     "  PRIMARY KEY (gate_id, port)"
     ") @strict;"

     // The number of a machine's last ticket, and when its doors last moved.
     "CREATE TABLE gate_machines ("
     "  machine_id @id NOT NULL PRIMARY KEY,"
     "  serial @int NOT NULL,"
     "  moved_at @int"
     ") @strict;"

     // What a process said last of a door; its counters begin with it.
     "CREATE TABLE gate_usage ("
     "  door_id @id NOT NULL,"
     "  boot_id @text NOT NULL,"
     "  bytes_in @int NOT NULL,"
     "  bytes_out @int NOT NULL,"
     "  streams @int NOT NULL,"
     "  PRIMARY KEY (door_id, boot_id)"
     ") @strict;"

     // What was carried for a job on a day (UTC); account is the renter's.
     "CREATE TABLE gate_days ("
     "  job_id @id NOT NULL,"
     "  day @int NOT NULL,"
     "  account @id,"
     "  bytes_in @int NOT NULL,"
     "  bytes_out @int NOT NULL,"
     "  PRIMARY KEY (job_id, day)"
     ") @strict;"
     "CREATE INDEX gate_days_by_account ON gate_days (account, day) WHERE account IS NOT NULL;"

     // Times that are over in which a door of a job was not carried.
     "CREATE TABLE gate_gaps ("
     "  door_id @id NOT NULL,"
     "  from_at @int NOT NULL,"
     "  to_at @int NOT NULL,"
     "  PRIMARY KEY (door_id, from_at),"
     "  CHECK (from_at <= to_at)"
     ") @strict;"

     // When we could last hear, and when we could not.
     "CREATE TABLE gate_hearing ("
     "  one @int NOT NULL PRIMARY KEY CHECK (one = 1),"
     "  alive_at @int NOT NULL"
     ") @strict;"
     "CREATE TABLE gate_outages ("
     "  from_at @int NOT NULL PRIMARY KEY,"
     "  to_at @int NOT NULL"
     ") @strict;"
     "CREATE INDEX gate_outages_by_end ON gate_outages (to_at);"},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

}  // namespace berth::gates
