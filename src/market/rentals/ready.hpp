// What a READY says, and what it has to say: where the renter reaches what was promised.
#pragma once

#include "agent_protocol/events.hpp"
#include "agent_protocol/evidence.hpp"
#include "rentals/endpoints.hpp"
#include "rentals/probe.hpp"

namespace berth::rentals {

// All of it throws Problems INVALID_INPUT that name the member.
agent_protocol::ReadyEvidence read_ready(const agent_protocol::JobEvent& event, EngineTls tls);

// What the renter was promised has a name in READY: whatever the template exposes over http, a way
// to a model, and one into the container for whoever has a key to it.
void require_endpoints(const JobTerms& terms, const agent_protocol::ReadyEvidence& ready);

// The doors that it names, in the order of its endpoints; none of a job that is reached directly.
// CONFLICT where one is not a door of this job, for this and where it says: a host cannot have us
// or the renter dial anything else. Also where a job that is reached directly names any door.
std::vector<gates::JobDoor> find_named_doors(db::Transaction& tx, const JobTerms& terms,
                                             const agent_protocol::ReadyEvidence& ready);

// What is to be asked of the endpoints that READY names. Of a model's, the one that the relay will
// use has to list its models.
std::vector<EndpointProber::Question> questions_about(const JobTerms& terms,
                                                      const agent_protocol::ReadyEvidence& ready,
                                                      const std::vector<gates::JobDoor>& doors,
                                                      const std::string& key);

std::optional<std::string> told_fingerprint(const agent_protocol::ReadyEvidence& ready);

// The endpoints with the addresses at which they were seen and their doors, in the same order.
struct Seen {
    const std::vector<std::string>& addresses;
    const std::vector<gates::JobDoor>& doors;
};
std::vector<StoredEndpoint> to_store(const db::Context& context,
                                     const std::vector<agent_protocol::JobEndpoint>& endpoints,
                                     const Seen& seen);

}  // namespace berth::rentals
