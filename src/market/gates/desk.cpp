// One declaration for each route of gates.
#include "gates/desk.hpp"

#include "gates/settings.hpp"
#include "gates/types.hpp"
#include "http/address.hpp"

namespace berth::gates {
namespace {

using api::Access;
using api::Body;
using api::Call;
using api::Work;

const api::RateRule door_rate{"doors", api::rate_setting<&Settings::rate_doors_per_minute>,
                              std::chrono::minutes(1), api::RateRule::By::account};
const api::RateRule report_rate{"gate reports",
                                api::rate_setting<&Settings::rate_gate_reports_per_minute>,
                                std::chrono::minutes(1), api::RateRule::By::account};

// Of a gate with as many doors as it can have ports.
constexpr std::size_t report_bytes_max = 16 << 20;

std::optional<agent_protocol::CommandKey> key_of(std::optional<crypto::Secret> secret) {
    if (!secret) return std::nullopt;
    return agent_protocol::CommandKey(crypto::Ed25519Key(std::move(*secret)));
}

PublicGate public_view(const GateRow& gate, Time now) {
    return {.gate_id = gate.gate_id,
            .host = gate.host,
            .continent = gate.continent,
            .link_port = {gate.link_port},
            .call_port = {gate.call_port},
            .tls_key_sha256 = gate.tls_key_sha256,
            .live = gate.is_live(now),
            .draining = gate.draining || gate.drained_at.has_value()};
}

AdminGate admin_view(const ListedGate& listed, Time now) {
    const GateRow& gate = listed.gate;
    std::optional<wire::Count> silent_s;
    if (gate.heard_at)
        silent_s = wire::Count{
            std::max<std::int64_t>(0, (now - *gate.heard_at) / std::chrono::seconds(1))};
    return {.gate_id = gate.gate_id,
            .host = gate.host,
            .dial_host = gate.dial_host,
            .continent = gate.continent,
            .link_port = {gate.link_port},
            .call_port = {gate.call_port},
            .ports_from = {gate.ports_from},
            .ports_to = {gate.ports_to},
            .live = gate.is_live(now),
            .draining = gate.draining || gate.drained_at.has_value(),
            .heard_at = gate.heard_at,
            .silent_s = silent_s,
            .drained_at = gate.drained_at,
            .added_at = gate.added_at,
            .doors = {listed.doors},
            .ports_used_percent = {listed.doors * 100 / (gate.ports_to - gate.ports_from + 1)},
            .streams = {listed.streams},
            .bytes_in = {gate.bytes_in},
            .bytes_out = {gate.bytes_out}};
}

}  // namespace

Addresses addresses_of(const std::string& text) {
    Addresses list;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(','));
        if (!http::parse_address(one))
            throw settings::BadValue("must be addresses, separated by commas");
        list.emplace_back(one);
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    }
    return list;
}

Gates::Gates(Parts parts)
    : key_(crypto::Ed25519Key(std::move(parts.command_key))),
      next_key_(key_of(std::move(parts.next_key))),
      allotment_(key_, std::move(parts.find_job)),
      reports_(key_, next_key_ ? &*next_key_ : nullptr) {}

bool Gates::is_any_live(db::Transaction& tx, Time now) const { return gates::is_any_live(tx, now); }

std::optional<machines::DoorPlace> Gates::find_test_door(db::Transaction& tx,
                                                         const machines::TestDoor& door,
                                                         Time) const {
    auto host = dial_host_of_test(tx, door);
    if (!host) return std::nullopt;
    return machines::DoorPlace{std::move(*host), door.port};
}

void Gates::add_routes(api::Router& router) {
    router.add({.method = "POST",
                .path = "/api/v1/host-agent/doors",
                .name = "want_doors",
                .group = "host agent",
                .summary = "The doors of a gate that the machine wants from now on, whole.",
                .access = Access::machine,
                .work = Work::write,
                .errors = {Code::stale_fence,
                           Code::no_gate,
                           {Code::conflict, "the job or test is not this machine's"}},
                .rate = &door_rate},
               [this](Call& call, const Body<agent_protocol::WantDoors>& body) {
                   return allotment_.give(call, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/gate/report",
                .name = "report_gate",
                .group = "gates",
                .summary = "What a gate carries; what is it to do?",
                .access = Access::gate,
                .work = Work::write,
                .rate = &report_rate,
                .body_bytes_max = report_bytes_max},
               [this](Call& call, const Body<agent_protocol::GateReport>& body) {
                   return reports_.take(call, *body);
               });
    router.add({.method = "GET",
                .path = "/api/v1/gates",
                .name = "list_gates",
                .group = "gates",
                .summary = "The gates by which hosts without an open port are reached.",
                .access = Access::anyone,
                .cache = api::Cache::open},
               [](Call& call) {
                   PublicGates list;
                   for (const GateRow& gate : list_gates(call.tx()))
                       list.items.push_back(public_view(gate, call.now));
                   return list;
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/gates",
                .name = "list_all_gates",
                .group = "gates",
                .summary = "The gates with their load.",
                .access = Access::operator_},
               [](Call& call) {
                   AdminGates list;
                   for (const ListedGate& gate : list_with_load(call.tx(), call.now))
                       list.items.push_back(admin_view(gate, call.now));
                   return list;
               });
}

}  // namespace berth::gates
