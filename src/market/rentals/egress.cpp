#include "rentals/egress.hpp"

#include <algorithm>
#include <limits>

namespace berth::rentals {

std::optional<Egress> egress_of(const JobTerms& terms, std::optional<std::int64_t> sent_bytes) {
    constexpr std::int64_t gib = std::int64_t{1} << 30;
    if (!sent_bytes || !terms.included_egress_gib) return std::nullopt;
    // An offer may promise more than there are numbers for.
    const std::int64_t included =
        std::min(*terms.included_egress_gib, std::numeric_limits<std::int64_t>::max() / gib) * gib;
    const EgressState state = *sent_bytes > included           ? EgressState::shaped
                              : *sent_bytes > included / 5 * 4 ? EgressState::nearly_used
                                                               : EgressState::within;
    return Egress{{*sent_bytes}, {included}, state};
}

}  // namespace berth::rentals
