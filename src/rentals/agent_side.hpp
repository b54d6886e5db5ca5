// What agents say about their jobs, and what follows from it: usage that is accepted, leases that
// are granted, events that move a job. Machines has checked who speaks, and that the fence is not
// of the past.
#pragma once

#include "crypto/seal.hpp"
#include "machines/job_side.hpp"
#include "rentals/lifecycle.hpp"
#include "rentals/probe.hpp"
#include "rentals/said.hpp"

namespace berth::rentals {

// An endpoint as READY announced it; fixed for the job.
struct StoredEndpoint {
    Uuid endpoint_id;
    EndpointKind kind = EndpointKind::http;
    std::string name;
    std::string host;
    Count port;
    Nullable<std::string> tls_key;  // SHA-256 in hex
};
BOOST_DESCRIBE_STRUCT(StoredEndpoint, (), (endpoint_id, kind, name, host, port, tls_key))
std::vector<StoredEndpoint> endpoints_of(const JobStory& story);

// The key that the workload expects of whoever speaks to it; sealed in the row.
std::string seal_endpoint_key(const crypto::Sealer& sealer, JobId job, std::string_view key,
                              Random& random);
std::string open_endpoint_key(const crypto::Sealer& sealer, const JobTerms& terms);

class AgentSide final : public machines::JobSide {
public:
    struct Parts {
        const Lifecycle& lifecycle;
        const Prober& prober;
        const crypto::Sealer& sealer;
    };
    explicit AgentSide(const Parts& parts) : parts_(parts) {}

    bool knows(const db::Context& context, const machines::Machine& machine, JobId job) override;
    std::vector<agent_protocol::Lease> heartbeat(
        const db::Context& context, machines::Machine& machine,
        const agent_protocol::Heartbeat& beat, const machines::SignedMessage& message) override;
    std::vector<agent_protocol::Lease> leases(const db::Context& context,
                                              const machines::Machine& machine) override;
    std::function<machines::EventFacts()> prepare(db::Transaction& tx,
                                                  const machines::Machine& machine, JobId job,
                                                  const agent_protocol::JobEvent& event) override;
    machines::JobEventOutcome event(const db::Context& context, machines::Machine& machine,
                                    JobId job, const agent_protocol::JobEvent& event,
                                    const machines::EventFacts& facts,
                                    const machines::SignedMessage& message) override;
    void acknowledge(const db::Context& context, machines::Machine& machine,
                     const machines::CommandAck& ack) override;

private:
    using JobEvent = agent_protocol::JobEvent;

    struct Report {
        const agent_protocol::JobReport& job;
        const std::string& boot_id;
    };
    std::optional<agent_protocol::Lease> take_report(const db::Context& context, Held& held,
                                                     const Report& report,
                                                     const machines::SignedMessage& message) const;
    void take(const db::Context& context, Held& held, const JobEvent& event,
              const machines::EventFacts& facts) const;
    void take_progress(const db::Context& context, Held& held, const JobEvent& event) const;
    void take_ready(const db::Context& context, Held& held, const JobEvent& event,
                    const machines::EventFacts& facts) const;
    void take_usage(const db::Context& context, Held& held, const JobEvent& event) const;
    void take_end(const db::Context& context, Held& held, const JobEvent& event) const;
    void take_cleaned(const db::Context& context, Held& held, const JobEvent& event) const;
    bool is_same_workload(const Held& held, const std::optional<std::string>& container_id,
                          const std::optional<std::string>& boot_id) const;
    void lose_host(const db::Context& context, Held& held) const;
    void note_accepted(const db::Context& context, Held& held) const;

    const Parts parts_;
};

}  // namespace berth::rentals
