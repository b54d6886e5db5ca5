// Which machine named which card. A card is where it was first seen to work: of two machines that
// name the same one, the duplicate is the one whose first passed test with it was later, and only
// while the other could be rented itself. So nobody takes a competitor off the market by repeating
// what its manifest says, and a card that moved is sold at its new place as soon as the old one is
// silent.
#pragma once

#include <string>
#include <vector>

#include "db/db.hpp"
#include "machines/types.hpp"

namespace berth::machines {

// The cards of its present manifest. What it passed with earlier is kept.
void name_gpus(db::Transaction& tx, MachineId id, const std::vector<std::string>& uuids);
// The machine has passed a test with the cards it names.
void note_gpus_passed(const db::Context& context, MachineId id);

// Machines that are duplicates now, in order.
std::vector<MachineId> find_duplicates(db::Transaction& tx, Time now);
bool is_duplicate(db::Transaction& tx, MachineId id, Time now);
// Whether another machine names one of its cards, whoever of the two is the duplicate.
bool is_claimed_elsewhere(db::Transaction& tx, MachineId id);

}  // namespace berth::machines
