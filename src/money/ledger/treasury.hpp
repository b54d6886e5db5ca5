// Where the ledger's assets are on the chain: the treasury that holds them, cold storage, where fee
// income goes, and their tokens.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "crypto/evm.hpp"
#include "ledger/chart.hpp"

namespace berth::ledger {

inline constexpr std::int64_t token_decimals = 6;  // a micro-unit is a token's smallest part

struct Treasury {
    std::optional<crypto::Address> address;  // none: no money comes in or goes out
    std::array<crypto::Address, assets.size()> tokens;
    bool pays = false;  // there is a chain, and a key that signs, here or in another process
    std::vector<crypto::Address> cold = {};
    std::vector<crypto::Address> gas = {};    // where it is bought
    std::optional<crypto::Address> fee = {};  // none: fee income may go anywhere

    const crypto::Address& token(Asset asset) const {
        return tokens[static_cast<std::size_t>(asset)];
    }
    std::optional<Asset> asset_of(const crypto::Address& token) const {
        for (const Asset asset : assets)
            if (tokens[static_cast<std::size_t>(asset)] == token) return asset;
        return std::nullopt;
    }
};

}  // namespace berth::ledger
