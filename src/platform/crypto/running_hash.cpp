#include "crypto/running_hash.hpp"

#include <cryptopp/sha.h>

#include "crypto/raw.hpp"

namespace berth::crypto {

struct RunningSha256::State {
    CryptoPP::SHA256 hash;
};

RunningSha256::RunningSha256() : state_(std::make_unique<State>()) {}
RunningSha256::~RunningSha256() = default;

void RunningSha256::add(std::string_view piece) { state_->hash.Update(raw(piece), piece.size()); }

Bytes RunningSha256::finish() {
    Bytes out(CryptoPP::SHA256::DIGESTSIZE, '\0');
    state_->hash.Final(raw(out));
    return out;
}

}  // namespace berth::crypto
