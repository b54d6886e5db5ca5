// What agents say about their jobs, and what follows from it: usage that is accepted, leases that
// are granted, events that move a job. Machines has checked who speaks, and that the fence is not
// of the past.
#pragma once

#include "machines/job_side.hpp"
#include "rentals/endpoints.hpp"
#include "rentals/event_evidence.hpp"
#include "rentals/lifecycle.hpp"
#include "rentals/probe.hpp"
#include "rentals/stray_jobs.hpp"

namespace berth::rentals {

class HostAgentSide final : public machines::JobSide {
public:
    struct Parts {
        const Lifecycle& lifecycle;
        const EndpointProber& prober;
        const crypto::Sealer& sealer;
        const StrayJobs& strays;
        EngineTls engine_tls = EngineTls::required;
    };
    explicit HostAgentSide(const Parts& parts) : parts_(parts) {}

    std::vector<agent_protocol::Lease> heartbeat(const db::Context& context,
                                                 machines::Machine& machine,
                                                 const agent_protocol::Heartbeat& beat,
                                                 const machines::SignedMessage& message) override;
    std::vector<agent_protocol::Lease> leases(const db::Context& context,
                                              const machines::Machine& machine) override;
    std::function<machines::EventFacts()> prepare(db::Transaction& tx,
                                                  const machines::Machine& machine, JobId job,
                                                  const agent_protocol::JobEvent& event) override;
    void note_refused(const db::Context& context, const machines::RefusedEvent& refused) override;
    machines::JobEventOutcome event(const db::Context& context, machines::Machine& machine,
                                    JobId job, const agent_protocol::JobEvent& event,
                                    const machines::EventFacts& facts,
                                    const machines::SignedMessage& message) override;
    void acknowledge(const db::Context& context, machines::Machine& machine,
                     const machines::CommandAck& ack,
                     const machines::SignedMessage& message) override;
    void gpus_turned(const db::Context& context, machines::Machine& machine) override;
    void note_listening(db::Database& database, Time now) override;

private:
    using JobEvent = agent_protocol::JobEvent;

    struct Report {
        const agent_protocol::JobReport& job;
        const std::string& boot_id;
    };
    std::optional<agent_protocol::Lease> take_report(const db::Context& context, HeldJob& held,
                                                     const Report& report,
                                                     const machines::SignedMessage& message) const;
    // What the agent says that it has.
    struct Holds {
        bool own_job = false;  // the one that the machine is rented to
        bool other_jobs = false;
    };
    void renew_commands(const db::Context& context, const machines::Machine& machine,
                        const Holds& holds) const;
    void begin_cleaning_anew(const db::Context& context, const machines::Machine& machine,
                             JobId job) const;
    void clean_up(const db::Context& context, const machines::Machine& machine,
                  bool holds_job) const;
    void meet_restored(const db::Context& context, HeldJob& held,
                       const agent_protocol::JobReport& report) const;
    void take(const db::Context& context, HeldJob& held, const JobEvent& event,
              const machines::EventFacts& facts) const;
    void take_progress(const db::Context& context, HeldJob& held, const JobEvent& event) const;
    void take_ready(const db::Context& context, HeldJob& held, const JobEvent& event,
                    const machines::EventFacts& facts) const;
    EngineTls tls_of(const JobTerms& terms) const;
    void take_usage(const db::Context& context, HeldJob& held, const JobEvent& event) const;
    void note_egress(const db::Context& context, HeldJob& held, std::int64_t sent_bytes) const;
    void take_end(const db::Context& context, HeldJob& held, const JobEvent& event) const;
    void end_unasked(const db::Context& context, HeldJob& held,
                     const agent_protocol::EndEvidence& end) const;
    void take_cleaned(const db::Context& context, HeldJob& held, const JobEvent& event) const;
    bool is_same_workload(const HeldJob& held, const std::optional<std::string>& container_id,
                          const std::optional<std::string>& boot_id) const;
    void lose_host(const db::Context& context, HeldJob& held) const;
    void note_accepted(const db::Context& context, HeldJob& held) const;
    void take_refusal(const db::Context& context, HeldJob& held,
                      const agent_protocol::Ack& refused) const;

    const Parts parts_;
};

}  // namespace berth::rentals
