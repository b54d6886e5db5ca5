// The default page of 20 out of 100,000 offers over 64 connections, against nginx with one worker
// serving the bytes of such a page from a file. wrk drives both, in turns.
#include "bench/catalog_server.hpp"
#include "bench/nginx.hpp"

namespace {

using namespace berth;

constexpr int rounds = 5;

void measure() {
    bench::CatalogServer server(bench::usual_offers);
    server.start();
    const std::uint16_t port = 20'000 + static_cast<std::uint16_t>(::getpid() % 12'000);
    bench::Nginx nginx(fmt::format("listen 127.0.0.1:{};", port));
    nginx.put("page.json", server.page());
    nginx.start();
    ::usleep(500'000);
    const std::string file = fmt::format("http://127.0.0.1:{}/page.json", port);
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(bench::pages_per_second(server.url()));
        theirs.push_back(bench::pages_per_second(file));
    }
    bench::print("catalog", ours, "nginx", theirs,
                 bench::wrk_latencies("-t1 -c64 -d3s " + server.url()));
}

}  // namespace

int main() { return bench::run("catalog", measure); }
