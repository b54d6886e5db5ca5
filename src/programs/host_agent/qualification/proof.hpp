// The proof of this machine's cards, as the server asks for it (agent_protocol/proof.hpp).
#pragma once

#include "agent_protocol/qualification.hpp"
#include "gpu/gpu.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/shared_counters.hpp"

namespace berth::host_agent {

struct ProofParts {
    Link& link;
    SharedCounters& counters;
    gpu::Gpus& gpus;
};

// Carries it through, all cards at the same time. The check tells what kept it from that; what the
// server makes of the proof is its own affair.
agent_protocol::Check prove_cards(const ProofParts& parts, agent_protocol::RunId run);

}  // namespace berth::host_agent
