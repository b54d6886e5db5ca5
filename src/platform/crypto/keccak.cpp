#include "crypto/keccak.hpp"

#include <cryptopp/keccak.h>

#include "crypto/raw.hpp"

namespace berth::crypto {

Bytes keccak256(std::string_view data) {
    Bytes out(CryptoPP::Keccak_256::DIGESTSIZE, '\0');
    CryptoPP::Keccak_256().CalculateDigest(raw(out), raw(data), data.size());
    return out;
}

}  // namespace berth::crypto
