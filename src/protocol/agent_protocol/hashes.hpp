// Hashes and texts that both sides must compute alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent_protocol/types.hpp"
#include "crypto/ed25519.hpp"

namespace berth::agent_protocol {

// Sha256Hash of the canonical JSON of the manifest, and that JSON.
std::string canonical_manifest(const Manifest& manifest);
std::string manifest_hash(const Manifest& manifest);
std::string sha256_hash(std::string_view bytes);  // "sha256:" and 64 hex digits

// A public key as it travels: base64 of its 32 bytes.
std::string key_text(const crypto::Ed25519PublicKey& key);
std::optional<crypto::Ed25519PublicKey> parse_key(std::string_view text);
// What commands call a key of the server: the beginning of its hash, in hex.
std::string key_id(const crypto::Ed25519PublicKey& key);

}  // namespace berth::agent_protocol
