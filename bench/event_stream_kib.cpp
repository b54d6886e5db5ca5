// What one open stream of events costs: 10,000 of them at a server in a process of its own, and the
// growth of its resident memory divided by their number.
#include "bench/event_streams.hpp"

namespace {

using namespace berth;

constexpr int streams = 10'000;
constexpr double goal_kib = 32;

void measure() {
    bench::allow_files(streams + 200);
    const auto accounts = bench::stream_accounts(streams / bench::streams_of_account + 1);
    const bench::EventServer server(static_cast<int>(accounts.size()), false);
    bench::Audience audience;
    audience.open(server.port(), accounts.back().secret);  // what the first costs is not each one's
    const double before = bench::resident_kib(server.process());
    for (const auto& one : accounts)
        for (int i = 0; i < bench::streams_of_account && audience.size() < streams; ++i)
            audience.open(server.port(), one.secret);
    const double each =
        (bench::resident_kib(server.process()) - before) / static_cast<double>(streams - 1);
    bench::print_goal("event_stream_kib", each, goal_kib);
}

}  // namespace

int main() { return berth::bench::run("event_stream_kib", measure); }
