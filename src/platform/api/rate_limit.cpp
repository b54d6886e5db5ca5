#include "api/rate_limit.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace berth::api {
namespace {

constexpr std::size_t subscriber_bytes = 8;
constexpr std::size_t network_bytes = 6;

// The first bytes of an IPv6 address; nothing of anything else.
std::optional<std::string> ipv6_block(std::string_view address, std::size_t bytes_wanted) {
    std::array<char, 16> bytes{};
    if (::inet_pton(AF_INET6, std::string(address).c_str(), bytes.data()) != 1) return std::nullopt;
    return to_hex(std::string_view(bytes.data(), bytes_wanted)) + "/" +
           std::to_string(8 * bytes_wanted);
}

}  // namespace

const RateRule unlimited{"unlimited", [](const settings::Snapshot&) { return INT64_MAX; },
                         std::chrono::minutes(1), RateRule::By::address};

std::string address_key(std::string_view address) {
    return ipv6_block(address, subscriber_bytes).value_or(std::string(address));
}

// The network comes first: while it is spent none of its subscribers takes up room.
std::vector<RateLimiter::Bound> RateLimiter::bounds_of(const RateRule& rule, std::string_view who,
                                                       std::int64_t requests_max) {
    if (rule.by != RateRule::By::address) return {{std::string(who), requests_max}};
    std::vector<Bound> bounds;
    if (auto network = ipv6_block(who, network_bytes)) {
        const bool is_unbounded = requests_max > INT64_MAX / subscribers_of_network;
        bounds.push_back({std::move(*network),
                          is_unbounded ? INT64_MAX : requests_max * subscribers_of_network});
    }
    bounds.push_back({address_key(who), requests_max});
    return bounds;
}

bool RateLimiter::allow(const RateRule& rule, std::string_view who, Time now,
                        std::int64_t requests_max) {
    const std::vector<Bound> bounds = bounds_of(rule, who, requests_max);
    const std::lock_guard lock(mutex_);
    Table& table = tables_[rule.name];
    for (const Bound& bound : bounds)
        if (is_spent(rule, find_or_add(table, bound.key), now, bound.requests_max)) return false;
    for (const Bound& bound : bounds) ++find_or_add(table, bound.key).current;
    return true;
}

bool RateLimiter::is_spent(const RateRule& rule, std::string_view who, Time now,
                           std::int64_t requests_max) {
    const std::vector<Bound> bounds = bounds_of(rule, who, requests_max);
    const std::lock_guard lock(mutex_);
    Table& table = tables_[rule.name];
    return std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
        Counter* const counter = find(table, bound.key);
        return counter != nullptr && is_spent(rule, *counter, now, bound.requests_max);
    });
}

RateLimiter::Counter* RateLimiter::find(Table& table, const std::string& key) {
    const auto found = table.index.find(key);
    return found == table.index.end() ? nullptr : &*found->second;
}

// It is the most recent one from now on.
RateLimiter::Counter& RateLimiter::find_or_add(Table& table, const std::string& key) const {
    if (const auto found = table.index.find(key); found != table.index.end()) {
        table.by_use.splice(table.by_use.begin(), table.by_use, found->second);
        return table.by_use.front();
    }
    if (table.by_use.size() >= keys_max_) {
        table.index.erase(table.by_use.back().key);
        table.by_use.pop_back();
    }
    table.by_use.push_front({.key = key});
    table.index.emplace(table.by_use.front().key, table.by_use.begin());
    return table.by_use.front();
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
    std::size_t sum = 0;
    for (const auto& [name, table] : tables_) sum += table.by_use.size();
    return sum;
}

}  // namespace berth::api
