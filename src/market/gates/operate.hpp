// Gates as operators add, drain and remove them. Everything is audited.
#pragma once

#include <optional>
#include <string>

#include "audit/audit.hpp"
#include "gates/gates.hpp"
#include "machines/types.hpp"

namespace berth::gates {

using machines::Continent;

inline constexpr std::int64_t usual_ports_from = 20'000;
inline constexpr std::int64_t usual_ports_to = 32'767;

struct GateRow {
    GateId gate_id;
    std::string host;
    std::string dial_host;
    std::int64_t link_port = 0;
    std::int64_t call_port = 0;
    std::int64_t ports_from = usual_ports_from;
    std::int64_t ports_to = usual_ports_to;
    std::optional<Continent> continent;
    std::string public_key;      // Ed25519, base64: reports are checked by it
    std::string tls_key_sha256;  // 64 hex digits
    Time added_at;
    std::optional<Time> heard_at;
    bool draining = false;           // its newest process says so
    std::optional<Time> drained_at;  // by an operator
    std::optional<Time> removed_at;
    std::int64_t bytes_in = 0;
    std::int64_t bytes_out = 0;

    // Whether it could be given a door.
    bool is_live(Time now) const {
        return heard_at && *heard_at + gate_fresh >= now && !draining && !drained_at && !removed_at;
    }
};
BOOST_DESCRIBE_STRUCT(GateRow, (),
                      (gate_id, host, dial_host, link_port, call_port, ports_from, ports_to,
                       continent, public_key, tls_key_sha256, added_at, heard_at, draining,
                       drained_at, removed_at, bytes_in, bytes_out))

struct NewGate {
    std::optional<GateId> gate_id = {};  // none: a new one
    std::string host;
    std::string dial_host;  // an address: the relay dials it and asks no name server
    std::int64_t link_port = 0;
    std::int64_t call_port = 0;
    std::int64_t ports_from = usual_ports_from;
    std::int64_t ports_to = usual_ports_to;
    std::optional<Continent> continent = {};
    std::string public_key;
    std::string tls_key_sha256;
};

// Each throws a Problem with one sentence. Adding the same once more changes nothing; adding other
// values under the same id changes it, unless open doors are outside of its new ports.
GateId add_gate(const db::Context& context, const audit::Actor& actor, const NewGate& gate);
// It gets no new doors from now on; those that it has stay until their jobs are over.
void drain_gate(const db::Context& context, const audit::Actor& actor, GateId id);
// Its word is not taken any more. CONFLICT while doors are open, unless `force`: these move to
// another gate when their machines ask.
void remove_gate(const db::Context& context, const audit::Actor& actor, GateId id, bool force);

struct ListedGate {
    GateRow gate;
    std::int64_t doors = 0;    // that are open
    std::int64_t streams = 0;  // likewise, as its processes said last
};
std::vector<ListedGate> list_with_load(db::Transaction& tx, Time now);

// Names and addresses of all of them.
std::vector<std::string> hosts_of_gates(db::Transaction& tx);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::gates
