// How much of a gate one door, one stranger or one machine may have. Nothing here looks at a clock:
// every question comes with the time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/time.hpp"
#include "http/address.hpp"

namespace berth::gate {

struct Pace {
    double per_second;
    double burst;
};

// What was not used is saved up to the burst. A bucket that nobody has asked for long is full.
class Bucket {
public:
    // False when fewer than `spared` would be left. `spared` keeps some for others who ask with
    // less.
    bool take(const Pace& pace, Time now, double spared = 0);
    bool is_full(const Pace& pace, Time now) const;
    bool is_half_full(const Pace& pace, Time now) const;

private:
    double level(const Pace& pace, Time now) const;

    double tokens_ = 0;
    Time at_{};
    bool used_ = false;
};

struct LimitNumbers {
    Pace calls_of_door{10, 50};
    // Of these, relays have so many to themselves: strangers cannot shut the server out.
    double spared_for_relays = 10;
    // And those who come seldom so many more: two addresses cannot shut a renter out.
    double spared_for_the_quiet = 10;
    Pace calls_of_source{5, 50};
    // Who has more than half of this left comes seldom. It is much less than who comes may take, or
    // whoever takes just that would come seldom, too.
    Pace seldom_of_network{0.2, 10};
    Pace links_of_source{20, 100};
    std::size_t waiting_max = 1'000;          // at the whole gate; an eighth is for relays
    std::size_t waiting_of_machine_max = 64;  // and of those at one machine's doors, likewise
    std::size_t streams_of_ssh_max = 64;      // where a ticket allows more
    std::size_t streams_of_http_max = 512;
    // Nobody who has no more sessions than this loses one for others.
    std::size_t sessions_left_alone = 4;
};

// An address of IPv4, or of IPv6 the /48 that one customer can have: 65,536 subscribers.
std::string network_of(const http::Address& address);

// One bucket for each subscriber that was here lately; bounded.
class Sources {
public:
    static constexpr std::size_t sources_max = 100'000;

    explicit Sources(Pace pace) : pace_(pace) {}
    bool take(const http::Address& source, Time now) { return take(http::subscriber(source), now); }
    bool take(const std::string& who, Time now);
    // Has half of it left, or was not here lately.
    bool is_half_full(const std::string& who, Time now) const;
    std::size_t size() const { return buckets_.size(); }

private:
    void forget(Time now);

    const Pace pace_;
    std::unordered_map<std::string, Bucket> buckets_;
    Time forgot_at_{};
};

}  // namespace berth::gate
