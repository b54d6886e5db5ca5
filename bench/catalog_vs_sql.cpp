// A filtered page over HTTP, against the same page straight from PostgreSQL by pgbench: one flat
// table with the very items' JSON, and an index for the very filter and order.
#include "bench/catalog_server.hpp"
#include "support/postgres_cluster.hpp"
#include "wire/wire.hpp"

namespace {

using namespace berth;

constexpr int rounds = 3;

// Everything that a query needs stands in one row, so that the baseline joins and renders nothing.
constexpr const char* flat_table =
    "CREATE TABLE flat AS SELECT m.offer_id, m.continent, m.tflops_milli AS tflops, "
    "v.rate_micro_per_hour AS rate, lower(m.gpu_model) AS model, h.last_healthy_at AS heard, "
    "i.item "
    "FROM machines m JOIN offer_versions v USING (offer_id, offer_version) "
    "JOIN items i USING (offer_id) JOIN machine_health h ON h.machine_id = m.machine_id";
constexpr const char* page_sql =
    "SELECT item FROM flat WHERE continent = 'EU' AND model LIKE '%rtx 4090%' AND rate <= 150000 "
    "AND heard > 0 ORDER BY tflops DESC, offer_id LIMIT 21;";

// Every item as the catalog sends it, by its offer.
void copy_items(bench::CatalogServer& server) {
    server.database().write([](db::Transaction& tx) {
        tx.script("CREATE TABLE items AS SELECT offer_id, ''::text AS item FROM machines LIMIT 0");
    });
    std::string cursor;
    do {
        const auto page = wire::decode<api::Page<catalog::OfferSummary>>(
            server.page("?limit=100" + cursor), "page");
        server.database().write([&](db::Transaction& tx) {
            for (const catalog::OfferSummary& item : page.items)
                tx.run("INSERT INTO items (offer_id, item) VALUES ($1, $2)", item.offer_id,
                       wire::encode(item));
        });
        cursor = page.next_cursor.value ? "&cursor=" + *page.next_cursor.value : "";
    } while (!cursor.empty());
}

double pages_of_sql(const test::PostgresCluster& cluster) {
    const auto output = cluster.folder() / "pgbench.log";
    const bool done = cluster.run(
        fmt::format("pgbench --no-vacuum --protocol=prepared --client=16 --jobs=2 --time=3 "
                    "--file={} postgres",
                    (cluster.folder() / "page.sql").string()),
        output);
    std::ifstream in(output);
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::smatch found;
    if (!done || !std::regex_search(all, found, std::regex("tps = ([0-9.]+)")))
        throw std::runtime_error("pgbench failed: " + all);
    return std::stod(found[1]);
}

void measure() {
    const test::PostgresCluster cluster("fsync = off\nmax_wal_size = 4GB\n");
    bench::CatalogServer server(bench::usual_offers, cluster.url());
    server.start();
    copy_items(server);
    server.database().write([](db::Transaction& tx) {
        tx.script(flat_table);
        tx.script("CREATE INDEX flat_page ON flat (continent, tflops DESC, offer_id, rate)");
        tx.script("CREATE INDEX flat_rate ON flat (continent, rate)");
        tx.script("ANALYZE flat");
    });
    std::ofstream(cluster.folder() / "page.sql") << page_sql << '\n';
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(bench::pages_per_second(server.url(bench::selective_query)));
        theirs.push_back(pages_of_sql(cluster));
    }
    fmt::print("BENCH catalog_vs_sql ours={:.0f} baseline=postgres:{:.0f} ratio={:.2f} {}\n",
               bench::median(ours), bench::median(theirs),
               bench::median(ours) / bench::median(theirs),
               bench::wrk_latencies("-t1 -c64 -d3s " + server.url(bench::selective_query)));
}

}  // namespace

int main() {
    berth::set_log(berth::Level::error);
    try {
        measure();
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "catalog_vs_sql: {}\n", error.what());
        return 1;
    }
}
