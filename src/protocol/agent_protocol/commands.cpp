#include "agent_protocol/commands.hpp"

#include "agent_protocol/hashes.hpp"
#include "agent_protocol/structured.hpp"
#include "base/check.hpp"
#include "base/enum_names.hpp"
#include "base/json_text.hpp"
#include "wire/document.hpp"
#include "wire/open.hpp"

namespace berth::agent_protocol {
namespace {

using wire::Document;
using wire::Shape;

// The bytes that are signed: canonical JSON without the signature, so that nobody has to keep the
// spelling. Empty when there is no such object.
std::optional<std::string> signed_text(const Document& document) {
    if (document[0].shape != Shape::object) return std::nullopt;
    std::string out = "{";
    for (std::uint32_t key = 1; key < document[0].end; key = document[key + 1].end) {
        if (document[key].text == "signature") continue;
        if (out.size() > 1) out += ',';
        append_json_string(out, document[key].text);
        out += ':';
        document.append_compact(key + 1, out);
    }
    return wire::canonical(out + "}");
}

// An Orders of which the commands are still to be checked as they came.
struct LooseOrders {
    Time server_time;
    wire::Decimal fence;
    std::vector<wire::Object> commands;
    std::vector<Lease> leases;
    std::optional<std::vector<std::string>> warnings;
    std::optional<std::string> reach;
    std::optional<std::string> reach_why;
};
BOOST_DESCRIBE_STRUCT(LooseOrders, (),
                      (server_time, fence, commands, leases, warnings, reach, reach_why))

// What every command has whatever its kind, and what tells whether it is for us.
struct CommandHead {
    CommandId command_id;
    std::string kind;
    std::string key_id;
    MachineId machine_id;
    std::string signature;
};
BOOST_DESCRIBE_STRUCT(CommandHead, (), (command_id, kind, key_id, machine_id, signature))

}  // namespace

CommandKey::CommandKey(crypto::Ed25519Key key)
    : key_(std::move(key)), public_key_(key_.public_key()), id_(key_id(public_key_)) {}

void CommandKey::sign(Command& command) const {
    command.key_id = id_;
    command.signature.clear();
    const std::string json = wire::encode(command);
    Document document;
    document.parse(json);
    const auto text = signed_text(document);
    require(text.has_value(), "a command is an object");
    command.signature = to_base64(key_.sign(*text));
}

std::optional<AgentOrders> read_orders(std::string_view json) {
    auto loose = wire::read_known<LooseOrders>(json);
    if (!loose) return std::nullopt;
    AgentOrders orders{loose->server_time,
                       loose->fence.value,
                       {},
                       std::move(loose->leases),
                       loose->warnings.value_or(std::vector<std::string>()),
                       loose->reach ? parse_enum<Reach>(*loose->reach) : std::nullopt,
                       loose->reach_why};
    for (const wire::Object& command : loose->commands) orders.commands.push_back(command.text);
    return orders;
}

std::optional<Enrolled> read_enrolled(std::string_view json) {
    return wire::read_known<Enrolled>(json);
}

CheckedCommand check_command(std::string_view json, MachineId machine, const PinnedKey& pinned,
                             Time now) {
    CheckedCommand checked;
    Document document;
    if (document.parse(json) || document.duplicate_within(0)) return checked;
    const auto head = wire::read_known<CommandHead>(json);
    const auto text = signed_text(document);
    if (!head || !text || head->machine_id != machine || head->key_id != pinned.id) return checked;
    const auto signature = from_base64(head->signature);
    if (!signature || !pinned.key.verify(*text, *signature)) return checked;

    checked.command_id = head->command_id;
    auto command = wire::read_known<Command>(json);
    if (!command) {
        checked.refusal = Code::unknown_command_kind;
    } else if (command->expires_at <= now) {
        checked.refusal = Code::command_expired;
    } else {
        checked.command = std::move(command);
    }
    return checked;
}

}  // namespace berth::agent_protocol
