#include "support/machine_agent.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent_protocol/hashes.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "machines/enrollment.hpp"
#include "support/machines.hpp"
#include "wire/wire.hpp"

namespace berth::test {

using namespace agent_protocol;

MachineAgent::MachineAgent(Harness& harness_, const std::string& gpu_uuid)
    : harness(harness_), seed(crypto::Secret::make(harness_.random)) {
    manifest = manifest_4090(gpu_uuid);
}

std::string MachineAgent::token_for(Harness& harness, AccountId owner, const std::string& tier) {
    const std::string token = crypto::make_token(issued::enrollment, harness.random);
    const auto id = machines::EnrollmentId::make(harness.clock.now(), harness.random);
    const Bytes hash = crypto::sha256(token);
    harness.app->database().write([&](db::Transaction& tx) {
        tx.run(
            "INSERT INTO machine_enrollments (enrollment_id, owner, tier, token_hash, "
            "created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
            id, owner, tier, db::Blob{hash}, harness.clock.now(),
            harness.clock.now() + machines::enrollment_lasts);
    });
    return token;
}

std::string MachineAgent::enrollment(const std::string& token) const {
    const crypto::Ed25519Key key{crypto::Secret(seed.view())};
    Enroll enroll = HostAgentDouble::enroll(token, key.public_key());
    enroll.protocol_version = {protocol_version};
    return wire::encode(enroll);
}

http::Response MachineAgent::enroll(const std::string& token) {
    http::Response response = harness.ask(
        {.method = "POST", .target = "/api/v1/host-agent/enroll", .body = enrollment(token)});
    if (response.status != 201) return response;
    const auto enrolled = read_enrolled(response.body);
    EXPECT_TRUE(enrolled.has_value());
    machine = enrolled->machine_id;
    fence = enrolled->fence.value;
    pinned = {enrolled->server_key_id, *parse_key(enrolled->server_public_key)};
    return response;
}

http::Request MachineAgent::request(const Message& message) {
    const RequestSigner signer(machine, crypto::Ed25519Key{crypto::Secret(seed.view())});
    const std::size_t mark = std::min(message.target.find('?'), message.target.size());
    const std::string_view query = mark == message.target.size()
                                       ? std::string_view()
                                       : std::string_view(message.target).substr(mark + 1);
    const std::string nonce = message.nonce.empty() ? make_nonce(harness.random) : message.nonce;
    const SignatureFields fields = signer.sign(
        {message.method, "localhost", std::string_view(message.target).substr(0, mark), query},
        message.body, {message.created.value_or(harness.clock.now()), nonce});
    http::Request made =
        make_request({.method = message.method, .target = message.target, .body = message.body});
    if (made.headers.count("Host") == 0) made.headers.add("Host", "localhost");
    made.headers.add("Content-Digest", fields.content_digest);
    made.headers.add("Signature-Input", fields.signature_input);
    made.headers.add("Signature", fields.signature);
    if (message.spoil) message.spoil(made.headers);
    return made;
}

http::Response MachineAgent::send(const Message& message) {
    const http::Request made = request(message);
    http::Response response = harness.app->service().answer(made);
    expect_declared(harness.app->router(), made, response);
    return response;
}

std::string MachineAgent::beat() const {
    return wire::encode(HostAgentDouble::heartbeat(sent_at.value_or(harness.clock.now())));
}

http::Response MachineAgent::heartbeat() {
    return send({.target = "/api/v1/host-agent/heartbeat", .body = beat()});
}

Orders MachineAgent::orders(const std::string& query) {
    const http::Response response =
        send({.method = "GET", .target = "/api/v1/host-agent/commands" + query});
    EXPECT_EQ(response.status, 200) << response.body;
    return wire::decode<Orders>(response.body, "answer");
}

http::Response MachineAgent::acknowledge(CommandId command, const std::string& result,
                                         const std::string& more) {
    return send({.target = "/api/v1/host-agent/commands/" + to_string(command) + "/ack",
                 .body = fmt::format(R"({{"fence":"{}","result":"{}"{}}})", fence, result, more)});
}

}  // namespace berth::test
