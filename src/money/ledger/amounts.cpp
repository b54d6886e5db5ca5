#include "ledger/amounts.hpp"

#include <fmt/format.h>

namespace berth::ledger {

std::string amount_text(Micro amount, Asset asset) {
    constexpr std::int64_t micro_per_unit = 1'000'000;
    std::string text =
        fmt::format("{}.{:06}", amount.value / micro_per_unit, amount.value % micro_per_unit);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return fmt::format("{} {}", text, name(asset));
}

}  // namespace berth::ledger
