#include "gates/allot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "agent_protocol/gate_ticket.hpp"
#include "base/check.hpp"
#include "gates/carriage.hpp"
#include "gates/settings.hpp"
#include "machines/credentials.hpp"
#include "machines/heartbeats.hpp"

namespace berth::gates {
namespace {

using agent_protocol::WantDoors;
using agent_protocol::WantedDoor;
using machines::Machine;

constexpr std::int64_t streams_of_ssh = 64;
constexpr std::int64_t streams_of_http = 512;
constexpr std::int64_t streams_of_test = 16;
constexpr std::int64_t day_micros = 86'400'000'000;

std::int64_t streams_max(DoorKind kind) {
    switch (kind) {
        case DoorKind::ssh: return streams_of_ssh;
        case DoorKind::http: return streams_of_http;
        case DoorKind::test: return streams_of_test;
    }
    return streams_of_test;
}

bool is_for(const DoorRow& door, const WantedDoor& wanted) {
    return door.job_id == wanted.job_id && door.run_id == wanted.run_id &&
           door.name == wanted.name.value;
}

// A door leads to the job that holds the machine, also while it is stopped and cleaned, or to the
// test in progress; to nothing else that the machine may have.
void check_wanted(const Machine& machine, const WantedDoor& wanted) {
    if (wanted.job_id.has_value() == wanted.run_id.has_value())
        throw Problem(Code::invalid_input,
                      "body.wanted: each must have either a job_id or a run_id");
    if ((wanted.kind == DoorKind::test) != wanted.run_id.has_value())
        throw Problem(Code::invalid_input, "body.wanted: a door of a test is of kind test");
    if (wanted.job_id && wanted.job_id != machine.job_id)
        throw Problem(Code::conflict, "the job is not the one that holds this machine");
    if (wanted.run_id && wanted.run_id != machine.qualify_run_id)
        throw Problem(Code::conflict, "the test is not the one in progress on this machine");
}

void check_all(const Machine& machine, const std::vector<WantedDoor>& wanted) {
    std::unordered_set<std::string> names;
    for (const WantedDoor& one : wanted) {
        check_wanted(machine, one);
        if (!names.insert((one.job_id ? "job " : "test ") + one.name.value).second)
            throw Problem(Code::invalid_input, "body.wanted: no name may be there twice");
    }
}

// Gates that live, the best first: those of the machine's continent, then those with fewest doors.
std::vector<GateRow> candidates(const db::Context& context, const Machine& machine,
                                const std::optional<GateId>& but) {
    std::vector<GateRow> gates = list_live_gates(context.tx, context.now);
    std::erase_if(gates, [&](const GateRow& gate) { return gate.gate_id == but; });
    const std::map<GateId, std::int64_t> doors = count_doors(context.tx);
    const auto load = [&](const GateRow& gate) {
        const auto found = doors.find(gate.gate_id);
        return found == doors.end() ? 0 : found->second;
    };
    const auto rank = [&](const GateRow& gate) {
        const bool is_near = gate.continent && gate.continent == machine.continent;
        return std::pair(is_near ? 0 : 1, load(gate));
    };
    std::stable_sort(gates.begin(), gates.end(),
                     [&](const GateRow& a, const GateRow& b) { return rank(a) < rank(b); });
    return gates;
}

// Finds a port of the gate for the door; false when all are taken or rest.
bool take_port(const db::Context& context, const GateRow& gate, DoorRow& door) {
    const Time rested_since = context.now - port_rests;
    // The one that it had before, if nobody came in between.
    if (door.gate_id == gate.gate_id && door.port >= gate.ports_from &&
        door.port <= gate.ports_to && claim_port(context.tx, door, rested_since))
        return true;
    door.gate_id = gate.gate_id;
    const std::vector<std::int64_t> list = ports_in_use(context.tx, gate.gate_id, rested_since);
    const std::unordered_set<std::int64_t> used(list.begin(), list.end());
    const std::int64_t count = gate.ports_to - gate.ports_from + 1;
    // The last quarter is for those who are paid for: tests cost nobody anything.
    const auto taken = static_cast<std::int64_t>(used.size());
    if (door.kind == DoorKind::test && taken >= count - count / 4) return false;
    const auto noise = load_big_endian(context.random.bytes(8).data());
    const auto start = static_cast<std::int64_t>(noise % static_cast<std::uint64_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        door.port = gate.ports_from + (start + i) % count;
        if (!used.contains(door.port) && claim_port(context.tx, door, rested_since)) return true;
    }
    return false;
}

// Since when nobody answers for its link; now, when somebody does.
Time lost_since(const db::Context& context, const DoorRow& door) {
    const std::vector<BootRow> boots = boots_of_gate(context.tx, door.gate_id);
    const Hearing hearing{context.now, hearing_since(context.tx)};
    return uncarried_since(door, find_boot(boots, door.gate_id, door.linked_boot), hearing)
        .value_or(context.now);
}

[[noreturn]] void refuse_without_gate() {
    throw Problem(Code::no_gate, "no gate lives that could carry a door; ask again in a while");
}

// Whether the doors at this gate are better off elsewhere.
bool is_to_leave(const db::Context& context, const Machine& machine,
                 const std::optional<GateRow>& gate, const WantDoors& want) {
    if (!gate) return true;
    const Time heard = std::max(gate->heard_at.value_or(gate->added_at), hearing_since(context.tx));
    const bool is_silent = heard + gate_given_up <= context.now;
    const auto lost =
        std::chrono::duration_cast<std::chrono::seconds>(agent_protocol::lost_link_max);
    if (!is_silent && want.lost_s.value < lost.count()) return false;
    const auto moved_at = find_moved_at(context.tx, machine.machine_id);
    return !moved_at || *moved_at + moves_apart <= context.now;
}

// Gives each door a port of this gate; false, and some of them moved, when there are too few. What
// was open is closed where it was, and stays uncarried until the new gate carries it.
bool place_all(const db::Context& context, const GateRow& gate, std::vector<DoorRow>& doors) {
    for (DoorRow& door : doors) {
        const bool is_new = door.port == 0;
        const bool is_open = !is_new && !door.freed_at;
        if (is_open && door.gate_id == gate.gate_id) continue;
        DoorRow placed = door;
        if (is_open) {
            placed.uncarried_since = lost_since(context, door);
            placed.linked_boot.reset();
        }
        if (!take_port(context, gate, placed)) return false;
        if (is_open) free_port(context.tx, door, context.now);
        placed.freed_at.reset();
        if (is_new)
            add_door(context.tx, placed);
        else
            save_door(context.tx, placed);
        door = std::move(placed);
    }
    return true;
}

// The doors in the order in which they are wanted: those that are open, those that were once, and
// new ones, of which nothing is written yet.
std::vector<DoorRow> gather(const db::Context& context, const Machine& machine,
                            const std::vector<WantedDoor>& wanted, std::vector<DoorRow> open,
                            const FindJob& find_job) {
    std::vector<DoorRow> doors;
    for (const WantedDoor& one : wanted) {
        const auto job = one.job_id ? find_job(context.tx, *one.job_id) : std::nullopt;
        // It is billed as one that no gate carries: a gate must not come into it while it runs.
        if (job && job->reach == agent_protocol::Reach::direct)
            throw Problem(Code::conflict,
                          "the job was placed on a machine that is reached directly: name its own "
                          "endpoints in READY, it gets no doors");
        const auto kept = std::find_if(open.begin(), open.end(),
                                       [&](const DoorRow& door) { return is_for(door, one); });
        std::optional<DoorRow> door;
        if (kept != open.end())
            door = *kept;
        else
            door = find_named(context.tx, one.job_id, one.run_id, one.name.value);
        if (door && door->kind == one.kind) {
            doors.push_back(std::move(*door));
            continue;
        }
        if (door) throw Problem(Code::conflict, "a door of this name is of another kind");
        const std::int64_t most = one.run_id ? names_of_test_max : names_max;
        const std::int64_t added = std::count_if(doors.begin(), doors.end(), [&](const auto& each) {
            return each.port == 0 && each.run_id == one.run_id;
        });
        if (count_names(context.tx, one.job_id, one.run_id) + added >= most)
            throw Problem(Code::conflict,
                          fmt::format("a {} has at most {} doors, by all names that it ever used",
                                      one.run_id ? "test" : "job", most));
        DoorRow fresh;
        fresh.door_id = DoorId::make(context.now, context.random);
        fresh.machine_id = machine.machine_id;
        fresh.job_id = one.job_id;
        fresh.run_id = one.run_id;
        fresh.name = one.name.value;
        fresh.kind = one.kind;
        if (job) fresh.account = job->renter;
        fresh.given_at = context.now;
        fresh.uncarried_since = context.now;
        doors.push_back(std::move(fresh));
    }
    return doors;
}

// The gate at which all doors are from now on; they are written.
GateRow settle(const db::Context& context, const Machine& machine, const WantDoors& want,
               const std::optional<GateId>& present, std::vector<DoorRow>& doors) {
    const std::optional<GateRow> here =
        present ? find_gate(context.tx, *present) : std::optional<GateRow>();
    const bool leaves = present && is_to_leave(context, machine, here, want);
    if (here && !leaves && place_all(context, *here, doors)) return *here;
    for (const GateRow& gate : candidates(context, machine, present)) {
        if (!place_all(context, gate, doors)) continue;
        if (present) note_moved(context.tx, machine.machine_id, context.now);
        return gate;
    }
    // Better where it may come back than nowhere.
    if (here && leaves && place_all(context, *here, doors)) return *here;
    refuse_without_gate();
}

}  // namespace

void free_door(const db::Context& context, DoorRow door) {
    door.uncarried_since = lost_since(context, door);
    door.linked_boot.reset();
    door.freed_at = context.now;
    save_door(context.tx, door);
    free_port(context.tx, door, context.now);
}

agent_protocol::DoorsGiven Allotment::give(api::Call& call, const WantDoors& want) const {
    const db::Context context = call.context();
    const auto machine = machines::hold(context.tx, machines::machine_of(call.caller));
    if (!machine) throw api::InvalidCredential("the machine has left");
    machines::require_fence(*machine, want.fence);
    const std::vector<WantedDoor>& wanted = want.wanted.value;
    check_all(*machine, wanted);

    std::optional<GateId> present;
    std::vector<DoorRow> open = open_doors_of_machine(context.tx, machine->machine_id);
    for (const DoorRow& door : open) {
        const bool stays = std::any_of(wanted.begin(), wanted.end(),
                                       [&](const WantedDoor& one) { return is_for(door, one); });
        if (stays)
            present = door.gate_id;
        else
            free_door(context, door);
    }
    if (wanted.empty()) return {.gate = {}, .doors = {}, .ticket = {}, .expires_at = call.now};
    std::vector<DoorRow> doors = gather(context, *machine, wanted, std::move(open), find_job_);
    const GateRow gate = settle(context, *machine, want, present, doors);
    return answer(call, *machine, gate, doors);
}

agent_protocol::DoorsGiven Allotment::answer(api::Call& call, const Machine& machine,
                                             const GateRow& gate,
                                             const std::vector<DoorRow>& doors) const {
    agent_protocol::Ticket ticket{.gate_id = gate.gate_id,
                                  .machine_id = machine.machine_id,
                                  .public_key = machine.public_key,
                                  .fence = {machine.fence},
                                  .serial = {next_serial(call.tx(), machine.machine_id, call.now)},
                                  .doors = {},
                                  .expires_at = call.now + agent_protocol::ticket_life};
    agent_protocol::DoorsGiven given{
        .gate = agent_protocol::GatePlace{.gate_id = gate.gate_id,
                                          .host = gate.host,
                                          .link_port = {gate.link_port},
                                          .call_port = {gate.call_port},
                                          .tls_key_sha256 = gate.tls_key_sha256},
        .doors = {},
        .ticket = {},
        .expires_at = ticket.expires_at};
    for (const DoorRow& door : doors) {
        ticket.doors.value.push_back({.door_id = door.door_id,
                                      .port = {door.port},
                                      .kind = door.kind,
                                      .rate_bps = {rate_of(call, door)},
                                      .streams_max = {streams_max(door.kind)}});
        given.doors.push_back({door.door_id, door.name, {door.port}});
    }
    given.ticket = agent_protocol::write_ticket(ticket, key_.id(), key_.key());
    return given;
}

std::int64_t Allotment::rate_of(const api::Call& call, const DoorRow& door) const {
    if (!door.job_id) return 0;
    const Settings& settings = call.settings<Settings>();
    constexpr std::int64_t gib = 1 << 30;
    constexpr std::int64_t megabit = 1'000'000;
    const DayBytes bytes =
        bytes_of_day(call.tx(), *door.job_id, door.account, call.now.micros / day_micros);
    const auto is_over = [](std::int64_t carried, std::int64_t limit) {
        return limit > 0 && carried / gib >= limit;
    };
    const bool is_slow = is_over(bytes.of_job, *settings.gate_gib_per_job_day) ||
                         is_over(bytes.of_account, *settings.gate_gib_per_account_day);
    return is_slow ? *settings.gate_slow_mbps * megabit : 0;
}

}  // namespace berth::gates
