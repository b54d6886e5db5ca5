#include "api/rate_limit.hpp"

#include <arpa/inet.h>

#include <array>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace berth::api {
namespace {

std::string key_of(const RateRule& rule, std::string_view who) {
    std::string key(rule.name);
    key += '\0';
    key += who;
    return key;
}

}  // namespace

const RateRule unlimited{"unlimited", [](const settings::Snapshot&) { return INT64_MAX; },
                         std::chrono::minutes(1), RateRule::By::address};

std::string address_key(std::string_view address) {
    std::array<char, 16> bytes{};
    const std::string text(address);
    if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
    return to_hex(std::string_view(bytes.data(), 8)) + "/64";
}

bool RateLimiter::allow(const RateRule& rule, std::string_view who, Time now,
                        std::int64_t requests_max) {
    std::string key = key_of(rule, who);
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
        by_use_.splice(by_use_.begin(), by_use_, found->second);
    } else {
        if (by_use_.size() >= keys_max_) {
            index_.erase(by_use_.back().key);
            by_use_.pop_back();
        }
        by_use_.push_front({.key = std::move(key)});
        index_.emplace(by_use_.front().key, by_use_.begin());
    }
    Counter& counter = by_use_.front();
    if (is_spent(rule, counter, now, requests_max)) return false;
    ++counter.current;
    return true;
}

bool RateLimiter::is_spent(const RateRule& rule, std::string_view who, Time now,
                           std::int64_t requests_max) {
    const std::string key = key_of(rule, who);
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    return found != index_.end() && is_spent(rule, *found->second, now, requests_max);
}

bool RateLimiter::is_spent(const RateRule& rule, Counter& counter, Time now,
                           std::int64_t requests_max) {
    const std::int64_t window = rule.window.count();
    require(window > 0 && requests_max > 0, "a rate rule has a window and a maximum");
    const std::int64_t start = now.micros - now.micros % window;
    if (start != counter.start) {
        counter.previous = start - counter.start == window ? counter.current : 0;
        counter.current = 0;
        counter.start = start;
    }
    const std::int64_t left_of_previous = window - (now.micros - start);
    const auto estimate = static_cast<double>(counter.current) +
                          static_cast<double>(counter.previous) *
                              static_cast<double>(left_of_previous) / static_cast<double>(window);
    return estimate >= static_cast<double>(requests_max);
}

std::size_t RateLimiter::keys() const {
    const std::lock_guard lock(mutex_);
    return by_use_.size();
}

}  // namespace berth::api
