// What a page costs the server's processor while 5,000 machines are heard and 100 offers are edited
// every second, less what that load costs without readers, against what it costs at rest. The load
// comes as it reaches the database: heartbeats in one batch a second, edits as saved rows.
#include <sys/resource.h>

#include <thread>

#include "bench/catalog_server.hpp"

namespace {

using namespace berth;

constexpr std::size_t heartbeats_per_second = 5'000;
constexpr std::size_t edits_per_second = 100;
constexpr int rounds = 3;

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Churn {
public:
    explicit Churn(bench::CatalogServer& server)
        : server_(server), thread_([this] { loop(); }) {}
    ~Churn() {
        over_ = true;
        thread_.join();
    }
    Churn(const Churn&) = delete;
    Churn& operator=(const Churn&) = delete;

private:
    void loop() {
        SystemRandom random;
        const auto& machines = server_.seed().machines();
        std::size_t heard = 0;
        std::size_t edited = 0;
        auto next = std::chrono::steady_clock::now();
        while (!over_) {
            const Time now = server_.clock().now();
            server_.database().write([&](db::Transaction& tx) {
                for (std::size_t i = 0; i < heartbeats_per_second; ++i)
                    machines::note_heard(tx, {machines[heard++ % machines.size()],
                                              now + std::chrono::hours(100), "boot"});
                for (std::size_t i = 0; i < edits_per_second; ++i) {
                    auto row = machines::hold(tx, machines[edited++ * 7 % machines.size()]);
                    machines::save({tx, random, now}, *row);
                }
            });
            next += std::chrono::seconds(1);
            std::this_thread::sleep_until(next);
        }
    }

    bench::CatalogServer& server_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

struct Cost {
    double cpu = 0;
    double pages = 0;
};

// A few seconds of reading, or of nothing.
Cost cost(const bench::CatalogServer& server, bool reading) {
    constexpr int length_seconds = 4;
    const double before = cpu_seconds();
    Cost cost;
    if (reading)
        cost.pages = length_seconds * bench::wrk_rate(fmt::format("-t1 -c64 -d{}s {}",
                                                                  length_seconds, server.url()));
    else
        std::this_thread::sleep_for(std::chrono::seconds(length_seconds));
    cost.cpu = cpu_seconds() - before;
    return cost;
}

void measure() {
    bench::CatalogServer server(bench::usual_offers);
    server.start();
    server.catalog().follow(server.database(), server.clock());
    std::vector<double> at_rest;
    std::vector<double> in_churn;
    for (int round = 0; round < rounds; ++round) {
        const Cost rest = cost(server, true);
        at_rest.push_back(1e6 * rest.cpu / rest.pages);
        const Churn churn(server);
        const Cost alone = cost(server, false);
        const Cost both = cost(server, true);
        in_churn.push_back(1e6 * (both.cpu - alone.cpu) / both.pages);
    }
    fmt::print("BENCH catalog_churn ours={:.2f} baseline=at_rest:{:.2f} ratio={:.2f}\n",
               bench::median(in_churn), bench::median(at_rest),
               bench::median(at_rest) / bench::median(in_churn));
}

}  // namespace

int main() {
    berth::set_log(berth::Level::error);
    try {
        measure();
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "catalog_churn: {}\n", error.what());
        return 1;
    }
}
