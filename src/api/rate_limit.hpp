// Counts requests per address or account over a sliding window. Memory is bounded: when the table
// is full, the key that was quiet for longest is forgotten.
#pragma once

#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.hpp"

namespace berth::api {

struct RateRule {
    enum class By { address, account };

    std::string_view name;
    std::int64_t requests_max;
    Duration window;
    By by;
};

// The rules of the service; each maximum is a setting.
struct RateRules {
    RateRule open{"public", 120, std::chrono::minutes(1), RateRule::By::address};
    RateRule account{"account", 300, std::chrono::minutes(1), RateRule::By::account};
    RateRule sign_in{"sign-in", 20, std::chrono::hours(1), RateRule::By::address};
    RateRule challenge{"challenge", 10, std::chrono::hours(1), RateRule::By::address};
};

// Who an address stands for: an IPv4 address itself, an IPv6 address its /64, since one subscriber
// has all of that.
std::string address_key(std::string_view address);

class RateLimiter {
public:
    static constexpr std::size_t keys_max_default = 100'000;

    explicit RateLimiter(std::size_t keys_max = keys_max_default) : keys_max_(keys_max) {}

    // Counts one request of `who`; false when it is over the rule, and then it is not counted.
    bool allow(const RateRule& rule, std::string_view who, Time now);
    std::size_t keys() const;

private:
    // The window that `start` begins and the one before it; the count over the last full window
    // length is estimated from both, so that a burst at a border is not let through twice.
    struct Counter {
        std::string key;
        std::int64_t start = 0;
        std::int64_t current = 0;
        std::int64_t previous = 0;
    };

    const std::size_t keys_max_;
    mutable std::mutex mutex_;
    std::list<Counter> by_use_;  // most recent first
    std::unordered_map<std::string_view, std::list<Counter>::iterator> index_;
};

}  // namespace berth::api
