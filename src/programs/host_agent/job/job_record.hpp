// What is kept of a job on disk: whatever was decided is there before it is done.
#pragma once

#include <vector>

#include "agent_protocol/types.hpp"
#include "host_agent/core/state_folder.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {

// An event that the server has not answered yet.
struct Unsent {
    std::string kind;
    std::string body;  // as it is sent, each time the same
};
BOOST_DESCRIBE_STRUCT(Unsent, (), (kind, body))

// An http endpoint as READY announced it.
struct Announced {
    std::string name;
    wire::Count port;            // where the world comes to; with a gate, on loopback
    wire::Count local_port;      // where the workload listens
    std::string tls_key_sha256;  // empty: without TLS
};
BOOST_DESCRIBE_STRUCT(Announced, (), (name, port, local_port, tls_key_sha256))

// When the owner's hours are over, by the boot clock: no word of the server moves it.
struct OwnersEnd {
    std::string boot_id;
    wire::Count since_boot_us;
};
BOOST_DESCRIBE_STRUCT(OwnersEnd, (), (boot_id, since_boot_us))

struct JobRecord {
    wire::Constant<1> format;
    JobId job_id;
    agent_protocol::JobPhase phase = agent_protocol::JobPhase::preparing;
    wire::Object start;  // the payload of START; {} for a job that was never started here
    std::vector<Announced> doors;
    wire::Count ssh_port;
    std::string container_id;
    std::string boot_id;                    // in which the container was started
    std::optional<wire::Count> ready_us;    // since that boot, when READY was taken
    std::optional<wire::Count> runtime_ms;  // once it was stopped
    wire::Count reported_ms;                // what it was when a lease last came
    std::optional<std::string> ssh_host_key_fingerprint;
    std::optional<Time> funded_through;
    std::optional<Time> lease_expires_at;
    std::optional<OwnersEnd> owners_end;
    std::optional<std::string> stop_reason;
    bool is_noticed = false;
    std::optional<Time> noticed_at;
    bool is_clean_wanted = false;
    // The server's time when the record was last written, and how long the host was up then.
    std::optional<Time> server_time;
    wire::Count since_boot_us;
    std::string saved_boot_id;
    std::vector<Unsent> unsent;
    std::optional<agent_protocol::Reach> reach;  // left out: at ports of this host

    bool is_by_gate() const { return reach == agent_protocol::Reach::gate; }
};
BOOST_DESCRIBE_STRUCT(JobRecord, (),
                      (format, job_id, phase, start, doors, ssh_port, container_id, boot_id,
                       ready_us, runtime_ms, reported_ms, ssh_host_key_fingerprint, funded_through,
                       lease_expires_at, owners_end, stop_reason, is_noticed, noticed_at,
                       is_clean_wanted, server_time, since_boot_us, saved_boot_id, unsent, reach))

// The folders of jobs in the agent's, each with its record.
class JobRecords {
public:
    explicit JobRecords(const StateFolder& state) : folder_(state.jobs_folder()) {}

    std::vector<JobRecord> all() const;
    void make_folder(JobId job) const;
    void save(const JobRecord& record) const;
    void forget(JobId job) const;  // its whole folder

    std::string folder(JobId job) const { return folder_ + "/" + to_string(job); }

private:
    const std::string folder_;
};

}  // namespace berth::host_agent
