// Signs of life, written once a second for all machines together: a heartbeat that brings nothing
// new costs no transaction. A crash loses the last second or two of them, and nothing else.
#pragma once

#include <map>
#include <mutex>

#include "machines/machine.hpp"

namespace berth::machines {

class HealthBatch {
public:
    static constexpr std::size_t machines_max = 500'000;

    // The newest heartbeat of each machine counts; telemetry stays when a later heartbeat has none.
    void note(Heard heard);
    // Writes everything noted so far; what could not be written is kept for the next time.
    void write(db::Database& database);
    std::size_t size() const;

private:
    using ByMachine = std::map<MachineId, Heard>;  // in the order rows are to be touched

    static void merge(ByMachine& into, Heard heard);
    static void write_all(db::Transaction& tx, const ByMachine& batch);

    mutable std::mutex mutex_;
    ByMachine noted_;
};

}  // namespace berth::machines
