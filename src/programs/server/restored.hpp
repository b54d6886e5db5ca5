// What a restore undoes beside money. A database from before does not know who was suspended since,
// which keys were revoked and which addresses removed; so it begins with nothing leaving and nobody
// signed in, and tells what was done after the copy was made, for a person to do again.
#pragma once

#include "db/db.hpp"
#include "server/settings.hpp"

namespace berth::server {

// Holds settlement, pauses payouts, ends every session and whatever waits for a second admin: what
// was refused since would wait again.
// Keeps: restored books sign nothing before they were compared with the chain.
void quieten(db::Database& database, const std::string& why, Random& random, Time now);

struct Lost {
    std::int64_t sequence = 0;  // of the audit record
    std::string line;           // when, who, what
};
// What the audit record of another database has, and this one does not. Throws std::runtime_error
// with a sentence when the two are not of one history.
std::vector<Lost> lost_since(db::Database& restored, db::Database& before);
// The same from a server's log.
std::vector<Lost> lost_by_log(db::Database& restored, const std::string& log_file);
// How many audit events a signed record of liabilities, kept in a file, knows of and this database
// does not: how much is missing from the lists above. Throws when the record is not good.
std::int64_t count_missing(db::Database& restored, const std::string& record_file);
void print_missing(std::int64_t events);
void print_lost(const std::vector<Lost>& lost);

struct RestoredOptions {
    std::string why;
    std::string log_file = {};
    std::string record_file = {};
};
// `berthd restored`: the same for a database that was put back by other means.
int note_restored(const settings::Given& given, const RestoredOptions& options);

}  // namespace berth::server
