#include "gates/credentials.hpp"

#include "agent_protocol/hashes.hpp"
#include "base/check.hpp"
#include "gates/store.hpp"

namespace berth::gates {
namespace {

using agent_protocol::RequestSignature;
using agent_protocol::SignatureFault;
using agent_protocol::Signer;

[[noreturn]] void refuse_signature(SignatureFault fault) {
    std::string why(describe(fault, Signer::gate));
    if (fault == SignatureFault::missing) throw Problem(Code::unauthenticated, std::move(why));
    throw api::InvalidCredential(std::move(why));
}

RequestSignature parse_of_gate(const http::Request& request) {
    agent_protocol::ParsedSignature parsed =
        agent_protocol::parse_signature(request.headers, Signer::gate);
    if (parsed.fault) refuse_signature(*parsed.fault);
    return std::move(parsed.value);
}

// A body that was not read is refused for its size a moment later, or comes when its head was found
// good.
void check_body(const RequestSignature& signature, const http::Request& request) {
    if (request.unread != http::Unread::nothing) return;
    if (!has_digest(signature, request.body)) refuse_signature(SignatureFault::digest);
}

bool is_signed_by(const GateRow& gate, const http::Request& request,
                  const RequestSignature& signature) {
    const auto key = agent_protocol::parse_key(gate.public_key);
    require(key.has_value(), "a gate's key was checked when it was added");
    const std::string authority = agent_protocol::authority_of(request);
    return verify(signature, agent_protocol::parts_of(request, authority), *key);
}

}  // namespace

bool GateCredentials::may_identify(const http::Request& head) const {
    return !agent_protocol::parse_signature(head.headers, Signer::gate).fault;
}

std::optional<api::Caller> GateCredentials::recall(const api::Caller& judged,
                                                   const http::Request& request) {
    check_body(parse_of_gate(request), request);
    return judged;
}

api::Caller GateCredentials::identify(const http::Request& request, db::Transaction& tx, Time now) {
    const RequestSignature signature = parse_of_gate(request);
    if (!is_timely(signature, now)) refuse_signature(SignatureFault::created);
    check_body(signature, request);
    const auto gate = find_gate(tx, GateId{signature.key_id});
    if (!gate || !is_signed_by(*gate, request, signature))
        refuse_signature(SignatureFault::signature);
    // Last of all: only the gate itself can use up its nonces.
    if (!nonces_.use(signature.key_id, signature.nonce, now))
        throw api::InvalidCredential("the signature's nonce was used before");
    api::Caller caller;
    caller.credential = api::Credential::gate;
    caller.credential_id = gate->gate_id.uuid;
    return caller;
}

GateId gate_of(const api::Caller& caller) {
    require(caller.credential == api::Credential::gate, "the route is for gates");
    return {caller.credential_id};
}

}  // namespace berth::gates
