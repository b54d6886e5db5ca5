// What the operator has set about money that leaves.
#pragma once

#include "base/money.hpp"

namespace berth::transfers {

struct Limits {
    Micro transfer_min;                         // of one withdrawal or payout
    std::int64_t gas_fee_max = 50'000'000'000;  // wei per gas that we pay at most
};

}  // namespace berth::transfers
