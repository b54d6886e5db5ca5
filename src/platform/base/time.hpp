// Points in time as whole microseconds since 1970 in UTC, and their RFC 3339 text. There is no
// time zone anywhere in the program and nobody asks the system for the time but SystemClock.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

using Duration = std::chrono::microseconds;

struct Time {
    std::int64_t micros = 0;

    friend auto operator<=>(const Time&, const Time&) = default;
    friend Time operator+(Time time, Duration span) { return {time.micros + span.count()}; }
    friend Time operator-(Time time, Duration span) { return {time.micros - span.count()}; }
    friend Duration operator-(Time a, Time b) { return Duration{a.micros - b.micros}; }
};

// "2026-11-15T03:06:41Z", with a fraction of three or six digits when there is one.
std::string to_rfc3339(Time time);

// Strict: upper-case T and Z, years 1970 to 9999, a day that exists, no leap second, one to nine
// digits of fraction (what is finer than a microsecond is cut off).
std::optional<Time> parse_rfc3339(std::string_view text);

class Clock {
public:
    virtual ~Clock() = default;
    virtual Time now() const = 0;
};

class SystemClock final : public Clock {
public:
    Time now() const override;
};

}  // namespace berth
