#include "agent_protocol/used_nonces.hpp"

namespace berth::agent_protocol {

bool UsedNonces::use(const Uuid& signer, std::string_view nonce, Time now) {
    std::string text(signer.view());
    text += nonce;
    const std::size_t hash = std::hash<std::string>{}(text);
    const std::lock_guard lock(mutex_);
    if (!since_ || now - *since_ >= generation || young_.size() >= nonces_max) {
        old_ = std::move(young_);
        young_ = {};
        since_ = now;
    }
    return !old_.contains(hash) && young_.insert(hash).second;
}

}  // namespace berth::agent_protocol
