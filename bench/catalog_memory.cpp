// What the catalog keeps in memory for an offer, in the steady state: index, texts, heartbeats and
// what the follower knows, out of 100,000 offers. The goal is 2 KB.
#include <malloc.h>

#include "bench/catalog_server.hpp"

namespace {

using namespace berth;

constexpr double goal_bytes = 2048;

double in_use() {
    ::malloc_trim(0);
    const auto info = ::mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

void measure() {
    bench::CatalogServer server(bench::usual_offers);
    server.database().read([](db::Transaction& tx) { tx.run("SELECT 1"); });
    const double before = in_use();
    server.catalog().refresh(server.database(), server.clock().now());
    server.catalog().refresh(server.database(), server.clock().now());
    const double bytes = (in_use() - before) / bench::usual_offers;
    fmt::print("BENCH catalog_memory ours={:.0f} baseline=goal:{:.0f} ratio={:.2f}\n", bytes,
               goal_bytes, goal_bytes / bytes);
}

}  // namespace

int main() { return bench::run("catalog_memory", measure); }
