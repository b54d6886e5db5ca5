#include "base/time.hpp"

#include <fmt/format.h>

namespace berth {
namespace {

// Reads exactly `count` digits at `from`; -1 if one of them is no digit.
int digits(std::string_view text, std::size_t from, std::size_t count) {
    int value = 0;
    for (std::size_t i = from; i < from + count; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

// The microseconds in ".123Z"; empty if `text` is not a fraction of one to nine digits and a Z.
std::optional<std::int64_t> fraction_micros(std::string_view text) {
    if (text == "Z") return 0;
    if (text.size() < 3 || text.size() > 11 || text.front() != '.' || text.back() != 'Z')
        return std::nullopt;
    std::int64_t micros = 0;
    std::int64_t unit = 100'000;
    for (const char c : text.substr(1, text.size() - 2)) {
        if (c < '0' || c > '9') return std::nullopt;
        micros += (c - '0') * unit;
        unit /= 10;
    }
    return micros;
}

}  // namespace

std::string to_rfc3339(Time time) {
    using namespace std::chrono;
    const sys_time<microseconds> point{microseconds{time.micros}};
    const auto day = floor<days>(point);
    const year_month_day date{day};
    const hh_mm_ss clock{point - day};
    const auto micros = clock.subseconds().count();
    std::string out =
        fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    clock.hours().count(), clock.minutes().count(), clock.seconds().count());
    if (micros % 1000 != 0)
        out += fmt::format(".{:06}", micros);
    else if (micros != 0)
        out += fmt::format(".{:03}", micros / 1000);
    return out + 'Z';
}

std::optional<Time> parse_rfc3339(std::string_view text) {
    using namespace std::chrono;
    if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
        text[13] != ':' || text[16] != ':')
        return std::nullopt;
    const int year_number = digits(text, 0, 4);
    const int month_number = digits(text, 5, 2);
    const int day_number = digits(text, 8, 2);
    const int hour = digits(text, 11, 2);
    const int minute = digits(text, 14, 2);
    const int second = digits(text, 17, 2);
    if (year_number < 1970 || month_number < 0 || day_number < 0) return std::nullopt;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
        return std::nullopt;
    const year_month_day date{year{year_number}, month{static_cast<unsigned>(month_number)},
                              day{static_cast<unsigned>(day_number)}};
    const auto fraction = fraction_micros(text.substr(19));
    if (!date.ok() || !fraction) return std::nullopt;
    const auto point =
        sys_days{date} + hours{hour} + minutes{minute} + seconds{second} + microseconds{*fraction};
    return Time{duration_cast<microseconds>(point.time_since_epoch()).count()};
}

Time SystemClock::now() const {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<Duration>(since_epoch).count()};
}

}  // namespace berth
