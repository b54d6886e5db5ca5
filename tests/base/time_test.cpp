#include "base/time.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <random>

namespace berth {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t last_second = 253'402'300'799;  // 9999-12-31T23:59:59Z

TEST(Time, WritesFractionsOfNoneThreeOrSixDigits) {
    const std::vector<std::pair<std::int64_t, std::string>> rows{
        {0, "1970-01-01T00:00:00Z"},
        {1, "1970-01-01T00:00:00.000001Z"},
        {1'000, "1970-01-01T00:00:00.001Z"},
        {500'000, "1970-01-01T00:00:00.500Z"},
        {500'100, "1970-01-01T00:00:00.500100Z"},
        {951'782'400 * second, "2000-02-29T00:00:00Z"},
        {1'794'711'999 * second + 999'999, "2026-11-15T03:06:39.999999Z"},
        {last_second * second, "9999-12-31T23:59:59Z"}};
    for (const auto& [micros, text] : rows) {
        EXPECT_EQ(to_rfc3339({micros}), text);
        EXPECT_EQ(parse_rfc3339(text), Time{micros});
    }
}

TEST(Time, CutsWhatIsFinerThanAMicrosecond) {
    const std::vector<std::pair<std::string, std::int64_t>> rows{
        {".1", 100'000},         {".12", 120'000},        {".000001", 1},   {".0000019", 1},
        {".123456789", 123'456}, {".999999999", 999'999}, {".000000000", 0}};
    for (const auto& [fraction, micros] : rows)
        EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00" + fraction + "Z"), Time{micros}) << fraction;
}

TEST(Time, RefusesBadTextAndDatesThatDoNotExist) {
    for (const std::string text : {"",
                                   "Z",
                                   "2026-11-15",
                                   "2026-11-15T03:06:41",
                                   "2026-11-15T03:06Z",
                                   "2026-11-15t03:06:41Z",
                                   "2026-11-15T03:06:41z",
                                   "2026-11-15 03:06:41Z",
                                   "2026-11-15T03:06:41+00:00",
                                   "2026-11-15T03:06:41-00:00",
                                   "2026-11-15T03:06:41.Z",
                                   "2026-11-15T03:06:41.1234567890Z",
                                   "2026-11-15T03:06:41,5Z",
                                   "2026-11-15T03:06:41.5",
                                   "2026-11-15T03:06:41.-5Z",
                                   "2026-11-15T03:06:41ZZ",
                                   "2026-11-15T03:06:41 Z",
                                   " 2026-11-15T03:06:41Z",
                                   "2026-11-15T03:06:41Z ",
                                   "26-11-15T03:06:41Z",
                                   "02026-11-15T03:06:41Z",
                                   "+026-11-15T03:06:41Z",
                                   "-026-11-15T03:06:41Z",
                                   "2026-1-15T03:06:41Z",
                                   "2026-00-15T03:06:41Z",
                                   "2026-13-15T03:06:41Z",
                                   "2026-11-00T03:06:41Z",
                                   "2026-11-31T03:06:41Z",
                                   "2026-02-29T03:06:41Z",
                                   "2100-02-29T03:06:41Z",
                                   "2024-02-30T03:06:41Z",
                                   "2026-11-15T24:00:00Z",
                                   "2026-11-15T23:60:00Z",
                                   "2016-12-31T23:59:60Z",
                                   "1969-12-31T23:59:59Z",
                                   "0000-01-01T00:00:00Z",
                                   "2026-11-15T0a:06:41Z",
                                   "2026/11/15T03:06:41Z",
                                   "2026-11-15T03-06-41Z",
                                   "2026-11-15T03:06:4\xc2\xb2Z"})
        EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
}

TEST(Time, AgreesWithTheSystemsCalendar) {
    std::mt19937_64 random(13);
    for (int i = 0; i < 20'000; ++i) {
        const auto seconds =
            static_cast<time_t>(random() % static_cast<std::uint64_t>(last_second));
        tm parts{};
        gmtime_r(&seconds, &parts);
        char text[32];
        ASSERT_GT(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts), 0U);
        ASSERT_EQ(to_rfc3339({seconds * second}), text);
        ASSERT_EQ(parse_rfc3339(text), Time{seconds * second});
    }
}

TEST(Time, IsItsOwnInverseToTheMicrosecond) {
    std::mt19937_64 random(14);
    for (int i = 0; i < 20'000; ++i) {
        const Time time{
            static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(last_second * second))};
        ASSERT_EQ(parse_rfc3339(to_rfc3339(time)), time);
    }
}

TEST(Time, CountsInDurations) {
    using namespace std::chrono_literals;
    EXPECT_EQ(Time{0} + 90s, Time{90 * second});
    EXPECT_EQ(Time{90 * second} - 1min, Time{30 * second});
    EXPECT_EQ(Time{90 * second} - Time{30 * second}, 1min);
    EXPECT_GT(SystemClock{}.now(), Time{1'700'000'000 * second});
}

}  // namespace
}  // namespace berth
