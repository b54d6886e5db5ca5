#include "agent_protocol/hashes.hpp"

#include "agent_protocol/structured.hpp"
#include "base/check.hpp"
#include "crypto/hash.hpp"
#include "wire/wire.hpp"

namespace berth::agent_protocol {

std::string canonical_manifest(const Manifest& manifest) {
    auto text = wire::canonical(wire::encode(manifest));
    require(text.has_value(), "what we encode is JSON");
    return std::move(*text);
}

std::string sha256_hash(std::string_view bytes) {
    return "sha256:" + to_hex(crypto::sha256(bytes));
}

std::string manifest_hash(const Manifest& manifest) {
    return sha256_hash(canonical_manifest(manifest));
}

std::string key_text(const crypto::Ed25519PublicKey& key) { return to_base64(key.view()); }

std::optional<crypto::Ed25519PublicKey> parse_key(std::string_view text) {
    const auto bytes = from_base64(text);
    return bytes ? crypto::Ed25519PublicKey::from_bytes(*bytes) : std::nullopt;
}

std::string key_id(const crypto::Ed25519PublicKey& key) {
    constexpr std::size_t bytes_shown = 8;
    return to_hex(crypto::sha256(key.view()).substr(0, bytes_shown));
}

}  // namespace berth::agent_protocol
