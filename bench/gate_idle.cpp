// What one idle link costs a gate: 10,000 machines with a TLS link and an open door each, and the
// growth of the gate's resident memory divided by their number. Where the system allows a process
// too few files for that there are as many as it allows, and the line says how many.
#include <algorithm>
#include <limits>

#include "bench/gate_machine.hpp"

namespace {

using namespace berth;

constexpr int links_wanted = 10'000;
constexpr int links_least = 5'000;  // fewer would say too little of a large number
constexpr int files_of_link = 2;    // it and its door
constexpr int other_files = 200;
constexpr int links_of_source = 80;  // fewer than a gate lets one address open at once
constexpr int warm_up = 50;
constexpr double goal_kib = 16;

std::string source_of(int number) {
    const int source = number / links_of_source;
    return fmt::format("127.0.{}.{}", 1 + source / 200, 1 + source % 200);
}

int links_allowed() {
    const auto files = static_cast<std::int64_t>(
        std::min<rlim_t>(bench::allow_many_files(), std::numeric_limits<int>::max()));
    return static_cast<int>((files - other_files) / files_of_link) - warm_up;
}

void measure(int links) {
    bench::GateProcess gate;
    const http::TlsContext context = http::TlsContext::for_clients();
    std::vector<std::unique_ptr<bench::BenchLink>> kept;
    double before = 0;
    for (int i = 0; i < links + warm_up; ++i) {
        if (i == warm_up) before = gate.resident_kib();
        const auto port = static_cast<std::uint16_t>(bench::gate_doors_from + i);
        kept.push_back(std::make_unique<bench::BenchLink>(
            bench::connect_from(source_of(i), gate.link_port()), gate.tls_key(), context,
            gate.link_request({.port = port})));
    }
    const double each = (gate.resident_kib() - before) / links;
    fmt::print("BENCH gate_idle_kib ours={:.2f} baseline=goal:{:.0f} ratio={:.2f} links={}\n", each,
               goal_kib, goal_kib / each, links);
}

}  // namespace

int main() {
    const int links = std::min(links_allowed(), links_wanted);
    if (links < links_least) {
        fmt::print(stderr, "a gate with {} links needs {} open files\n", links_least,
                   files_of_link * (links_least + warm_up) + other_files);
        return bench::cannot_run_here;
    }
    return bench::run("gate_idle", [links] { measure(links); });
}
