// The keys the service signs with, one file each in the folder of --secrets. A key that is missing
// is made once; a file that others may read is refused.
//
// The database keeps a fingerprint of each: a server with other keys than the database was made
// with does not start, whether its folder was lost or another server has another one.
#pragma once

#include <optional>
#include <string>

#include "base/random.hpp"
#include "db/migrate.hpp"

namespace berth::server {

inline constexpr std::size_t secret_bytes = 32;

// Throws BadSettings with one sentence when the folder or file cannot be used.
Bytes load_secret(const std::string& folder, const std::string& name, Random& random);
// A key that only the operator can bring; empty when it is not there.
std::optional<Bytes> find_secret(const std::string& folder, const std::string& name);

struct Secrets {
    Bytes cursor;  // signs list cursors
    Bytes code;    // keys the hashes of emailed codes and CSRF tokens
    Bytes seal;    // encrypts what the database must not be able to read
    Bytes command;  // signs commands to host agents, who have pinned its public half
    std::optional<Bytes> treasury = {};  // signs what leaves on chain; the operator brings it
};
Secrets load_secrets(const std::string& folder, Random& random);

// The first server to start leaves the fingerprints. Throws BadSettings when they are of other
// keys.
void check_fingerprints(db::Database& database, const Secrets& secrets, const std::string& folder);

extern const std::span<const db::Migration> secrets_migrations;

}  // namespace berth::server
