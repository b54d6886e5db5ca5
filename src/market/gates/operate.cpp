#include "gates/operate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent_protocol/hashes.hpp"
#include "base/problem.hpp"
#include "gates/store.hpp"
#include "http/address.hpp"

namespace berth::gates {
namespace {

constexpr std::size_t host_letters_max = 253;
constexpr std::size_t sha256_digits = 64;
constexpr std::int64_t port_max = 65'535;
constexpr std::int64_t lowest_door = 1'024;

[[noreturn]] void refuse_value(const std::string& why) { throw Problem(Code::invalid_input, why); }

void check_port(std::string_view flag, std::int64_t port) {
    if (port < 1 || port > port_max)
        refuse_value(fmt::format("{}: must be a port, 1 to {}", flag, port_max));
}

void check_values(const NewGate& gate) {
    const auto is_plain = [](char c) { return c > ' ' && c < '\x7f' && c != '/'; };
    if (gate.host.empty() || gate.host.size() > host_letters_max ||
        !std::all_of(gate.host.begin(), gate.host.end(), is_plain))
        refuse_value("--host: must be a name or an address");
    if (!http::parse_address(gate.dial_host)) refuse_value("--dial-host: must be an address");
    check_port("--link-port", gate.link_port);
    check_port("--call-port", gate.call_port);
    if (gate.link_port == gate.call_port)
        refuse_value("--call-port: must be another one than --link-port");
    if (gate.ports_from < lowest_door || gate.ports_to > port_max ||
        gate.ports_from > gate.ports_to)
        refuse_value(fmt::format("--ports: must be FROM-TO, {} to {}", lowest_door, port_max));
    for (const std::int64_t own : {gate.link_port, gate.call_port})
        if (own >= gate.ports_from && own <= gate.ports_to)
            refuse_value("--ports: must not have the link port or the call port among them");
    if (!agent_protocol::parse_key(gate.public_key))
        refuse_value("--public-key: must be an Ed25519 key, the 32 bytes in base64");
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (gate.tls_key_sha256.size() != sha256_digits ||
        !std::all_of(gate.tls_key_sha256.begin(), gate.tls_key_sha256.end(), is_digit))
        refuse_value("--tls-key-sha256: must be 64 hex digits in lower case");
}

std::string ports_text(const GateRow& gate) {
    return fmt::format("{}-{}", gate.ports_from, gate.ports_to);
}

// What an operator sees of it in the audit record: what became another.
std::vector<audit::Change> differences(const std::optional<GateRow>& before, const GateRow& after) {
    std::vector<audit::Change> changes;
    const auto compare = [&](std::string field, auto text) {
        const auto from = before ? std::optional<std::string>(text(*before)) : std::nullopt;
        const std::string to = text(after);
        if (from != to) changes.push_back({std::move(field), from, to});
    };
    compare("host", [](const GateRow& row) { return row.host; });
    compare("dial_host", [](const GateRow& row) { return row.dial_host; });
    compare("link_port", [](const GateRow& row) { return std::to_string(row.link_port); });
    compare("call_port", [](const GateRow& row) { return std::to_string(row.call_port); });
    compare("ports", ports_text);
    compare("continent", [](const GateRow& row) {
        return row.continent ? std::string(enum_name(*row.continent)) : std::string("none");
    });
    compare("public_key", [](const GateRow& row) { return row.public_key; });
    compare("tls_key_sha256", [](const GateRow& row) { return row.tls_key_sha256; });
    compare("in_use", [](const GateRow& row) {
        return std::string(row.removed_at ? "removed" : row.drained_at ? "drained" : "yes");
    });
    return changes;
}

void keep(const db::Context& context, const audit::Actor& actor, std::string action,
          const std::optional<GateRow>& before, const GateRow& after) {
    std::vector<audit::Change> changes = differences(before, after);
    if (changes.empty()) return;
    put_gate(context.tx, after);
    audit::record(context, {.actor = actor,
                            .action = std::move(action),
                            .target = {"gate", to_string(after.gate_id)},
                            .changes = std::move(changes)});
}

GateRow require_gate(db::Transaction& tx, GateId id) {
    auto gate = find_gate(tx, id);
    if (!gate) throw Problem(Code::not_found, "there is no such gate");
    return std::move(*gate);
}

}  // namespace

GateId add_gate(const db::Context& context, const audit::Actor& actor, const NewGate& gate) {
    check_values(gate);
    const GateId id = gate.gate_id.value_or(GateId::make(context.now, context.random));
    hold_gate(context.tx, id);
    const std::optional<GateRow> before = find_known_gate(context.tx, id);
    GateRow after = before.value_or(GateRow{});
    after.gate_id = id;
    if (!before) after.added_at = context.now;
    after.host = gate.host;
    after.dial_host = gate.dial_host;
    after.link_port = gate.link_port;
    after.call_port = gate.call_port;
    after.ports_from = gate.ports_from;
    after.ports_to = gate.ports_to;
    after.continent = gate.continent;
    after.public_key = gate.public_key;
    after.tls_key_sha256 = gate.tls_key_sha256;
    after.drained_at.reset();
    after.removed_at.reset();
    for (const DoorRow& door : open_doors_of_gate(context.tx, id))
        if (door.port < after.ports_from || door.port > after.ports_to)
            throw Problem(
                Code::conflict,
                fmt::format("--ports: {} is an open door; drain the gate first", door.port));
    keep(context, actor, "add_gate", before, after);
    return id;
}

void drain_gate(const db::Context& context, const audit::Actor& actor, GateId id) {
    const GateRow before = require_gate(context.tx, id);
    GateRow after = before;
    if (!after.drained_at) after.drained_at = context.now;
    keep(context, actor, "drain_gate", before, after);
}

void remove_gate(const db::Context& context, const audit::Actor& actor, GateId id, bool force) {
    const GateRow before = require_gate(context.tx, id);
    const std::size_t open = open_doors_of_gate(context.tx, id).size();
    if (open > 0 && !force)
        throw Problem(Code::conflict, fmt::format("{} of its doors are open: drain it and wait, "
                                                  "or give --force",
                                                  open));
    GateRow after = before;
    after.removed_at = context.now;
    keep(context, actor, "remove_gate", before, after);
}

std::vector<std::string> hosts_of_gates(db::Transaction& tx) {
    std::vector<std::string> hosts;
    for (GateRow& gate : list_gates(tx)) {
        hosts.push_back(std::move(gate.host));
        hosts.push_back(std::move(gate.dial_host));
    }
    return hosts;
}

std::vector<ListedGate> list_with_load(db::Transaction& tx, Time now) {
    const std::map<GateId, std::int64_t> doors = count_doors(tx);
    const std::map<GateId, std::int64_t> streams = count_streams(tx, now - gate_fresh);
    const auto amount = [](const std::map<GateId, std::int64_t>& counted, GateId id) {
        const auto found = counted.find(id);
        return found == counted.end() ? 0 : found->second;
    };
    std::vector<ListedGate> list;
    for (GateRow& gate : list_gates(tx)) {
        const GateId id = gate.gate_id;
        list.push_back({std::move(gate), amount(doors, id), amount(streams, id)});
    }
    return list;
}

}  // namespace berth::gates
