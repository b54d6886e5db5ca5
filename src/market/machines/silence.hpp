// Machines that are not heard any more, and those that are again: told to their owners once each.
// The worker looks for them, so that the path of heartbeats knows nothing of it.
#pragma once

#include <optional>
#include <vector>

#include "machines/machine.hpp"

namespace berth::machines {

// Machines that were last heard before, and of which that was not noted; retired ones as well.
std::vector<MachineId> find_fallen_silent(db::Transaction& tx, Time heard_before,
                                          std::int64_t rows_max);
// Machines of which that was noted, and that were heard since then.
std::vector<MachineId> find_heard_again(db::Transaction& tx, Time heard_after,
                                        std::int64_t rows_max);

struct Silence {
    Machine machine;  // held
    Time noted_at;
    Time last_healthy_at;
};
// Nothing when it is not so any more, or when the machine is retired, of which nobody is told.
std::optional<Silence> note_silent(const db::Context& context, MachineId id, Time heard_before);
std::optional<Silence> note_heard_again(const db::Context& context, MachineId id, Time heard_after);

}  // namespace berth::machines
