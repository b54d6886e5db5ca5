// Amounts as people read them: "12.5 USDC". Nobody counts in millionths.
#pragma once

#include <string>

#include "base/money.hpp"
#include "ledger/chart.hpp"

namespace berth::ledger {

// Of an amount that is not below zero.
std::string amount_text(Micro amount, Asset asset);

}  // namespace berth::ledger
