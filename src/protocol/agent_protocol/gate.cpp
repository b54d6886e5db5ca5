#include "agent_protocol/gate.hpp"

#include "base/check.hpp"
#include "base/enum_names.hpp"
#include "wire/open.hpp"

namespace berth::agent_protocol {
namespace {

// A line as it comes: its kind and reason may be of a later version.
struct LooseLine {
    std::string kind;
    std::optional<LinkId> link_id;
    std::optional<CallId> call_id;
    std::optional<DoorId> door_id;
    std::optional<GatePort> call_port;
    std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(LooseLine, (), (kind, link_id, call_id, door_id, call_port, reason))

bool has_what_it_needs(const LinkLine& line) {
    switch (line.kind) {
        case LineKind::hello: return line.link_id.has_value();
        case LineKind::call: return line.call_id.has_value() && line.door_id.has_value();
        case LineKind::ping:
        case LineKind::bye:
        case LineKind::unknown: return true;
    }
    return false;
}

}  // namespace

std::string write_line(const LinkLine& line) {
    require(has_what_it_needs(line), "a line has what its kind needs");
    return wire::encode(line) + "\n";
}

std::optional<LinkLine> read_line(std::string_view text) {
    const auto loose = wire::read_known<LooseLine>(text);
    if (!loose) return std::nullopt;
    LinkLine line{.kind = parse_enum<LineKind>(loose->kind).value_or(LineKind::unknown),
                  .link_id = loose->link_id,
                  .call_id = loose->call_id,
                  .door_id = loose->door_id,
                  .call_port = loose->call_port,
                  .reason = {}};
    if (loose->reason) line.reason = parse_enum<ByeReason>(*loose->reason);
    return has_what_it_needs(line) ? std::optional(line) : std::nullopt;
}

}  // namespace berth::agent_protocol
