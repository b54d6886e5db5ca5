// Rentals a second on 64 machines of one host, whose stream all of them write to, against 64
// machines of as many hosts; on PostgreSQL, where they meet at a row.
#include <gtest/gtest.h>

#include "bench/events.hpp"
#include "support/postgres_cluster.hpp"

namespace {

void measure() {
    using berth::bench::RentalMill;
    constexpr int rounds = 5;
    constexpr int times = 300;
    const berth::test::PostgresCluster cluster;
    ::setenv("BERTH_TEST_DB", cluster.url().c_str(), 1);
    RentalMill one(RentalMill::Hosts::one);
    RentalMill many(RentalMill::Hosts::many);
    std::vector<double> of_one;
    std::vector<double> of_many;
    for (int round = 0; round < rounds; ++round) {
        of_one.push_back(one.grind(times));
        of_many.push_back(many.grind(times));
    }
    berth::bench::print("events_one_host", of_one, "64-hosts", of_many);
}

}  // namespace

int main() {
    ::testing::InitGoogleTest();
    return berth::bench::run("events_one_host", measure);
}
