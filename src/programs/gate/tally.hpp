// What a gate counts for its operator, and the page of it. Any thread may count.
#pragma once

#include <array>
#include <atomic>
#include <boost/describe/enum.hpp>
#include <string>

#include "base/time.hpp"

namespace berth::gate {

// How a knock at a door ended.
enum class CallOutcome {
    joined,
    no_link,     // the machine had none in time
    unanswered,  // it was told and did not call back in time
    gone,        // it called back and vanished, or the stranger did
    closed,      // the door was closed meanwhile
};
BOOST_DESCRIBE_ENUM(CallOutcome, joined, no_link, unanswered, gone, closed)

// Why a stranger or a machine was sent away at once.
enum class Refused {
    door_pace,
    source_pace,
    streams,          // the door has as many as it may
    waiting,          // the gate has as many waiting as it may
    machine_waiting,  // or the machine
    first_bytes,      // neither SSH nor TLS
    no_door,
    link_pace,
    signature,
    replayed,
    authority,  // the Host field names somebody else
    ticket,     // damaged, forged, for another gate or machine, with a port that is not ours
    expired,
    stale,  // lower than one that was shown before
    unknown_call,
    echoes,  // too many at once
};
BOOST_DESCRIBE_ENUM(Refused, door_pace, source_pace, streams, waiting, machine_waiting, first_bytes,
                    no_door, link_pace, signature, replayed, authority, ticket, expired, stale,
                    unknown_call, echoes)

// What there is now.
struct Present {
    std::size_t links = 0;
    std::size_t doors = 0;
    std::size_t streams = 0;
    std::size_t waiting = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    bool draining = false;
};

class Tally {
public:
    void count(CallOutcome outcome) { ++outcomes_[static_cast<std::size_t>(outcome)]; }
    void count(Refused why) { ++refused_[static_cast<std::size_t>(why)]; }
    void count_call_time(Duration took);
    void count_report(bool heard) { ++(heard ? reports_heard_ : reports_lost_); }

    std::uint64_t outcomes(CallOutcome outcome) const {
        return outcomes_[static_cast<std::size_t>(outcome)];
    }
    std::uint64_t refused(Refused why) const { return refused_[static_cast<std::size_t>(why)]; }
    std::string prometheus_text(const Present& present) const;

private:
    using Counter = std::atomic<std::uint64_t>;
    static constexpr std::array<double, 8> bounds_s{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10};

    std::array<Counter, 5> outcomes_{};
    std::array<Counter, 16> refused_{};
    std::array<Counter, bounds_s.size() + 1> call_times_{};
    Counter call_time_us_{0};
    Counter reports_heard_{0};
    Counter reports_lost_{0};
};

}  // namespace berth::gate
