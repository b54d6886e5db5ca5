// Who a machine's request comes from: its signature, checked against the key it enrolled with.
#pragma once

#include "agent_protocol/signature.hpp"
#include "api/caller.hpp"
#include "machines/job_side.hpp"
#include "machines/machine_cache.hpp"

namespace berth::machines {

// Nonces that were used, for as long as a signature that carries one can still be good. Bounded:
// two generations, and the older one goes when the younger is full or old.
class UsedNonces {
public:
    static constexpr std::size_t nonces_max = 1'000'000;  // of one generation
    static constexpr Duration generation =
        2 * agent_protocol::created_window + std::chrono::seconds(5);

    // False when the nonce was used before.
    bool use(MachineId machine, std::string_view nonce, Time now);

private:
    std::mutex mutex_;
    std::unordered_set<std::size_t> young_;
    std::unordered_set<std::size_t> old_;
    std::optional<Time> since_;
};

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
    UsedNonces nonces_;
};

// A request of a machine with its signature, to be kept as evidence.
SignedMessage signed_message(const http::Request& request, const Machine& machine);

// Which machine the caller is.
MachineId machine_of(const api::Caller& caller);

}  // namespace berth::machines
