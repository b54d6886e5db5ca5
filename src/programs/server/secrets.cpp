#include "server/secrets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "crypto/hash.hpp"
#include "server/settings.hpp"

namespace berth::server {
namespace {

constexpr db::Migration history[] = {
    {.feature = "server",
     .number = 1,
     .sql = "CREATE TABLE secret_fingerprints ("
            "  name @text NOT NULL PRIMARY KEY,"
            "  fingerprint @text NOT NULL"
            ") @strict;"},
};

constexpr std::string_view find_fingerprint_sql =
    "SELECT fingerprint FROM secret_fingerprints WHERE name = $1";
constexpr std::string_view add_fingerprint_sql =
    "INSERT INTO secret_fingerprints (name, fingerprint) VALUES ($1, $2) ON CONFLICT DO NOTHING";
constexpr std::string_view change_fingerprint_sql =
    "UPDATE secret_fingerprints SET fingerprint = $3 WHERE name = $1 AND fingerprint = $2";

constexpr std::string_view cursor_file = "cursor.key";
constexpr std::string_view code_file = "code.key";
constexpr std::string_view seal_file = "seal.key";
constexpr std::string_view command_file = "command.key";
constexpr std::array rotated_files{cursor_file, code_file, seal_file};
constexpr std::string_view next_suffix = ".next";
constexpr std::string_view old_suffix = ".old";

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
    throw BadSettings(fmt::format("--secrets: {}: {}", path, why));
}

// Written in full under another name and then linked: a key file is whole or not there, and of two
// processes that start at once one wins.
void make_secret(const std::string& path, Random& random) {
    const std::string draft = fmt::format("{}.{}", path, to_hex(random.bytes(8)));
    const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) refuse(draft, std::strerror(errno));
    const std::string text = to_hex(random.bytes(secret_bytes)) + "\n";
    const bool written =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool synced = written && ::fsync(file) == 0;
    ::close(file);
    const bool linked = synced && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
    const int why = errno;
    ::unlink(draft.c_str());
    if (!linked) refuse(path, std::strerror(why));
}

Bytes read_secret(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) refuse(path, std::strerror(errno));
    if ((facts.st_mode & 077) != 0) refuse(path, "must be readable by its owner alone (chmod 600)");
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    // Wallets write a private key with 0x before it.
    const auto secret = from_hex(text.starts_with("0x") ? text.substr(2) : text);
    if (!secret || secret->size() != secret_bytes)
        refuse(path, fmt::format("must hold {} hex digits", secret_bytes * 2));
    return *secret;
}

// What was sealed is readable by this key alone. Beside another key it was there and is lost: one
// that is made anew would open nothing, and would stand where the old one is to be put back. It is
// the first that is made, so that of two servers that start at once neither sees the others alone.
void refuse_lost_seal(const std::string& folder) {
    const auto is_there = [&](std::string_view name) {
        return std::filesystem::exists(fmt::format("{}/{}", folder, name));
    };
    if (is_there(seal_file) || (!is_there(cursor_file) && !is_there(code_file))) return;
    refuse(fmt::format("{}/{}", folder, seal_file),
           "is missing, and none is made in its place: put it back from the backup of the folder");
}

std::string file_name(std::string_view name, std::string_view suffix) {
    return std::string(name).append(suffix);
}

std::string path_of(const std::string& folder, std::string_view name, std::string_view suffix) {
    return folder + "/" + file_name(name, suffix);
}

// Tells one key from another and nothing else about it.
std::string fingerprint_of(const Bytes& key) {
    return to_hex(crypto::hmac_sha256(key, "berth key fingerprint").substr(0, 16));
}

std::optional<std::string> find_fingerprint(db::Database& database, std::string_view name) {
    return database.read([&](db::Transaction& tx) {
        return tx.fetch_value<std::string>(find_fingerprint_sql, name);
    });
}

}  // namespace

const std::span<const db::Migration> secrets_migrations = history;

Secrets load_secrets(const std::string& folder, Random& random) {
    refuse_lost_seal(folder);
    load_secret(folder, std::string(seal_file), random);  // before the others: see above
    Secrets secrets{load_secret(folder, std::string(cursor_file), random),
                    load_secret(folder, std::string(code_file), random),
                    load_secret(folder, std::string(seal_file), random),
                    load_secret(folder, std::string(command_file), random),
                    find_secret(folder, "treasury.key"),
                    find_secret(folder, "command-next.key")};
    for (const std::string_view suffix : {next_suffix, old_suffix}) {
        if (auto key = find_secret(folder, file_name(cursor_file, suffix)))
            secrets.other_cursors.push_back(std::move(*key));
        if (auto key = find_secret(folder, file_name(code_file, suffix)))
            secrets.other_codes.push_back(std::move(*key));
        if (auto key = find_secret(folder, file_name(seal_file, suffix)))
            secrets.other_seals.push_back(std::move(*key));
    }
    return secrets;
}

