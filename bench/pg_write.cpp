// Writes on PostgreSQL by 16 callers through db/, against pgbench with the same statements on the
// same tables of the same server, in turns.
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/pgbench.hpp"
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

void measure() {
    using namespace berth;
    const test::PostgresCluster cluster;
    std::ofstream(cluster.folder() / "transfer.sql") << script;
    const auto database = db::open(cluster.url(), {.connections_max = callers});
    bench::prepare_transfers(*database);
    std::vector<double> ours;
    std::vector<double> baseline;
    for (int round = 0; round < rounds; ++round) {
        baseline.push_back(bench::pgbench_per_second(
            cluster, callers, fmt::format("--time={}", round_length.count()), "transfer.sql"));
        ours.push_back(bench::transfers_per_second(*database, callers, round_length));
    }
    bench::print("pg_write", ours, "pgbench", baseline);
}

}  // namespace

int main() { return berth::bench::run("pg_write", measure); }
