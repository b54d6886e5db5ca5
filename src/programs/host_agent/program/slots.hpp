// A computer that is sold in slots: several machines under one agent, each with cards that no other
// has and a share of all else. Which there are its owner writes into `slots.json` of the agent's
// folder; without that file the computer is one machine.
#pragma once

#include <vector>

#include "host_agent/core/state_folder.hpp"
#include "host_agent/program/options.hpp"

namespace berth::host_agent {

struct Slot {
    wire::Text<1, 16> name;
    wire::List<wire::Text<1, 128>, 1, agent_protocol::gpus_max> gpus;  // by their uuids
    wire::Integer<1, 65536> cpus;
    wire::Integer<1, 1'000'000> memory_gib;
    wire::Integer<1, 10'000'000> disk_gib;
    wire::Integer<1, 1'000'000> network_mbit;
    wire::Text<1, 16> ports;  // as --ports has them
    std::optional<wire::Integer<256, 4'000'000>> pids;
};
BOOST_DESCRIBE_STRUCT(Slot, (), (name, gpus, cpus, memory_gib, disk_gib, network_mbit, ports, pids))

struct Slots {
    wire::List<Slot, 1, slots_max> slots;
};
BOOST_DESCRIBE_STRUCT(Slots, (), (slots))

// What there is to share out.
struct Computer {
    std::int64_t cpus = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t disk_bytes = 0;
    std::int64_t processes = 0;
};
Computer this_computer(const std::string& folder);

// Throws std::invalid_argument, with the member that is wrong, unless the slots share nothing and
// are no more together than the computer has. `path` is how the file is called.
Slots read_slots(const std::string& text, const std::string& path, const Computer& computer);

// How many processes a slot has that the file tells nothing of: an even part of what is left, and
// no more than most jobs use.
std::int64_t usual_pids(const Slots& slots, const Computer& computer);

// Of the agent with this folder; empty where the computer is one machine. Throws
// std::invalid_argument. What was shared out once may be more than the computer has by now: whoever
// only goes on with it does not ask.
enum class Totals { asked, let_be };
std::optional<Slots> find_slots(const std::string& folder, Totals totals = Totals::let_be);
// Slots that are there still, and that the file names no more.
std::vector<std::string> unnamed_slots(const std::string& folder, const Slots& slots);
// Throws std::invalid_argument when there are some: nothing of theirs is given to others.
void refuse_unnamed(const std::string& folder, const Slots& slots);
std::string slot_folder(const std::string& folder, const std::string& slot);
// Those with a rental, whatever the file says.
std::vector<std::string> rented_slots(const std::string& folder);
// Throws std::invalid_argument when a card or a port of this slot is another's still: of one that
// is rented, or whose agent runs, since before the file was changed.
void refuse_held(const Options& slot);

// What is told to a slot: its folder and its share in place of the computer's. While it is rented,
// its share is what it was when that began; to who only looks, while its agent runs, what that one
// has. Where the computer is one machine nothing is changed. Throws std::invalid_argument when no
// slot is named and there are some, or the one that is named is not there.
enum class Use { prepared, looked_at, run };
Options in_slot(Options options, Use use);

}  // namespace berth::host_agent
