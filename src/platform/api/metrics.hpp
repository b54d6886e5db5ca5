// What /metrics prints: requests by route and status, how long they took, and numbers that are read
// when somebody asks.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace berth::api {

class Metrics {
public:
    // One number of a family, told from the others by the value of the family's label.
    struct Sample {
        std::string label;
        double value = 0;
    };
    using ReadSamples = std::function<std::vector<Sample>()>;

    // `operation` is the route's name, or "unknown" for a request that met no route.
    void count_request(const std::string& operation, int status, Duration took);
    void add_gauge(std::string name, std::string help, std::function<double()> read);
    // Of something that only grows; its name ends in _total.
    void add_counter(std::string name, std::string help, std::function<double()> read);
    void add_gauges(std::string name, std::string help, std::string label, ReadSamples read);

    std::string prometheus_text() const;

private:
    // Upper bounds of a histogram's buckets; what took longer is in the last one, +Inf.
    static constexpr std::array<Duration, 12> bounds{
        Duration(1'000),   Duration(2'500),     Duration(5'000),     Duration(10'000),
        Duration(25'000),  Duration(50'000),    Duration(100'000),   Duration(250'000),
        Duration(500'000), Duration(1'000'000), Duration(2'500'000), Duration(10'000'000)};
    struct Times {
        std::array<std::int64_t, bounds.size() + 1> buckets{};
        Duration sum{};
    };
    struct Family {
        std::string name;
        std::string help;
        std::string_view type;
        std::string label;  // empty for a family of one
        ReadSamples read;
    };
    static std::string histogram(const std::string& operation, const Times& times);

    mutable std::mutex mutex_;
    // By operation and status, and by operation: both are bounded.
    std::map<std::pair<std::string, int>, std::int64_t> counts_;
    std::map<std::string, Times> times_;
    std::vector<Family> families_;
};

}  // namespace berth::api
