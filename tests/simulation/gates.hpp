// The gates of a simulation, and what happens to them and to links: they fall silent, links are
// lost, doors move. What they say is told to the bookkeeper, which knows nothing else of gates.
#pragma once

#include <functional>

#include "simulation/stage.hpp"

namespace berth::simulation {

class GateCrew {
public:
    // Whether the machine has a link to this gate.
    using IsLinked = std::function<bool(const std::string& machine, const std::string& gate)>;

    GateCrew(World& world, PlainModel& model, Tally& tally, std::uint64_t seed)
        : world_(world), model_(model), tally_(tally), dice_(seed) {}

    void open();
    // Those that are there say what they carry.
    void report(const IsLinked& is_linked);
    // One of them may be gone for a while.
    void perhaps_fail();
    void behave() { down_until_.clear(); }

    bool is_up(const std::string& gate) const;
    // By the books; empty: it has no doors.
    std::string gate_of(const std::string& job);
    Dice& dice() { return dice_; }

private:
    void say(const std::string& gate, const IsLinked& is_linked);

    World& world_;
    PlainModel& model_;
    Tally& tally_;
    Dice dice_;  // of their own: what else happens is as it would be without gates
    std::vector<std::string> gates_;
    std::map<std::string, Time> down_until_;
    Time started_at_{};
};

}  // namespace berth::simulation
