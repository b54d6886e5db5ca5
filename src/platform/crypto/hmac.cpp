#include <cryptopp/hmac.h>
#include <cryptopp/sha.h>

#include "crypto/hash.hpp"
#include "crypto/raw.hpp"

namespace berth::crypto {

Bytes hmac_sha256(std::string_view key, std::string_view data) {
    Bytes out(CryptoPP::SHA256::DIGESTSIZE, '\0');
    CryptoPP::HMAC<CryptoPP::SHA256> hmac(raw(key), key.size());
    hmac.CalculateDigest(raw(out), raw(data), data.size());
    return out;
}

}  // namespace berth::crypto
