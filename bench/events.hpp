// Whole rentals from quote to settlement, through the handlers and what an agent says, by many at a
// time: what it costs them that everything is told, and that it is told to one host.
#pragma once

#include <memory>
#include <string_view>

#include "bench/measure.hpp"

namespace berth::bench {

class RentalMill {
public:
    static constexpr int callers = 64;
    enum class Hosts { one, many };

    explicit RentalMill(Hosts hosts);
    ~RentalMill();
    RentalMill(const RentalMill&) = delete;
    RentalMill& operator=(const RentalMill&) = delete;

    // Rentals a second.
    double grind(int times);

private:
    class Town;
    std::unique_ptr<Town> town_;
};

void measure_telling(std::string_view name, int times);

}  // namespace berth::bench
