// Nonces that were used, for as long as a signature that carries one can still be good. Bounded:
// two generations, and the older one goes when the younger is full or old.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_set>

#include "agent_protocol/signature.hpp"

namespace berth::agent_protocol {

class UsedNonces {
public:
    static constexpr std::size_t nonces_max = 1'000'000;  // of one generation
    static constexpr Duration generation = 2 * created_window + std::chrono::seconds(5);

    // False when the one who signs has used the nonce before.
    bool use(const Uuid& signer, std::string_view nonce, Time now);

private:
    std::mutex mutex_;
    std::unordered_set<std::size_t> young_;
    std::unordered_set<std::size_t> old_;
    std::optional<Time> since_;
};

}  // namespace berth::agent_protocol
