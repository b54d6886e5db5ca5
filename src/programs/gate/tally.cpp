#include "gate/tally.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/enum_names.hpp"

namespace berth::gate {
namespace {

void head(std::string& out, std::string_view name, std::string_view help, std::string_view type) {
    out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

template <class Value>
void one(std::string& out, std::string_view name, std::string_view help, std::string_view type,
         Value value) {
    head(out, name, help, type);
    out += fmt::format("{} {}\n", name, value);
}

template <class E, class Counters>
void each(std::string& out, std::string_view name, std::string_view label,
          const Counters& counters) {
    for (const EnumName& row : EnumTable<E>::names)
        out += fmt::format("{}{{{}=\"{}\"}} {}\n", name, label, row.name,
                           counters[static_cast<std::size_t>(row.value)].load());
}

}  // namespace

void Tally::count_call_time(Duration took) {
    const double seconds = static_cast<double>(took.count()) / 1e6;
    const auto bucket = static_cast<std::size_t>(
        std::lower_bound(bounds_s.begin(), bounds_s.end(), seconds) - bounds_s.begin());
    ++call_times_[bucket];
    call_time_us_ += static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
}

std::string Tally::prometheus_text(const Present& present) const {
    std::string out;
    one(out, "berth_gate_links", "Machines that have a link.", "gauge", present.links);
    one(out, "berth_gate_doors", "Ports that are open.", "gauge", present.doors);
    one(out, "berth_gate_streams", "Strangers joined with a machine.", "gauge", present.streams);
    one(out, "berth_gate_waiting", "Strangers who wait for a machine.", "gauge", present.waiting);
    one(out, "berth_gate_draining", "Whether it takes no links any more.", "gauge",
        present.draining ? 1 : 0);
    one(out, "berth_gate_in_bytes_total", "From strangers to machines.", "counter",
        present.bytes_in);
    one(out, "berth_gate_out_bytes_total", "From machines to strangers.", "counter",
        present.bytes_out);
    head(out, "berth_gate_calls_total", "Knocks that a machine was asked for.", "counter");
    each<CallOutcome>(out, "berth_gate_calls_total", "outcome", outcomes_);
    head(out, "berth_gate_refused_total", "Who was sent away at once.", "counter");
    each<Refused>(out, "berth_gate_refused_total", "why", refused_);
    head(out, "berth_gate_reports_total", "Reports to the server.", "counter");
    out += fmt::format("berth_gate_reports_total{{answered=\"yes\"}} {}\n", reports_heard_.load());
    out += fmt::format("berth_gate_reports_total{{answered=\"no\"}} {}\n", reports_lost_.load());

    const std::string_view times = "berth_gate_call_seconds";
    head(out, times, "From the knock until the machine was joined.", "histogram");
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < call_times_.size(); ++i) {
        sum += call_times_[i];
        const std::string bound = i < bounds_s.size() ? fmt::format("{}", bounds_s[i]) : "+Inf";
        out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", times, bound, sum);
    }
    out += fmt::format("{}_sum {:.6f}\n{}_count {}\n", times,
                       static_cast<double>(call_time_us_.load()) / 1e6, times, sum);
    return out;
}

}  // namespace berth::gate
