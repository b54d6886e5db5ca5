// What the benchmarks share: the median of alternating rounds and the line that says it, and load
// from wrk, a program of its own, so that the load does not run inside what is measured.
#pragma once

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"

namespace berth::bench {

// How a benchmark ends that needs what this machine does not have; its last line says what.
inline constexpr int cannot_run_here = 77;

// A temporary folder that goes away with the object.
struct Folder {
    Folder() : path((std::filesystem::temp_directory_path() / "berth-bench.XXXXXX").string()) {
        if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string path;
};

// Runs wrk and gives what it says.
inline std::string wrk_report(const std::string& arguments) {
    FILE* pipe = ::popen(("wrk " + arguments + " 2>&1").c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("wrk cannot be started");
    std::string text;
    std::array<char, 4096> piece{};
    while (std::fgets(piece.data(), static_cast<int>(piece.size()), pipe) != nullptr)
        text += piece.data();
    ::pclose(pipe);
    if (text.find("Requests/sec:") == text.npos || text.find("Non-2xx") != text.npos)
        throw std::runtime_error("wrk did not measure:\n" + text);
    return text;
}

// The requests a second it counted.
inline double wrk_rate(const std::string& arguments) {
    const std::string text = wrk_report(arguments);
    return std::atof(text.c_str() + text.find("Requests/sec:") + 13);
}

// "p50=0.9ms p99=2.1ms"
inline std::string wrk_latencies(const std::string& arguments) {
    const std::string text = wrk_report("--latency " + arguments);
    std::string out;
    for (const std::string mark : {"50%", "99%"}) {
        const std::size_t at = text.find_first_not_of(' ', text.find(mark) + mark.size());
        out += (out.empty() ? "p" : " p") + mark.substr(0, 2) + "=" +
               text.substr(at, text.find('\n', at) - at);
    }
    return out;
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.at(values.size() / 2);
}

// The line of a benchmark of which more is better.
inline void print(std::string_view name, const std::vector<double>& ours,
                  std::string_view baseline_name, const std::vector<double>& baseline,
                  std::string_view more = "") {
    fmt::print("BENCH {} ours={:.0f} baseline={}:{:.0f} ratio={:.2f}{}{}\n", name, median(ours),
               baseline_name, median(baseline), median(ours) / median(baseline),
               more.empty() ? "" : " ", more);
}

// The body of main. A failure is caught, so that what was started is taken down whatever happens.
template <class Measure>
int run(std::string_view name, Measure measure) {
    set_log(Level::error);
    ::signal(SIGPIPE, SIG_IGN);  // whoever writes to a peer that has gone is told so
    try {
        measure();
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", name, error.what());
        return 1;
    }
}

}  // namespace berth::bench
