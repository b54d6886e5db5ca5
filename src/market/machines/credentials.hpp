// Who a machine's request comes from: its signature, checked against the key it enrolled with.
#pragma once

#include "agent_protocol/signature.hpp"
#include "agent_protocol/used_nonces.hpp"
#include "api/caller.hpp"
#include "machines/job_side.hpp"
#include "machines/machine_cache.hpp"

namespace berth::machines {

class MachineCredentials final : public api::Authenticator {
public:
    explicit MachineCredentials(MachineCache& cache) : cache_(cache) {}

    bool may_identify(const http::Request& head) const override;
    std::optional<api::Caller> recognise(const http::Request& request, Time now) override;
    // A signature is good once: what its head showed stands, and the body is held to its digest.
    std::optional<api::Caller> recall(const api::Caller& judged,
                                      const http::Request& request) override;
    api::Caller identify(const http::Request& request, db::Transaction& tx, Time now) override;
    // Heartbeats say when a machine was last heard; nothing is noted here.
    void note_use(const api::Caller&, db::Transaction&, Time) override {}

private:
    api::Caller accept(const CachedMachine& machine,
                       const agent_protocol::RequestSignature& signature, Time now);

    MachineCache& cache_;
    agent_protocol::UsedNonces nonces_;
};

// A request of a machine with its signature, to be kept as evidence.
SignedMessage signed_message(const http::Request& request, const Machine& machine);

// Which machine the caller is.
MachineId machine_of(const api::Caller& caller);

}  // namespace berth::machines
