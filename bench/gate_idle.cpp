// What one idle link costs a gate: 10,000 machines with a TLS link and an open door each, and the
// growth of the gate's resident memory divided by their number.
#include "bench/gate_machine.hpp"

namespace {

using namespace berth;

constexpr int links = 10'000;
constexpr int links_of_source = 80;  // fewer than a gate lets one address open at once
constexpr int warm_up = 50;
constexpr double goal_kib = 16;

std::string source_of(int number) {
    const int source = number / links_of_source;
    return fmt::format("127.0.{}.{}", 1 + source / 200, 1 + source % 200);
}

void measure() {
    bench::allow_many_files(2 * links + 1'000);  // a link and a door each
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
    fmt::print("BENCH gate_idle_kib ours={:.2f} baseline=goal:{:.0f} ratio={:.2f}\n", each,
               goal_kib, goal_kib / each);
}

}  // namespace

int main() { return bench::run("gate_idle", measure); }
