#include "server/gate_commands.hpp"

#include <fmt/format.h>

#include "base/problem.hpp"
#include "gates/operate.hpp"
#include "http/resolve.hpp"
#include "server/commands.hpp"
#include "server/simulation.hpp"
#include "wire/number.hpp"

namespace berth::server {
namespace {

constexpr std::string_view gates_word = "gates";
constexpr std::size_t gate_words = 12;

[[noreturn]] void refuse_gate(const std::string& why) { throw Problem(Code::invalid_input, why); }

std::int64_t number_of(std::string_view flag, std::string_view text) {
    const auto number = wire::parse_integer(text);
    if (!number) refuse_gate(fmt::format("{}: must be a whole number", flag));
    return *number;
}

gates::GateId id_of(const GateOrder& order) {
    const auto id = parse_uuid(order.id);
    if (!id) refuse_gate("ID: must be the id of a gate, as `berthd gates list` shows it");
    return gates::GateId{*id};
}

gates::NewGate gate_of(const GateOrder& order) {
    gates::NewGate gate;
    if (!order.id.empty()) gate.gate_id = id_of(order);
    gate.host = order.host;
    gate.dial_host = order.dial_host;
    gate.link_port = number_of("--link-port", order.link_port);
    gate.call_port = number_of("--call-port", order.call_port);
    const std::size_t dash = order.ports.find('-');
    if (dash == order.ports.npos) refuse_gate("--ports: must be FROM-TO");
    gate.ports_from = number_of("--ports", std::string_view(order.ports).substr(0, dash));
    gate.ports_to = number_of("--ports", std::string_view(order.ports).substr(dash + 1));
    if (!order.continent.empty()) {
        gate.continent = parse_enum<gates::Continent>(order.continent);
        if (!gate.continent) refuse_gate("--continent: must be one of AF, AN, AS, EU, NA, OC, SA");
    }
    gate.public_key = order.public_key;
    gate.tls_key_sha256 = order.tls_key_sha256;
    return gate;
}

// Doors are dialled from where no name is asked for, so that the address is found out once, here.
GateOrder with_address(GateOrder order) {
    if (order.verb != "add") return order;
    const std::string& named = order.dial_host.empty() ? order.host : order.dial_host;
    const http::Resolved found = http::resolve(named, http::Reach::anywhere);
    if (found.addresses.empty())
        refuse_gate(fmt::format("{}: {}: {}; --dial-host takes an address",
                                order.dial_host.empty() ? "--host" : "--dial-host", named,
                                found.reason));
    order.dial_host = to_string(found.addresses.front());
    return order;
}

std::string_view state_of(const gates::GateRow& gate, Time now) {
    if (gate.drained_at) return "drained";
    if (gate.is_live(now)) return "live";
    if (!gate.heard_at) return "never heard";
    return gate.draining ? "draining" : "silent";
}

}  // namespace

Words to_words(const GateOrder& order) {
    return {std::string(gates_word),
            order.verb,
            order.id,
            order.host,
            order.dial_host,
            order.link_port,
            order.call_port,
            order.ports,
            order.continent,
            order.public_key,
            order.tls_key_sha256,
            order.force ? "force" : ""};
}

std::optional<GateOrder> parse_gate_order(const Words& words) {
    if (words.size() != gate_words || words[0] != gates_word) return std::nullopt;
    return GateOrder{.verb = words[1],
                     .id = words[2],
                     .host = words[3],
                     .dial_host = words[4],
                     .link_port = words[5],
                     .call_port = words[6],
                     .ports = words[7],
                     .continent = words[8],
                     .public_key = words[9],
                     .tls_key_sha256 = words[10],
                     .force = words[11] == "force"};
}

std::string carry_out(const GateOrder& order, db::Database& database, const Clock& clock,
                      Random& random) {
    const auto actor = audit::Actor::local_operator();
    const Time now = clock.now();
    return database.write([&](db::Transaction& tx) {
        const db::Context context{tx, random, now};
        if (order.verb == "add") {
            const gates::GateId id = gates::add_gate(context, actor, gate_of(order));
            return fmt::format("gate {} at {} is known; it lives once it reports", to_string(id),
                               order.host);
        }
        const gates::GateId id = id_of(order);
        if (order.verb == "drain") {
            gates::drain_gate(context, actor, id);
            return fmt::format("gate {} gets no new doors", to_string(id));
        }
        if (order.verb != "remove") refuse_gate("there is no such order");
        gates::remove_gate(context, actor, id, order.force);
        return fmt::format("gate {} is removed", to_string(id));
    });
}

int order_gate(const settings::Given& given, const GateOrder& order) {
    return run_on_this_machine(given, to_words(with_address(order)));
}

int list_gates(const settings::Given& given) {
    db::Options options;
    options.read_only = true;
    const Settings settings = start_settings(given);
    const auto database = db::open(*settings.db, options);
    const Time now = make_clock(settings)->now();
    const auto rows =
        database->read([&](db::Transaction& tx) { return gates::list_with_load(tx, now); });
    for (const gates::ListedGate& row : rows)
        fmt::print("{} {} {}, ports {}-{}, {} doors, {} streams\n", to_string(row.gate.gate_id),
                   row.gate.host, state_of(row.gate, now), row.gate.ports_from, row.gate.ports_to,
                   row.doors, row.streams);
    return 0;
}

}  // namespace berth::server
