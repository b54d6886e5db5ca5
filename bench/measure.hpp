// What the benchmarks share: the median of alternating rounds, and load from wrk, a program of its
// own, so that the load does not run inside what is measured.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace berth::bench {

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

// Runs wrk and gives the requests a second it counted.
inline double wrk_rate(const std::string& arguments) {
    FILE* pipe = ::popen(("wrk " + arguments + " 2>&1").c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("wrk cannot be started");
    std::string text;
    std::array<char, 4096> piece{};
    while (std::fgets(piece.data(), static_cast<int>(piece.size()), pipe) != nullptr)
        text += piece.data();
    ::pclose(pipe);
    constexpr const char* mark = "Requests/sec:";
    const std::size_t at = text.find(mark);
    if (at == text.npos || text.find("Non-2xx") != text.npos)
        throw std::runtime_error("wrk did not measure:\n" + text);
    return std::atof(text.c_str() + at + 13);
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.at(values.size() / 2);
}

}  // namespace berth::bench