crypto::Sealer sealer_of(const Secrets& secrets) {
    std::vector<crypto::Secret> others;
    for (const Bytes& key : secrets.other_seals) others.emplace_back(key);
    return crypto::Sealer(crypto::Secret(secrets.seal), std::move(others));
}

Rotation rotation_in(const std::string& folder) {
    const auto any_with = [&](std::string_view suffix) {
        return std::any_of(rotated_files.begin(), rotated_files.end(), [&](std::string_view name) {
            return std::filesystem::exists(path_of(folder, name, suffix));
        });
    };
    if (any_with(next_suffix)) return Rotation::prepared;
    return any_with(old_suffix) ? Rotation::switched : Rotation::none;
}

void prepare_rotation(const std::string& folder, Random& random) {
    for (const std::string_view name : rotated_files)
        load_secret(folder, file_name(name, next_suffix), random);
}

// Each step of it may have been taken before: a switch that was broken off is taken up again.
void switch_keys(const std::string& folder) {
    for (const std::string_view name : rotated_files) {
        const std::string next = path_of(folder, name, next_suffix);
        if (!std::filesystem::exists(next)) continue;
        const std::string now = path_of(folder, name, "");
        const std::string old = path_of(folder, name, old_suffix);
        if (::link(now.c_str(), old.c_str()) != 0 && errno != EEXIST)
            refuse(old, std::strerror(errno));
        if (::rename(next.c_str(), now.c_str()) != 0) refuse(now, std::strerror(errno));
    }
}

void end_rotation(const std::string& folder) {
    for (const std::string_view name : rotated_files)
        std::filesystem::remove(path_of(folder, name, old_suffix));
}

namespace {

struct MarkedKey {
    std::string_view name;
    const Bytes* now;
    std::vector<Bytes> others;
};

std::vector<MarkedKey> marked_keys(const Secrets& secrets) {
    return {{cursor_file, &secrets.cursor, secrets.other_cursors},
            {code_file, &secrets.code, secrets.other_codes},
            {seal_file, &secrets.seal, secrets.other_seals},
            {command_file, &secrets.command, {}}};
}

}  // namespace

void compare_fingerprints(db::Database& database, const Secrets& secrets,
                          const std::string& folder) {
    for (const MarkedKey& key : marked_keys(secrets)) {
        const auto known = find_fingerprint(database, key.name);
        if (!known || *known == fingerprint_of(*key.now)) continue;
        const auto is_known = [&](const Bytes& other) { return *known == fingerprint_of(other); };
        if (std::none_of(key.others.begin(), key.others.end(), is_known))
            refuse(fmt::format("{}/{}", folder, key.name),
                   "is not the key that this database was made with; bring the folder back from "
                   "its backup, or copy it from another server");
    }
}

// Of two servers that start at once one leaves its fingerprint, and the other is held to it.
void check_fingerprints(db::Database& database, const Secrets& secrets, const std::string& folder) {
    for (const MarkedKey& key : marked_keys(secrets))
        if (!find_fingerprint(database, key.name))
            database.write([&](db::Transaction& tx) {
                tx.run(add_fingerprint_sql, key.name, fingerprint_of(*key.now));
            });
    compare_fingerprints(database, secrets, folder);
    for (const MarkedKey& key : marked_keys(secrets)) {
        const std::string ours = fingerprint_of(*key.now);
        const auto known = find_fingerprint(database, key.name);
        if (known == ours) continue;
        // Another server may have switched before us; then the known one is our next.
        if (std::filesystem::exists(path_of(folder, key.name, next_suffix))) continue;
        database.write(
            [&](db::Transaction& tx) { tx.run(change_fingerprint_sql, key.name, *known, ours); });
    }
}

bool was_ever_served(db::Database& database) {
    return find_fingerprint(database, cursor_file).has_value();
}

Bytes load_secret(const std::string& folder, const std::string& name, Random& random) {
    std::error_code error;
    if (std::filesystem::create_directories(folder, error))
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    if (error) refuse(folder, error.message());
    const std::string path = folder + "/" + name;
    if (!std::filesystem::exists(path)) make_secret(path, random);
    return read_secret(path);
}

std::optional<Bytes> find_secret(const std::string& folder, const std::string& name) {
    const std::string path = folder + "/" + name;
    return std::filesystem::exists(path) ? std::optional(read_secret(path)) : std::nullopt;
}

}  // namespace berth::server
