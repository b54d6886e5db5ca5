// How late the latest hundredth of events come to streams: those that the same process told, and
// those that another one did.
#include "bench/event_streams.hpp"
#include "server/schema.hpp"
#include "support/postgres_cluster.hpp"

namespace {

using namespace berth;

constexpr int accounts = 20;
constexpr std::chrono::seconds measured_for{15};
constexpr double own_goal_ms = 50;
constexpr double others_goal_ms = 1500;

std::vector<double> delays_at(std::uint16_t port) {
    bench::Audience audience;
    for (const auto& one : bench::stream_accounts(accounts)) audience.open(port, one.secret);
    return audience.read_for(measured_for);
}

void measure() {
    {
        const bench::EventServer server(accounts, true);
        bench::print_goal("event_delay_ms", bench::percentile(delays_at(server.port()), 0.99),
                          own_goal_ms, "told-by=same-process");
    }
    const test::PostgresCluster cluster;
    const bench::EventServer server(accounts, false, cluster.url());
    const auto database = db::open(cluster.url());
    const auto people = bench::stream_accounts(accounts);
    const std::jthread teller(
        [&](const std::stop_token& ended) { bench::tell_each_second(*database, people, ended); });
    bench::print_goal("event_delay_ms", bench::percentile(delays_at(server.port()), 0.99),
                      others_goal_ms, "told-by=other-process");
}

}  // namespace

int main() { return berth::bench::run("event_delay_ms", measure); }
