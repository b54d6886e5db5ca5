// The same on PostgreSQL.
#include <gtest/gtest.h>

#include "bench/events.hpp"
#include "support/postgres_cluster.hpp"

int main() {
    ::testing::InitGoogleTest();
    return berth::bench::run("events_pg", [] {
        const berth::test::PostgresCluster cluster;
        ::setenv("BERTH_TEST_DB", cluster.url().c_str(), 1);
        berth::bench::measure_telling("events_pg", 300);
    });
}
