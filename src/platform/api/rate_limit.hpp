// Counts requests per address or account over a sliding window. Memory is bounded: each rule has a
// table of its own, and when that is full, the key that was quiet for longest is forgotten. So a
// flood of strangers under one rule makes no other rule forget anybody.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/settings.hpp"
#include "base/time.hpp"

namespace berth::api {

struct RateRule {
    enum class By { address, account };  // a machine that calls counts as an account of its own

    std::string_view name;
    std::int64_t (*requests_max)(const settings::Snapshot& settings);
    Duration window;
    By by;
};

template <class Section>
constexpr Section section_of(settings::Whole Section::*);

// The maximum of a rule is a setting: rate_setting<&Settings::rate_public_per_minute>.
template <auto member>
std::int64_t rate_setting(const settings::Snapshot& settings) {
    return *(settings.get<decltype(section_of(member))>().*member);
}

// Of a route that must always answer, such as the one a balancer asks.
extern const RateRule unlimited;

// The rules that routes of every feature share; a feature declares others beside its routes. A
// route that names no rule has `open` when it is for anyone and `account` when it is not.
struct RateRules {
    RateRule open{"public", rate_setting<&Settings::rate_public_per_minute>,
                  std::chrono::minutes(1), RateRule::By::address};
    RateRule account{"account", rate_setting<&Settings::rate_account_per_minute>,
                     std::chrono::minutes(1), RateRule::By::account};
    RateRule invalid_credential{"invalid credential",
                                rate_setting<&Settings::rate_invalid_credentials_per_minute>,
                                std::chrono::minutes(1), RateRule::By::address};
};

// Who an address stands for: an IPv4 address itself, an IPv6 address its /64, since one subscriber
// has all of that.
std::string address_key(std::string_view address);

// Some have a whole /48, which is 65,536 of those: together they may do as much as this many.
inline constexpr std::int64_t subscribers_of_network = 16;

class RateLimiter {
public:
    static constexpr std::size_t keys_max_default = 100'000;

    explicit RateLimiter(std::size_t keys_max = keys_max_default) : keys_max_(keys_max) {}

    // Counts one request of `who`, an address where the rule is by address; false when it is over
    // the rule, and then it is not counted. `requests_max` is the rule's own, at this moment.
    bool allow(const RateRule& rule, std::string_view who, Time now, std::int64_t requests_max);
    // Whether allow() would refuse; counts nothing.
    bool is_spent(const RateRule& rule, std::string_view who, Time now, std::int64_t requests_max);
    std::size_t keys() const;  // of all rules

private:
    // The window that `start` begins and the one before it; the count over the last full window
    // length is estimated from both, so that a burst at a border is not let through twice.
    struct Counter {
        std::string key;
        std::int64_t start = 0;
        std::int64_t current = 0;
        std::int64_t previous = 0;
    };

    struct Table {
        std::list<Counter> by_use;  // most recent first
        std::unordered_map<std::string_view, std::list<Counter>::iterator> index;
    };
    // A key with its maximum.
    struct Bound {
        std::string key;
        std::int64_t requests_max;
    };

    static std::vector<Bound> bounds_of(const RateRule& rule, std::string_view who,
                                        std::int64_t requests_max);
    static bool is_spent(const RateRule& rule, Counter& counter, Time now,
                         std::int64_t requests_max);
    static Counter* find(Table& table, const std::string& key);
    Counter& find_or_add(Table& table, const std::string& key) const;

    const std::size_t keys_max_;
    mutable std::mutex mutex_;
    std::map<std::string_view, Table> tables_;  // by the name of the rule
};

}  // namespace berth::api
