// The keys the service signs with, one file each in the folder of --secrets. A key that is missing
// is made once; a file that others may read is refused.
//
// The database keeps a fingerprint of each: a server with other keys than the database was made
// with does not start, whether its folder was lost or another server has another one.
#pragma once

#include <optional>
#include <string>

#include "base/random.hpp"
#include "crypto/seal.hpp"
#include "db/migrate.hpp"

namespace berth::server {

inline constexpr std::size_t secret_bytes = 32;

// Throws BadSettings with one sentence when the folder or file cannot be used.
Bytes load_secret(const std::string& folder, const std::string& name, Random& random);
// A key that only the operator can bring; empty when it is not there.
std::optional<Bytes> find_secret(const std::string& folder, const std::string& name);

struct Secrets {
    Bytes cursor;   // signs list cursors
    Bytes code;     // keys the hashes of emailed codes and CSRF tokens
    Bytes seal;     // encrypts what the database must not be able to read
    Bytes command;  // signs commands to host agents, who have pinned its public half
    std::optional<Bytes> treasury = {};      // signs what leaves on chain; the operator brings it
    std::optional<Bytes> command_next = {};  // takes the place of `command`; the operator brings it
    // While keys are exchanged: the next ones and those before. What they signed, hashed or sealed
    // is good; nothing new is written with them.
    std::vector<Bytes> other_cursors = {};
    std::vector<Bytes> other_codes = {};
    std::vector<Bytes> other_seals = {};
};
Secrets load_secrets(const std::string& folder, Random& random);
crypto::Sealer sealer_of(const Secrets& secrets);

// How far the exchange of cursor.key, code.key and seal.key has come, by the files in the folder:
// first there are new keys as NAME.next, which servers open with; then those are NAME, and what was
// before is NAME.old; in the end the old ones are gone. Between two steps every server gets the
// files and is started again, so that none meets a value that it cannot open.
enum class Rotation { none, prepared, switched };
Rotation rotation_in(const std::string& folder);
void prepare_rotation(const std::string& folder, Random& random);
void switch_keys(const std::string& folder);
void end_rotation(const std::string& folder);  // after everything was sealed anew

// The first server to start leaves the fingerprints; one with switched keys brings them up to date.
// Throws BadSettings when they are of other keys than it has.
void check_fingerprints(db::Database& database, const Secrets& secrets, const std::string& folder);
// The same without leaving anything.
void compare_fingerprints(db::Database& database, const Secrets& secrets,
                          const std::string& folder);

// Whether any server has left its fingerprints.
bool was_ever_served(db::Database& database);

extern const std::span<const db::Migration> secrets_migrations;

}  // namespace berth::server
