// The fixture of whole rentals, from their quote to their end: rental_test.cpp and
// rental_ends_test.cpp. It has a namespace of its own, since the ledger's tests have a Rental too.
#pragma once

#include "rentals/market.hpp"

namespace berth::test::whole_rentals {

class Rental : public MarketTest {};

}  // namespace berth::test::whole_rentals
