// Whether a door is carried, from what gates said and when they said it.
#pragma once

#include "gates/store.hpp"

namespace berth::gates {

struct Hearing {
    Time now;
    Time since;  // when our last outage ended
};

// Since when the door is not carried; nothing while it is. `linked` is the process that said last
// that its machine has a link, as it was when it was last heard; null: unknown.
std::optional<Time> uncarried_since(const DoorRow& door, const BootRow* linked,
                                    const Hearing& hearing);

// The process of this name among them; null: none.
const BootRow* find_boot(const std::vector<BootRow>& boots, GateId gate,
                         const std::optional<std::string>& boot);

}  // namespace berth::gates
