// A library with the names of NVIDIA's management library, which answers as a test tells it to.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace berth::test {

inline constexpr int nvml_not_supported = 3;
inline constexpr int nvml_lost = 15;

// A number the card gives: 0 and the number, or another result.
struct Answer {
    int result = 0;
    unsigned long long number = 0;
};

struct FakeCard {
    std::string bus_id;
    std::string name;
    std::string uuid;
    Answer memory_total;
    Answer memory_used;
    Answer utilization;
    Answer temperature;
    Answer power;
    Answer fan;
    Answer throttle;
    std::vector<unsigned> users;
    std::vector<unsigned> screens = {};  // that draw
    unsigned is_divided = 0;
};

struct FakeEvent {
    std::size_t card = 0;
    unsigned long long type = 0;
    unsigned long long data = 0;
};

struct FakeNvml {
    int init = 0;
    std::vector<FakeCard> cards;
    std::deque<FakeEvent> events;
};

}  // namespace berth::test

extern "C" berth::test::FakeNvml* fake_nvml();
