#include "server/secrets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

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

constexpr std::string_view cursor_file = "cursor.key";
constexpr std::string_view code_file = "code.key";
constexpr std::string_view seal_file = "seal.key";
constexpr std::string_view command_file = "command.key";

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

// Tells one key from another and nothing else about it.
std::string fingerprint_of(const Bytes& key) {
    return to_hex(crypto::hmac_sha256(key, "berth key fingerprint").substr(0, 16));
}

std::optional<std::string> find_fingerprint(db::Database& database, std::string_view name) {
    return database.read([&](db::Transaction& tx) -> std::optional<std::string> {
        const db::Result row = tx.run(find_fingerprint_sql, name);
        if (row.empty()) return std::nullopt;
        return row[0].get<std::string>(0);
    });
}

}  // namespace

const std::span<const db::Migration> secrets_migrations = history;

Secrets load_secrets(const std::string& folder, Random& random) {
    return {load_secret(folder, std::string(cursor_file), random),
            load_secret(folder, std::string(code_file), random),
            load_secret(folder, std::string(seal_file), random),
            load_secret(folder, std::string(command_file), random),
            find_secret(folder, "treasury.key")};
}

// Of two servers that start at once one leaves its fingerprint, and the other is held to it.
void check_fingerprints(db::Database& database, const Secrets& secrets, const std::string& folder) {
    for (const auto& [name, key] : {std::pair(cursor_file, &secrets.cursor),
                                    std::pair(code_file, &secrets.code),
                                    std::pair(seal_file, &secrets.seal),
                                    std::pair(command_file, &secrets.command)}) {
        const std::string ours = fingerprint_of(*key);
        if (!find_fingerprint(database, name))
            database.write([&, file = name](db::Transaction& tx) {
                tx.run(add_fingerprint_sql, file, ours);
            });
        if (find_fingerprint(database, name) != ours)
            refuse(fmt::format("{}/{}", folder, name),
                   "is not the key that this database was made with; bring the folder back from "
                   "its backup, or copy it from another server");
    }
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
