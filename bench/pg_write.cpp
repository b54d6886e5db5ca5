// Writes on PostgreSQL by 16 callers through db/, against pgbench with the same statements on the
// same tables of the same server, in turns.
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "base/log.hpp"
#include "support/postgres_cluster.hpp"
#include "transfer.hpp"

namespace {

constexpr int callers = 16;
constexpr int rounds = 3;
constexpr std::chrono::seconds round_length{4};

constexpr std::string_view script = R"(\set key random(1, 9223372036854775806)
\set from random(1, 5000)
\set to random(5001, 10000)
\set amount random(1, 1000)
\set taken -:amount
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
INSERT INTO requests (key, answer) VALUES (:key, '{"status":"done"}') ON CONFLICT (key) DO NOTHING;
UPDATE balances SET value = value - :amount WHERE account = :from AND value >= :amount;
UPDATE balances SET value = value + :amount WHERE account = :to;
INSERT INTO entries (key, line, account, amount) VALUES (:key, 1, :from, :taken);
INSERT INTO entries (key, line, account, amount) VALUES (:key, 2, :to, :amount);
COMMIT;
)";

double pgbench_per_second(const berth::test::PostgresCluster& cluster) {
    const auto output = cluster.folder() / "pgbench.log";
    const bool done = cluster.run(
        fmt::format("pgbench --no-vacuum --protocol=prepared --client={} --jobs=2 --time={} "
                    "--file={} postgres",
                    callers, round_length.count(), (cluster.folder() / "transfer.sql").string()),
        output);
    std::stringstream text;
    text << std::ifstream(output).rdbuf();
    std::smatch found;
    const std::string all = text.str();
    if (!done || !std::regex_search(all, found, std::regex("tps = ([0-9.]+)")))
        throw std::runtime_error("pgbench failed: " + all);
    return std::stod(found[1]);
}

void measure() {
    using namespace berth;
    const test::PostgresCluster cluster;
    std::ofstream(cluster.folder() / "transfer.sql") << script;
    const auto database = db::open(cluster.url(), {.connections_max = callers});
    bench::prepare_transfers(*database);
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        baseline.push_back(pgbench_per_second(cluster));
        ours.push_back(bench::transfers_per_second(*database, callers, round_length));
    }
    fmt::print("BENCH pg_write ours={:.0f} baseline=pgbench:{:.0f} ratio={:.2f}\n",
               bench::median(ours), bench::median(baseline),
               bench::median(ours) / bench::median(baseline));
}

}  // namespace

int main() {
    berth::set_log(berth::Level::error);
    try {
        measure();  // caught here, so that the server is taken down whatever happens
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "pg_write: {}\n", error.what());
        return 1;
    }
}
