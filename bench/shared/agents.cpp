#include "bench/agents.hpp"

#include "support/host_agent_double.hpp"
#include "wire/wire.hpp"

namespace berth::bench {

std::string heartbeat(const agent_protocol::RequestSigner& signer, std::uint16_t port, Time created,
                      Random& random) {
    const std::string authority = fmt::format("127.0.0.1:{}", port);
    const std::string path = "/api/v1/host-agent/heartbeat";
    static const test::HostAgentDouble host = [] {
        test::HostAgentDouble made;
        made.boot_id = boot_id;
        made.other_manifest_hash = manifest_hash;
        made.telemetry = test::full_telemetry();
        return made;
    }();
    const std::string body = wire::encode(host.heartbeat(created));
    const agent_protocol::SignatureFields fields = signer.sign(
        {"POST", authority, path, ""}, body, {created, agent_protocol::make_nonce(random)});
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\nContent-Digest: {}\r\nSignature-Input: {}\r\n"
        "Signature: {}\r\n\r\n{}",
        path, authority, body.size(), fields.content_digest, fields.signature_input,
        fields.signature, body);
}

}  // namespace berth::bench
