#include "crypto/hash.hpp"

// What replaces these functions looks its method up, counts references to it and allocates on every
// call, which costs many times what hashing a token does.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "crypto/raw.hpp"

namespace berth::crypto {

Bytes sha256(std::string_view data) {
    Bytes out(SHA256_DIGEST_LENGTH, '\0');
    SHA256_CTX state;
    SHA256_Init(&state);
    SHA256_Update(&state, data.data(), data.size());
    SHA256_Final(raw(out), &state);
    return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace berth::crypto
