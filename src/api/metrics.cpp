#include "api/metrics.hpp"

#include <fmt/format.h>

namespace berth::api {

void Metrics::count_request(const std::string& operation, int status, Duration took) {
    const std::lock_guard lock(mutex_);
    Total& total = totals_[{operation, status}];
    ++total.requests;
    total.micros += took.count();
}

void Metrics::add_gauge(std::string name, std::string help, std::function<double()> read) {
    const std::lock_guard lock(mutex_);
    gauges_.push_back({std::move(name), std::move(help), std::move(read), "gauge"});
}

void Metrics::add_counter(std::string name, std::string help, std::function<double()> read) {
    const std::lock_guard lock(mutex_);
    gauges_.push_back({std::move(name), std::move(help), std::move(read), "counter"});
}

std::string Metrics::prometheus_text() const {
    const std::lock_guard lock(mutex_);
    std::string counts =
        "# HELP berth_requests_total Requests answered.\n# TYPE berth_requests_total counter\n";
    std::string times =
        "# HELP berth_request_seconds_total Time spent answering.\n"
        "# TYPE berth_request_seconds_total counter\n";
    for (const auto& [key, total] : totals_) {
        const std::string labels =
            fmt::format("{{operation=\"{}\",status=\"{}\"}}", key.first, key.second);
        counts += fmt::format("berth_requests_total{} {}\n", labels, total.requests);
        times += fmt::format("berth_request_seconds_total{} {:.6f}\n", labels,
                             static_cast<double>(total.micros) / 1e6);
    }
    std::string out = counts + times;
    for (const Gauge& gauge : gauges_)
        out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", gauge.name, gauge.help,
                           gauge.type, gauge.read());
    return out;
}

}  // namespace berth::api
