// Who a gate's request comes from: its signature, checked against the key that the operator gave.
#pragma once

#include "agent_protocol/used_nonces.hpp"
#include "api/caller.hpp"
#include "gates/gates.hpp"

namespace berth::gates {

class GateCredentials final : public api::Authenticator {
public:
    bool may_identify(const http::Request& head) const override;
    // A signature is good once: what its head showed stands, and the body is held to its digest.
    std::optional<api::Caller> recall(const api::Caller& judged,
                                      const http::Request& request) override;
    api::Caller identify(const http::Request& request, db::Transaction& tx, Time now) override;
    // Reports say when a gate was last heard; nothing is noted here.
    void note_use(const api::Caller&, db::Transaction&, Time) override {}

private:
    agent_protocol::UsedNonces nonces_;
};

// Which gate the caller is.
GateId gate_of(const api::Caller& caller);

}  // namespace berth::gates
