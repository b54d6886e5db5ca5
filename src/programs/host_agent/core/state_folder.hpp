// The agent's folder, 0700: who this machine is, whom it obeys, and a record of every job. What is
// damaged is refused with a sentence, never guessed at; one agent at a time uses a folder.
#pragma once

#include <map>
#include <vector>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/durable.hpp"
#include "crypto/ed25519.hpp"
#include "host_agent/core/boot_clock.hpp"
#include "host_agent/core/runtime.hpp"
#include "wire/wire.hpp"

namespace berth::host_agent {

using agent_protocol::StateLost;

// How the owner wants it to run; told at enrollment, and again to `run` where it differs.
struct Settings {
    std::string mode = "dedicated";
    std::string public_host;
    wire::Integer<1, 65535> port_first{40000};
    wire::Integer<1, 65535> port_last{40099};
    std::string runtime = "podman";
    std::string simulate_gpu;
    std::string engines;
    std::string ca_file;
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (mode, public_host, port_first, port_last, runtime, simulate_gpu, engines,
                       ca_file))

struct Identity {
    wire::Constant<1> format;
    std::string server;
    std::string seed;  // hex
    // A key that the server may or may not have taken: the answer to ROTATE_KEY was lost.
    std::optional<std::string> next_seed;
    // The one before `seed`, until the server has answered `seed`.
    std::optional<std::string> old_seed;
    std::optional<MachineId> machine_id;  // empty before the enrollment was answered
    std::string server_key_id;
    std::string server_public_key;
    // Of SERVER_KEY. Obeyed as well; alone from the first command on that it signed.
    std::optional<std::string> next_server_key_id;
    std::optional<std::string> next_server_public_key;
    wire::Count heartbeat_s;
    Settings settings;
};
BOOST_DESCRIBE_STRUCT(Identity, (),
                      (format, server, seed, next_seed, old_seed, machine_id, server_key_id,
                       server_public_key, next_server_key_id, next_server_public_key, heartbeat_s,
                       settings))

// An event that the server has not answered yet.
struct Unsent {
    std::string kind;
    std::string body;  // as it is sent, each time the same
};
BOOST_DESCRIBE_STRUCT(Unsent, (), (kind, body))

// An http endpoint as READY announced it.
struct Announced {
    std::string name;
    wire::Count port;
    wire::Count local_port;
    std::string tls_key_sha256;  // empty: without TLS
};
BOOST_DESCRIBE_STRUCT(Announced, (), (name, port, local_port, tls_key_sha256))

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
    std::optional<std::string> stop_reason;
    bool is_noticed = false;
    std::optional<Time> noticed_at;
    bool is_clean_wanted = false;
    // The server's time when the record was last written, and how long the host was up then.
    std::optional<Time> server_time;
    wire::Count since_boot_us;
    std::string saved_boot_id;
    std::vector<Unsent> unsent;
};
BOOST_DESCRIBE_STRUCT(JobRecord, (),
                      (format, job_id, phase, start, doors, ssh_port, container_id, boot_id,
                       ready_us, runtime_ms, reported_ms, ssh_host_key_fingerprint, funded_through,
                       lease_expires_at, stop_reason, is_noticed, noticed_at, is_clean_wanted,
                       server_time, since_boot_us, saved_boot_id, unsent))

class StateFolder {
public:
    // Makes the folder when it is not there. Throws StateLost when it is not ours alone.
    explicit StateFolder(std::string folder);
    ~StateFolder();
    StateFolder(const StateFolder&) = delete;
    StateFolder& operator=(const StateFolder&) = delete;

    // Throws StateLost, with the process id of the other, while another agent holds the folder.
    void lock();

    std::optional<Identity> identity() const;
    void save(const Identity& identity) const;
    void forget_identity() const;

    std::vector<JobRecord> jobs() const;
    void make_job_folder(JobId job) const;
    void save(const JobRecord& record) const;
    void forget(JobId job) const;  // its whole folder

    const std::string& folder() const { return folder_; }
    std::string counters_path() const { return folder_ + "/counters.json"; }
    std::string control_path() const { return folder_ + "/control"; }
    std::string job_folder(JobId job) const { return folder_ + "/jobs/" + to_string(job); }

private:
    const std::string folder_;
    int lock_ = -1;
};

crypto::Ed25519Key key_of(const std::string& seed);
agent_protocol::PinnedKey pinned_of(const Identity& identity);
std::optional<agent_protocol::PinnedKey> next_pinned_of(const Identity& identity);
// The other of this machine's two keys while it is not known which of them the server has: swapped
// with `seed`, both kept. False when there is one key only.
bool swap_seeds(Identity& identity);

}  // namespace berth::host_agent
