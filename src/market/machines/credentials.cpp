#include "machines/credentials.hpp"

#include "base/check.hpp"
#include "machines/network_speed.hpp"

namespace berth::machines {
namespace {

using agent_protocol::SignatureFault;

[[noreturn]] void refuse(SignatureFault fault) {
    std::string why(describe(fault));
    if (fault == SignatureFault::missing) throw Problem(Code::unauthenticated, std::move(why));
    throw api::InvalidCredential(std::move(why));
}

Upload* upload_of(const http::Request& request) {
    return dynamic_cast<Upload*>(request.sink.get());
}

// A body that was not read is refused for its size a moment later, or comes when its head was found
// good.
void check_digest(const agent_protocol::RequestSignature& signature, const http::Request& request) {
    if (request.unread != http::Unread::nothing) return;
    auto* const upload = upload_of(request);
    const bool is_over_it = upload != nullptr ? has_hash(signature, upload->sha256())
                                              : has_digest(signature, request.body);
    if (!is_over_it) refuse(SignatureFault::digest);
}

agent_protocol::RequestSignature parse(const http::Request& request) {
    agent_protocol::ParsedSignature parsed = agent_protocol::parse_signature(request.headers);
    if (parsed.fault) refuse(*parsed.fault);
    return std::move(parsed.value);
}

// Checks the form of a signature, its time and the digest of the body; not yet whose it is.
agent_protocol::RequestSignature read_signature(const http::Request& request, Time now) {
    agent_protocol::RequestSignature signature = parse(request);
    if (!is_timely(signature, now)) refuse(SignatureFault::created);
    check_digest(signature, request);
    return signature;
}

bool is_signed_by(const CachedMachine& machine, const http::Request& request,
                  const agent_protocol::RequestSignature& signature) {
    const std::string authority = agent_protocol::authority_of(request);
    return verify(signature, agent_protocol::parts_of(request, authority), machine.key);
}

}  // namespace

bool MachineCredentials::may_identify(const http::Request& head) const {
    return !agent_protocol::parse_signature(head.headers).fault;
}

std::optional<api::Caller> MachineCredentials::recognise(const http::Request& request, Time now) {
    const auto signature = read_signature(request, now);
    const auto machine = cache_.find(MachineId{signature.key_id});
    // A key that was changed a moment ago is only in the database.
    if (machine == nullptr || !is_signed_by(*machine, request, signature)) return std::nullopt;
    return accept(*machine, signature, now);
}

std::optional<api::Caller> MachineCredentials::recall(const api::Caller& judged,
                                                      const http::Request& request) {
    check_digest(parse(request), request);
    return judged;
}

api::Caller MachineCredentials::identify(const http::Request& request, db::Transaction& tx,
                                         Time now) {
    const auto signature = read_signature(request, now);
    const auto machine = read_for_cache(tx, MachineId{signature.key_id});
    if (!machine || !is_signed_by(*machine, request, signature)) refuse(SignatureFault::signature);
    cache_.put(*machine);
    return accept(*machine, signature, now);
}

// Last of all: only the machine itself can use up its nonces.
api::Caller MachineCredentials::accept(const CachedMachine& machine,
                                       const agent_protocol::RequestSignature& signature,
                                       Time now) {
    if (!nonces_.use(signature.key_id, signature.nonce, now))
        throw api::InvalidCredential("the signature's nonce was used before");
    api::Caller caller;
    caller.credential = api::Credential::machine;
    caller.account = machine.facts.owner;
    caller.credential_id = machine.facts.machine_id.uuid;
    return caller;
}

SignedMessage signed_message(const http::Request& request, const Machine& machine) {
    return {.body = request.body,
            .signature_input = std::string(request.headers.find("Signature-Input").value_or("")),
            .signature = std::string(request.headers.find("Signature").value_or("")),
            .authority = agent_protocol::authority_of(request),
            .path = std::string(request.path()),
            .public_key = machine.public_key};
}

MachineId machine_of(const api::Caller& caller) {
    require(caller.credential == api::Credential::machine, "the route is for machines");
    return {caller.credential_id};
}

}  // namespace berth::machines
