// What the service makes of what agents say about a job in the evidence of their events.
#pragma once

#include "agent_protocol/evidence.hpp"
#include "agent_protocol/orders.hpp"
#include "rentals/types.hpp"

namespace berth::rentals::event_evidence {

using agent_protocol::CleanedEvidence;
using agent_protocol::EndEvidence;

std::optional<std::string> text_of(const agent_protocol::Maybe<agent_protocol::Name>& member);

// The agent stopped the workload itself, where its lease said that the funding ends.
bool is_own_stop(const EndEvidence& end);

// A name or an address: renters paste it into a shell.
bool is_host(std::string_view text);

struct Wipeable {
    std::int64_t gpus = 0;
    std::optional<std::int64_t> vram_bytes = {};  // of the smallest, as its test measured it
    std::vector<wire::Decimal> gpus_bytes = {};   // of each, when it passed its test
    bool simulated = false;                       // buffers stand in for its memory
};
// What a machine, which may be gone, has to show.
Wipeable wipeable(db::Transaction& tx, const machines::Machine* machine);
bool is_wiped(const CleanedEvidence& cleaned, const Wipeable& machine);
// Why the host could not show that all of it was, in a sentence for its owner.
std::string wipe_trouble(const CleanedEvidence& cleaned);

// The code that the agent gave, where it is one of ours.
FailureCode failure_code(const std::optional<std::string>& code, FailureCode otherwise);
// Why a workload that ended did not come up.
Failure failure_of(const EndEvidence& end);
// Why a host refused to start it.
Failure failure_of(const agent_protocol::Ack& refused);
// Whether it says that rules of its owner did.
bool is_by_policy(const agent_protocol::Ack& refused);
// What went wrong with one that had come up; none when it simply ended.
std::optional<Failure> fault_of(const EndEvidence& end);

}  // namespace berth::rentals::event_evidence
