#include "host_agent/gate/gate_trial.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "base/bytes.hpp"
#include "host_agent/gate/gate_address.hpp"
#include "http/dial.hpp"
#include "http/resolve.hpp"
#include "wire/open.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;

constexpr Duration trial_max = 5s;
constexpr std::size_t head_bytes_max = 8 * 1024;
constexpr std::string_view banner = "SSH-2.0-berth-gate-echo\r\n";

struct ShownGate {
    std::string host;
    agent_protocol::GatePort link_port;
    agent_protocol::GatePort call_port;
    std::string tls_key_sha256;
    bool live = false;
};
BOOST_DESCRIBE_STRUCT(ShownGate, (), (host, link_port, call_port, tls_key_sha256, live))
struct ShownGates {
    std::vector<ShownGate> items;
};
BOOST_DESCRIBE_STRUCT(ShownGates, (), (items))

std::string try_link_port(http::Client& client, const ShownGate& gate) {
    const auto key = from_hex(gate.tls_key_sha256);
    if (!key || key->size() != 32) return "the server does not tell its key";
    try {
        const http::Response answer =
            client.send({.url = fmt::format("https://{}:{}/v1/health", url_host(gate.host),
                                            gate.link_port.value),
                         .total_max = trial_max,
                         .pinned_key = *key});
        return answer.status == 200 ? "" : fmt::format("it answers {}", answer.status);
    } catch (const http::TransportError& error) {
        return error.what();
    }
}

// As a call does it, but that the gate itself is at the other end.
Duration echo_by(http::DialledConnection& line, const ShownGate& gate) {
    line.send(
        fmt::format("GET /v1/echo HTTP/1.1\r\nHost: {}:{}\r\nConnection: Upgrade\r\n"
                    "Upgrade: berth-stream\r\n\r\n",
                    url_host(gate.host), gate.call_port.value));
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
        if (head.size() == head_bytes_max) throw http::TransportError("its answer has no end");
        head += line.receive(1);
    }
    if (!head.starts_with("HTTP/1.1 101 "))
        throw http::TransportError(head.substr(0, head.find('\r')));
    if (line.receive(banner.size()) != banner)
        throw http::TransportError("what comes through is not what was sent");
    constexpr std::string_view said = "SSH-2.0-berth-agent\r\n";
    const auto began = std::chrono::steady_clock::now();
    line.send(said);
    if (line.receive(said.size()) != said)
        throw http::TransportError("what comes back is not what was sent");
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - began);
}

void try_call_port(const ShownGate& gate, GateTrial& trial) {
    const http::Resolved found = http::resolve(gate.host, http::Reach::anywhere);
    trial.call_trouble = found.reason.empty() ? "it has no address" : found.reason;
    for (const http::Address& address : found.addresses) {
        try {
            http::DialledConnection line(address, static_cast<std::uint16_t>(gate.call_port.value),
                                         trial_max);
            trial.round_trip = echo_by(line, gate);
            trial.call_trouble.clear();
            return;
        } catch (const http::TransportError& error) {
            trial.call_trouble = error.what();
        }
    }
}

}  // namespace

std::vector<GateTrial> try_gates(http::Client& client, const std::string& server,
                                 const std::string& ca_file) {
    const http::Response answer =
        client.send({.url = server + "/api/v1/gates", .ca_file = ca_file});
    if (answer.status == 404) return {};  // it knows of no gates
    const auto shown = answer.status == 200 ? wire::read_known<ShownGates>(answer.body)
                                            : std::optional<ShownGates>();
    if (!shown)
        throw std::runtime_error(
            fmt::format("it does not tell its gates: it answers {}", answer.status));
    std::vector<GateTrial> trials;
    for (const ShownGate& gate : shown->items) {
        if (!gate.live) continue;
        GateTrial trial{.host = gate.host,
                        .link_port = gate.link_port.value,
                        .call_port = gate.call_port.value,
                        .link_trouble = try_link_port(client, gate),
                        .call_trouble = {},
                        .round_trip = {}};
        try_call_port(gate, trial);
        trials.push_back(std::move(trial));
    }
    return trials;
}

}  // namespace berth::host_agent
