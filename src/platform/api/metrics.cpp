#include "api/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::api {
namespace {

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

Metrics::ReadSamples one(std::function<double()> read) {
    return [read = std::move(read)] { return std::vector<Metrics::Sample>{{"", read()}}; };
}

std::string heading(const std::string& name, const std::string& help, std::string_view type) {
    return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

}  // namespace

void Metrics::count_request(const std::string& operation, int status, Duration took) {
    const auto bucket = static_cast<std::size_t>(
        std::lower_bound(bounds.begin(), bounds.end(), took) - bounds.begin());
    const std::lock_guard lock(mutex_);
    ++counts_[{operation, status}];
    Times& times = times_[operation];
    ++times.buckets.at(bucket);
    times.sum += took;
}

void Metrics::add_gauge(std::string name, std::string help, std::function<double()> read) {
    const std::lock_guard lock(mutex_);
    families_.push_back({std::move(name), std::move(help), "gauge", "", one(std::move(read))});
}

void Metrics::add_counter(std::string name, std::string help, std::function<double()> read) {
    const std::lock_guard lock(mutex_);
    families_.push_back({std::move(name), std::move(help), "counter", "", one(std::move(read))});
}

void Metrics::add_gauges(std::string name, std::string help, std::string label, ReadSamples read) {
    const std::lock_guard lock(mutex_);
    families_.push_back(
        {std::move(name), std::move(help), "gauge", std::move(label), std::move(read)});
}

std::string Metrics::prometheus_text() const {
    const std::lock_guard lock(mutex_);
    std::string out = heading("berth_requests_total", "Requests answered.", "counter");
    for (const auto& [key, count] : counts_)
        out += fmt::format("berth_requests_total{{operation=\"{}\",status=\"{}\"}} {}\n", key.first,
                           key.second, count);
    out += heading("berth_request_seconds", "Time spent answering.", "histogram");
    for (const auto& [operation, times] : times_) out += histogram(operation, times);
    for (const Family& family : families_) {
        out += heading(family.name, family.help, family.type);
        for (const Sample& sample : family.read()) {
            const std::string label =
                family.label.empty() ? ""
                                     : fmt::format("{{{}=\"{}\"}}", family.label, sample.label);
            out += fmt::format("{}{} {}\n", family.name, label, sample.value);
        }
    }
    return out;
}

// Each bucket counts all that took no longer than its bound.
std::string Metrics::histogram(const std::string& operation, const Times& times) {
    std::string out;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < times.buckets.size(); ++i) {
        count += times.buckets[i];
        const std::string bound =
            i < bounds.size() ? fmt::format("{}", seconds(bounds[i])) : "+Inf";
        out += fmt::format("berth_request_seconds_bucket{{operation=\"{}\",le=\"{}\"}} {}\n",
                           operation, bound, count);
    }
    out += fmt::format("berth_request_seconds_sum{{operation=\"{}\"}} {:.6f}\n", operation,
                       seconds(times.sum));
    return out +
           fmt::format("berth_request_seconds_count{{operation=\"{}\"}} {}\n", operation, count);
}

}  // namespace berth::api
