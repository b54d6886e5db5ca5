// One attempt to deliver an event, what its outcome means for the line behind it, and when the next
// one is made. Strict order means that one event holds up all that follow it, so what can pass is
// waited for and what cannot is given up soon.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/random.hpp"
#include "delivery/targets.hpp"
#include "http/client.hpp"

namespace berth::delivery {

inline constexpr Duration attempt_max = std::chrono::seconds(15);
inline constexpr std::size_t answer_bytes_max = 1024;
inline constexpr Duration warned_after = std::chrono::hours(1);
inline constexpr Duration disabled_after = std::chrono::hours(72);  // a weekend
inline constexpr std::int64_t refused_attempts_max = 5;

struct Parcel {
    std::string id;         // the header webhook-id
    Time attempted_at;      // webhook-timestamp
    std::string signature;  // webhook-signature
    std::string body;
};

struct Answered {
    std::optional<std::int64_t> status = {};
    std::string fault = {};   // why there is no status
    std::string answer = {};  // the beginning of it, as text
    std::optional<Duration> retry_after = {};
    Duration took = {};
    bool is_ours = false;  // the target was not tried, for want of room with us
};

struct Way {
    http::Client& client;
    const TargetRules& rules;
    const std::string& ca_file;  // empty: the system's
    // Asked once more before the first byte leaves, which may be long after the attempt began.
    std::function<bool()> may_begin = {};
};
// Never throws for what the other side does.
Answered post(const Way& way, const std::string& url, const Parcel& parcel);

enum class Verdict {
    delivered,
    waits,    // no answer, or one that says "later": the line waits
    refused,  // this event is not taken: tried a few times, then given up
    gone,     // nobody is there any more
    untried,  // soon again, and nothing is held against the target
};
Verdict verdict_of(const Answered& answered);

// Until the next attempt; `attempts` have failed, this one included. 5 s doubling to an hour, with
// jitter, or what the other side asked for, up to an hour.
Duration pause_after(std::int64_t attempts, const std::optional<Duration>& retry_after,
                     Random& random);
// Of an event that was refused: five attempts in a quarter of an hour.
Duration pause_after_refusal(std::int64_t refusals);

}  // namespace berth::delivery
