// Which of a host's cards are offered: those that its owner names, or all that can be rented out.
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu.hpp"

namespace berth::gpu {

// "0000:01:00.0,GPU-…", by bus address or identity, with commas between them; "all" and nothing are
// all that can be rented out.
std::vector<std::string> parse_names(const std::string& text);

// The bus address of the card with that name, or the name itself where no card has it.
std::string address_called(const Inventory& found, const std::string& name);

// The inventory with the cards that are offered, and the others as left out, each with why. A card
// that cannot be rented out is left out though it is named.
Inventory offered(Inventory whole, const std::vector<std::string>& names);

// A sentence for each name that is no card's, or a card's that cannot be rented out.
std::vector<std::string> wrong_names(const Inventory& offered,
                                     const std::vector<std::string>& names);

}  // namespace berth::gpu
