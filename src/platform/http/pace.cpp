#include <algorithm>
#include <cmath>

#include "http/pump.hpp"

namespace berth::http {
namespace {

constexpr double bits_of_a_byte = 8;
constexpr double burst_s = 0.2;
constexpr double leave_bytes_min = 16 * 1024;  // fewer at a time would be a call for each packet

}  // namespace

void Pace::set_rate_bps(std::int64_t rate_bps) {
    rate_bps_.store(rate_bps, std::memory_order_relaxed);
}

Pace::Leave Pace::take(Way way, std::size_t wanted, Clock::time_point now) {
    const auto bytes_each_s =
        static_cast<double>(rate_bps_.load(std::memory_order_relaxed)) / bits_of_a_byte;
    if (bytes_each_s <= 0) return {.bytes = wanted};
    const std::lock_guard lock(mutex_);
    Bucket& bucket = buckets_[way == Way::from_a ? 0 : 1];
    const double burst = std::max(bytes_each_s * burst_s, 1.0);
    const std::chrono::duration<double> since = now - bucket.filled_at;
    bucket.bytes = std::min(burst, bucket.bytes + std::max(since.count(), 0.0) * bytes_each_s);
    bucket.filled_at = std::max(now, bucket.filled_at);
    const double least = std::min(leave_bytes_min, burst);
    if (bucket.bytes < least) {
        const double wait_s = (least - bucket.bytes) / bytes_each_s;
        return {.wait = Duration(static_cast<Duration::rep>(std::ceil(wait_s * 1e6)))};
    }
    const std::size_t bytes = std::min(wanted, static_cast<std::size_t>(bucket.bytes));
    bucket.bytes -= static_cast<double>(bytes);
    return {.bytes = bytes};
}

void Pace::give_back(Way way, std::size_t bytes) {
    if (bytes == 0 || !is_limited()) return;
    const std::lock_guard lock(mutex_);
    buckets_[way == Way::from_a ? 0 : 1].bytes += static_cast<double>(bytes);
}

}  // namespace berth::http
