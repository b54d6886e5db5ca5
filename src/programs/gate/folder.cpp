#include "gate/folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "agent_protocol/durable.hpp"
#include "base/log.hpp"
#include "http/tls_key.hpp"

namespace berth::gate {
namespace {

constexpr std::int64_t port_max = 65'535;

struct KeptKeys {
    std::vector<agent_protocol::ServerKey> keys;
};
BOOST_DESCRIBE_STRUCT(KeptKeys, (), (keys))

std::string identity_file(const std::string& folder) { return folder + "/gate.json"; }
std::string keys_file(const std::string& folder) { return folder + "/server_keys.json"; }

std::optional<std::int64_t> parse_port(std::string_view text) {
    std::int64_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (port < 1 || port > port_max) return std::nullopt;
    return port;
}

void check_new(const Folder::NewGate& gate) {
    const auto is_port = [](std::int64_t port) { return port >= 1 && port <= port_max; };
    if (gate.host.empty() || gate.host.find_first_of("/ @\"'") != std::string::npos)
        throw std::invalid_argument("--host must be a name or an address");
    if (!is_port(gate.link_port) || !is_port(gate.call_port) || gate.link_port == gate.call_port)
        throw std::invalid_argument("--link-port and --call-port must be two ports");
    for (const std::int64_t port : {gate.link_port, gate.call_port})
        if (port >= gate.ports.from && port <= gate.ports.to)
            throw std::invalid_argument(
                fmt::format("the port {} is one of the doors' ports", port));
}

}  // namespace

Range parse_range(const std::string& text) {
    const std::size_t dash = text.find('-');
    const auto from = parse_port(std::string_view(text).substr(0, dash));
    const auto to =
        dash == text.npos ? std::nullopt : parse_port(std::string_view(text).substr(dash + 1));
    if (!from || !to || *from > *to)
        throw std::invalid_argument("--ports must be a range such as 20000-32767");
    return {*from, *to};
}

Identity Folder::init(const NewGate& gate, Time now, Random& random) const {
    check_new(gate);
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
        throw std::invalid_argument(fmt::format("{}: {}", path_, std::strerror(errno)));
    if (std::filesystem::exists(identity_file(path_))) {
        Identity there = identity();
        const bool same =
            there.host.value == gate.host && there.link_port.value == gate.link_port &&
            there.call_port.value == gate.call_port && there.ports_from.value == gate.ports.from &&
            there.ports_to.value == gate.ports.to;
        if (!same) throw std::invalid_argument(path_ + " has a gate already, and another one");
        return there;
    }
    Identity made;
    made.gate_id = GateId::make(now, random);
    made.host = {gate.host};
    made.link_port = {gate.link_port};
    made.call_port = {gate.call_port};
    made.ports_from = {gate.ports.from};
    made.ports_to = {gate.ports.to};
    made.seed = to_hex(random.bytes(crypto::Secret::size));
    agent_protocol::write_durably(identity_file(path_), wire::encode(made));
    return made;
}

Identity Folder::identity() const {
    const std::string path = identity_file(path_);
    const auto text = agent_protocol::read_durable(path);
    if (!text) throw std::invalid_argument(path_ + " has no gate: make one with `berth-gate init`");
    try {
        auto read = wire::decode<Identity>(*text, path);
        const auto seed = from_hex(read.seed);
        if (seed && seed->size() == crypto::Secret::size) return read;
    } catch (const Problem&) {  // told below
    }
    throw std::invalid_argument(path + " is damaged: put back a copy of it");
}

Bytes Folder::make_tls() const {
    return http::make_self_signed(certificate_file(), tls_key_file());
}

agent_protocol::TicketKeys Folder::server_keys() const {
    try {
        const auto text = agent_protocol::read_durable(keys_file(path_));
        if (text) return read_keys(wire::decode<KeptKeys>(*text).keys);
    } catch (const std::exception& error) {  // the server tells them again
        log(Level::warn, "server_keys_unreadable", {{"reason", error.what()}});
    }
    return {};
}

void Folder::keep_server_keys(const std::vector<agent_protocol::ServerKey>& keys) const {
    agent_protocol::write_durably(keys_file(path_), wire::encode(KeptKeys{keys}));
}

agent_protocol::TicketKeys read_keys(const std::vector<agent_protocol::ServerKey>& keys) {
    agent_protocol::TicketKeys read;
    for (const agent_protocol::ServerKey& key : keys) {
        const auto bytes = from_base64(key.public_key);
        const auto known = bytes ? crypto::Ed25519PublicKey::from_bytes(*bytes) : std::nullopt;
        if (known) read.emplace(key.key_id, *known);
    }
    return read;
}

crypto::Ed25519Key key_of(const Identity& identity) {
    return crypto::Ed25519Key{crypto::Secret(from_hex(identity.seed).value())};
}

std::string add_command(const Identity& identity, std::string_view tls_key_sha256) {
    return fmt::format(
        "berthd gates add --id {} --host {} --link-port {} --call-port {} --ports {}-{} "
        "--public-key {} --tls-key-sha256 {}",
        to_string(identity.gate_id), identity.host.value, identity.link_port.value,
        identity.call_port.value, identity.ports_from.value, identity.ports_to.value,
        to_base64(key_of(identity).public_key().view()), to_hex(tls_key_sha256));
}

}  // namespace berth::gate
