#include "crypto/hash.hpp"

#include <cryptopp/hmac.h>
#include <cryptopp/sha.h>
#include <openssl/crypto.h>

#include "crypto/raw.hpp"

namespace berth::crypto {

// Not OpenSSL's: it looks its method up, counts references to it and allocates on every call,
// which costs many times what hashing a token does.

Bytes sha256(std::string_view data) {
    Bytes out(CryptoPP::SHA256::DIGESTSIZE, '\0');
    CryptoPP::SHA256().CalculateDigest(raw(out), raw(data), data.size());
    return out;
}

Bytes hmac_sha256(std::string_view key, std::string_view data) {
    Bytes out(CryptoPP::SHA256::DIGESTSIZE, '\0');
    CryptoPP::HMAC<CryptoPP::SHA256> hmac(raw(key), key.size());
    hmac.CalculateDigest(raw(out), raw(data), data.size());
    return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace berth::crypto
