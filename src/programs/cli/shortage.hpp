// Too little money: how much is missing, and what brings it.
#pragma once

#include <string_view>

#include "base/money.hpp"
#include "cli/context.hpp"

namespace berth::cli {

// The refusal of something that needs this much, with what is missing and the next command.
Failure with_shortage(Context& context, const Failure& refusal, Micro needed,
                      std::string_view asset);

}  // namespace berth::cli
