#include "crypto/secp256k1.hpp"

#include <secp256k1.h>
#include <secp256k1_recovery.h>

#include <algorithm>

#include "base/check.hpp"
#include "crypto/keccak.hpp"
#include "crypto/raw.hpp"

namespace berth::crypto {
namespace {

constexpr std::size_t hash_bytes = 32;
constexpr std::size_t compact_bytes = 64;
constexpr std::size_t public_key_bytes = 65;  // 0x04, then both coordinates

// Made once and only read afterwards, so any thread may use it. Random blinding keeps the timing
// of a signature from telling about the key; it does not change the signature.
const secp256k1_context* context() {
    static const secp256k1_context* const made = [] {
        secp256k1_context* fresh = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
        const Bytes seed = SystemRandom().bytes(32);
        check(secp256k1_context_randomize(fresh, raw(seed)) == 1, "libsecp256k1 takes a seed");
        return fresh;
    }();
    return made;
}

// Which of the two points is meant; -1 for a v that Ethereum does not use.
int recovery_id_of(char v) {
    switch (v) {
        case 0:
        case 27: return 0;
        case 1:
        case 28: return 1;
        default: return -1;
    }
}

bool has_low_s(const secp256k1_ecdsa_recoverable_signature& signature) {
    secp256k1_ecdsa_signature plain;
    secp256k1_ecdsa_recoverable_signature_convert(context(), &plain, &signature);
    return secp256k1_ecdsa_signature_normalize(context(), nullptr, &plain) == 0;
}

bool is_private_key(std::string_view bytes) {
    return secp256k1_ec_seckey_verify(context(), raw(bytes)) == 1;
}

// An address is the end of the hash of the two coordinates.
Address address_of(const secp256k1_pubkey& key) {
    Bytes point(public_key_bytes, '\0');
    std::size_t length = point.size();
    secp256k1_ec_pubkey_serialize(context(), raw(point), &length, &key, SECP256K1_EC_UNCOMPRESSED);
    const Bytes hash = keccak256(std::string_view(point).substr(1));
    Address address;
    std::copy(hash.end() - static_cast<std::ptrdiff_t>(address.bytes.size()), hash.end(),
              address.bytes.begin());
    return address;
}

}  // namespace

std::optional<Bytes> parse_signature(std::string_view text) {
    constexpr std::string_view prefix = "0x";
    if (text.size() != prefix.size() + 2 * signature_bytes || !text.starts_with(prefix))
        return std::nullopt;
    return from_hex(text.substr(prefix.size()));
}

bool is_undeployed_signature(std::string_view text) {
    return text.ends_with("6492649264926492649264926492649264926492649264926492649264926492");
}

bool is_smart_wallet_signature(std::string_view text) {
    constexpr std::string_view prefix = "0x";
    if (is_undeployed_signature(text)) return true;
    return text.starts_with(prefix) && text.size() > prefix.size() + 2 * signature_bytes &&
           from_hex(text.substr(prefix.size())).has_value();
}

Bytes personal_message_hash(std::string_view text) {
    Bytes message =
        "\x19"
        "Ethereum Signed Message:\n" +
        std::to_string(text.size());
    return keccak256(message.append(text));
}

std::optional<Address> recover(std::string_view hash, std::string_view signature) {
    check(hash.size() == hash_bytes, "a signature is over 32 bytes");
    if (signature.size() != signature_bytes) return std::nullopt;
    const int recovery_id = recovery_id_of(signature.back());
    if (recovery_id < 0) return std::nullopt;
    secp256k1_ecdsa_recoverable_signature parsed;
    if (secp256k1_ecdsa_recoverable_signature_parse_compact(
            context(), &parsed, raw(signature.substr(0, compact_bytes)), recovery_id) != 1)
        return std::nullopt;
    if (!has_low_s(parsed)) return std::nullopt;
    secp256k1_pubkey key;
    if (secp256k1_ecdsa_recover(context(), &key, &parsed, raw(hash)) != 1) return std::nullopt;
    return address_of(key);
}

Bytes Signature::bytes() const {
    Bytes out(r.begin(), r.end());
    out.append(s.begin(), s.end());
    out += static_cast<char>(27 + recovery_id);
    return out;
}

std::optional<SigningKey> SigningKey::from_bytes(std::string_view bytes) {
    if (bytes.size() != Secret::size || !is_private_key(bytes)) return std::nullopt;
    return SigningKey(Secret(bytes));
}

SigningKey SigningKey::make(Random& random) {
    Secret secret = Secret::make(random);
    // All but one in 2^127 of all 32-byte values are keys.
    check(is_private_key(secret.view()), "random bytes are a private key");
    return SigningKey(std::move(secret));
}

Address SigningKey::address() const {
    secp256k1_pubkey key;
    check(secp256k1_ec_pubkey_create(context(), &key, raw(secret_.view())) == 1,
          "a private key has a public one");
    return address_of(key);
}

Signature SigningKey::sign(std::string_view hash) const {
    check(hash.size() == hash_bytes, "a signature is over 32 bytes");
    secp256k1_ecdsa_recoverable_signature made;
    check(secp256k1_ecdsa_sign_recoverable(context(), &made, raw(hash), raw(secret_.view()),
                                           secp256k1_nonce_function_rfc6979, nullptr) == 1,
          "a private key signs");
    Bytes compact(compact_bytes, '\0');
    Signature signature;
    secp256k1_ecdsa_recoverable_signature_serialize_compact(context(), raw(compact),
                                                            &signature.recovery_id, &made);
    // Ids 2 and 3 stand for an r above the order of the curve, which one in 2^127 points has.
    check(signature.recovery_id <= 1, "a signature has a plain r");
    std::copy_n(compact.begin(), signature.r.size(), signature.r.begin());
    std::copy_n(compact.begin() + 32, signature.s.size(), signature.s.begin());
    return signature;
}

}  // namespace berth::crypto
