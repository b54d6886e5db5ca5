// What a host with many machines asks: which of them needs what, and one change for several.
#pragma once

#include <string>
#include <string_view>

namespace berth::cli {

inline constexpr std::string_view machine_columns =
    "MACHINE=machine_id LABEL=label STATE=state GPU=gpu_model N=gpu_count "
    "PRICE=current_offer.rate_micro_per_hour OFFER=current_offer.state NEXT=next_step";

// What to do about a blocker that keeps a machine from being listed.
std::string mend_of(std::string_view blocker, const std::string& machine);

}  // namespace berth::cli
