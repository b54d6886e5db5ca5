// Rentals a second from quote to settlement on SQLite, by 64 callers, against the same that tells
// nothing of it.
#include <gtest/gtest.h>

#include "bench/events.hpp"

int main() {
    ::testing::InitGoogleTest();
    return berth::bench::run("events", [] { berth::bench::measure_telling("events", 500); });
}
