// What is stuck, kind by kind. Each kind is asked in its own order and goes on from where a page
// ended.
#pragma once

#include "admin/lists.hpp"

namespace berth::admin {

// Longer than these nothing waits that is in order.
inline constexpr Duration claim_late_after = std::chrono::hours(1);
inline constexpr Duration rental_late_after = std::chrono::minutes(30);
inline constexpr Duration host_silent_after = std::chrono::minutes(15);
inline constexpr Duration cleaning_late_after = std::chrono::hours(1);

struct FoundStuck {
    Stuck shown;
    std::string key;  // within its kind: what list() is asked to go on from
};
struct StuckSource {
    StuckKind kind{};
    std::vector<FoundStuck> (*list)(api::Call& call, const std::optional<std::string>& after,
                                    std::int64_t rows_max);
};
std::span<const StuckSource> stuck_sources();

struct FoundCount {
    std::int64_t count = 0;
    std::optional<Time> oldest;  // since when the oldest of them waits
};
BOOST_DESCRIBE_STRUCT(FoundCount, (), (count, oldest))
// The rentals among them, up to so many.
FoundCount count_stuck_rentals(api::Call& call, std::int64_t rows_max);

}  // namespace berth::admin
