// What /metrics prints: requests by route and status, time spent, and gauges read when asked.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace berth::api {

class Metrics {
public:
    // `operation` is the route's name, or "unknown" for a request that met no route.
    void count_request(const std::string& operation, int status, Duration took);
    void add_gauge(std::string name, std::string help, std::function<double()> read);
    // Of something that only grows.
    void add_counter(std::string name, std::string help, std::function<double()> read);

    std::string prometheus_text() const;

private:
    struct Total {
        std::int64_t requests = 0;
        std::int64_t micros = 0;
    };
    struct Gauge {
        std::string name;
        std::string help;
        std::function<double()> read;
        std::string_view type;
    };

    mutable std::mutex mutex_;
    std::map<std::pair<std::string, int>, Total> totals_;  // by operation and status: bounded
    std::vector<Gauge> gauges_;
};

}  // namespace berth::api
