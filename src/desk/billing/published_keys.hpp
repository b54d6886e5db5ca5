// The public keys that the service signs with, so that whoever kept something it signed can check
// it years later. A key stays published after it went out of use, with the time when it did.
#pragma once

#include <span>

#include "api/router.hpp"
#include "crypto/ed25519.hpp"
#include "db/migrate.hpp"

namespace berth::billing {

enum class KeyUse { commands, receipts, liabilities };
BOOST_DESCRIBE_ENUM(KeyUse, commands, receipts, liabilities)

enum class KeyAlgorithm { ed25519 };
BOOST_DESCRIBE_ENUM(KeyAlgorithm, ed25519)

struct PublishedKey {
    std::string key_id;
    KeyAlgorithm alg = KeyAlgorithm::ed25519;
    std::string public_key;
    std::vector<KeyUse> use;
    Time from;
    wire::Nullable<Time> until;
};
BOOST_DESCRIBE_STRUCT(PublishedKey, (), (key_id, alg, public_key, use, from, until))
constexpr auto wire_docs(const PublishedKey*) {
    return std::to_array<wire::Doc>({
        {"key_id", "What signatures call it.", "9a51c0f66f1d0e9c"},
        {"alg", "How it signs.", "ed25519"},
        {"public_key", "The raw 32 bytes in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
        {"use", "What it signs.", "receipts"},
        {"from", "Since when it signs."},
        {"until", "When it went out of use; null while it is in use.", "null"},
    });
}

struct PublishedKeys {
    std::vector<PublishedKey> keys;
};
BOOST_DESCRIBE_STRUCT(PublishedKeys, (), (keys))
constexpr auto wire_docs(const PublishedKeys*) {
    return std::to_array<wire::Doc>({{"keys", "Those in use and those before, oldest first."}});
}

// A key of this process.
struct OwnKey {
    KeyUse use = KeyUse::receipts;
    crypto::Ed25519PublicKey key;
};
// At the start of a process: its keys are in use, and no others for the same thing.
void note_keys(db::Transaction& tx, std::span<const OwnKey> keys, Time now);

inline constexpr std::int64_t published_keys_max = 1000;
PublishedKeys published_keys(db::Transaction& tx);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::billing
