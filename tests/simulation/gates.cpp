#include "simulation/gates.hpp"

#include <fmt/format.h>

#include "gates/operate.hpp"

namespace berth::simulation {
namespace {

constexpr int gates_there = 2;
constexpr int fails_one_in = 150;  // looks

}  // namespace

void GateCrew::open() {
    started_at_ = world_.now();
    for (int i = 1; i <= gates_there; ++i) {
        gates::NewGate gate;
        gate.host = fmt::format("gate-{}.example.com", i);
        gate.dial_host = fmt::format("198.51.100.{}", i);
        gate.link_port = 443;
        gate.call_port = 8443;
        gate.public_key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        gate.tls_key_sha256 = std::string(64, 'a');
        const auto id = world_.database().write([&](db::Transaction& tx) {
            return gates::add_gate({tx, world_.harness().random, world_.now()},
                                   audit::Actor::of(AccountId{}), gate);
        });
        gates_.push_back(to_string(id));
    }
}

bool GateCrew::is_up(const std::string& gate) const {
    const auto found = down_until_.find(gate);
    return found == down_until_.end() || found->second <= world_.now();
}

void GateCrew::perhaps_fail() {
    if (dice_.between(1, fails_one_in) != 1) return;
    const auto one = static_cast<std::size_t>(dice_.between(0, gates_there - 1));
    tally_.add("a gate falls silent");
    down_until_[gates_[one]] = world_.now() + dice_.seconds(20, dice_.chance(50) ? 200 : 1500);
}

void GateCrew::report(const IsLinked& is_linked) {
    for (const std::string& gate : gates_)
        if (is_up(gate)) say(gate, is_linked);
}

void GateCrew::say(const std::string& gate, const IsLinked& is_linked) {
    std::map<std::string, bool> said;  // of jobs
    std::vector<std::string> doors;
    world_.database().read([&](db::Transaction& tx) {
        const db::Result rows = tx.run(
            "SELECT door_id, machine_id, job_id FROM gate_doors WHERE gate_id = $1 "
            "AND freed_at IS NULL AND job_id IS NOT NULL ORDER BY door_id",
            gates::GateId{parse_uuid(gate).value()});
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const bool linked = is_linked(to_string(rows[i].get<MachineId>(1)), gate);
            said[to_string(rows[i].get<JobId>(2))] = linked;
            doors.push_back(fmt::format(
                R"({{"door_id":"{}","linked":{},"bytes_in":0,"bytes_out":0,"streams":0}})",
                to_string(rows[i].get<gates::DoorId>(0)), linked));
        }
    });
    const auto answer =
        world_.ask({.who = "gate " + gate,
                    .target = "/api/v1/gate/report",
                    .body = fmt::format(
                        R"({{"boot_id":"b1","started_at":"{}","draining":false,"doors":[{}]}})",
                        to_rfc3339(started_at_), fmt::join(doors, ","))});
    if (answer.status != 200) throw Difference("a report is refused: " + answer.body);
    for (const auto& [job, linked] : said)
        if (model_.knows(job)) model_.gate_says(job, linked, world_.now().micros);
}

std::string GateCrew::gate_of(const std::string& job) {
    return world_.database().read([&](db::Transaction& tx) {
        const auto gate = tx.fetch_value<gates::GateId>(
            "SELECT gate_id FROM gate_doors WHERE job_id = $1 AND freed_at IS NULL "
            "ORDER BY door_id LIMIT 1",
            JobId{parse_uuid(job).value()});
        return gate ? to_string(*gate) : std::string();
    });
}

}  // namespace berth::simulation
