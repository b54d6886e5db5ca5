// What the operator has set about money.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/money.hpp"
#include "crypto/evm.hpp"
#include "ledger/chart.hpp"

namespace berth::money {

struct Terms {
    std::optional<crypto::Address> treasury;  // none: no money comes in or goes out
    std::array<crypto::Address, ledger::assets.size()> tokens;
    std::int64_t fee_bps = 0;
    Micro deposit_max;   // of one funding intent
    Micro transfer_min;  // of one withdrawal or payout
    std::int64_t gas_fee_max = 50'000'000'000;  // wei per gas that we pay at most
    std::string explorer_url;   // where a transaction can be looked at
    std::string operator_name;
    std::string support_email;  // empty: not shown

    const crypto::Address& token(ledger::Asset asset) const {
        return tokens[static_cast<std::size_t>(asset)];
    }
    std::optional<ledger::Asset> asset_of(const crypto::Address& token) const {
        for (const ledger::Asset asset : ledger::assets)
            if (tokens[static_cast<std::size_t>(asset)] == token) return asset;
        return std::nullopt;
    }
};

}  // namespace berth::money
