#include "gate/limits.hpp"

#include <algorithm>
#include <chrono>

namespace berth::gate {

double Bucket::level(const Pace& pace, Time now) const {
    if (!used_) return pace.burst;
    const double passed = static_cast<double>(std::max<std::int64_t>((now - at_).count(), 0)) / 1e6;
    return std::min(pace.burst, tokens_ + passed * pace.per_second);
}

bool Bucket::take(const Pace& pace, Time now, double spared) {
    const double there = level(pace, now);
    if (there - 1 < spared) return false;
    tokens_ = there - 1;
    at_ = now;
    used_ = true;
    return true;
}

bool Bucket::is_full(const Pace& pace, Time now) const { return level(pace, now) >= pace.burst; }

bool Bucket::is_half_full(const Pace& pace, Time now) const {
    return level(pace, now) >= pace.burst / 2;
}

std::string network_of(const http::Address& address) {
    constexpr std::size_t network_bytes = 6;
    return http::subscriber(address).substr(0, network_bytes);
}

bool Sources::is_half_full(const std::string& who, Time now) const {
    const auto found = buckets_.find(who);
    return found == buckets_.end() || found->second.is_half_full(pace_, now);
}

bool Sources::take(const std::string& who, Time now) {
    if (buckets_.size() >= sources_max) forget(now);
    // More at once than can be remembered: whoever is not known yet has to wait.
    if (buckets_.size() >= sources_max && !buckets_.contains(who)) return false;
    return buckets_[who].take(pace_, now);
}

// A full bucket says no more than none. Not for each of many who come at once.
void Sources::forget(Time now) {
    if (now - forgot_at_ < std::chrono::seconds(1)) return;
    forgot_at_ = now;
    std::erase_if(buckets_, [&](const auto& each) { return each.second.is_full(pace_, now); });
}

}  // namespace berth::gate
