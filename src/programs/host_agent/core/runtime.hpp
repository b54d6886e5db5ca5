// How a workload is run on this host. One interface, two ways: containers under the launch profile,
// and processes of engines that the host's owner put in a table. Calls block, and the thread of the
// job makes them; nothing else of the agent waits for them. What a runtime needs to find a job
// again after kill -9 it keeps in the job's folder or with the container, never in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "agent_protocol/types.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace berth::host_agent {

// The user, and group, that a workload in a container and its renter's sessions have there.
inline constexpr int workload_user = 10001;

using JobKind = agent_protocol::TemplateKind;

// Something that the workload listens on.
struct Serve {
    std::string name;
    std::int64_t port = 0;        // as the template says: inside the container
    std::int64_t local_port = 0;  // on loopback of the host, for the agent alone
};

struct GpuName {
    std::string pci_address;
    std::string uuid;  // empty when it has none
};

struct Limits {
    std::int64_t memory_bytes = 0;
    std::int64_t cpus = 1;
    std::int64_t pids = 4096;
    std::int64_t work_bytes = 0;  // the size of the work volume
    // What it may send at full speed; empty: as much as it likes.
    std::optional<std::int64_t> egress_bytes = {};
};

struct Workload {
    JobId job;
    JobKind kind = JobKind::model;
    std::string image;   // repository@sha256:…
    std::string engine;  // of the template; empty without one
    std::vector<std::string> arguments;
    // The program to start and its arguments, in place of what the image would start; empty: that.
    std::vector<std::string> command;
    // SSH is all that it gives: an init of ours is the first process, so that a shell that finds no
    // terminal and ends does not end the job.
    bool has_init = false;
    std::map<std::string, std::string> environment;
    // Variables that must stand neither in arguments nor in anything that outlives the job. The
    // key of the job's endpoints is BERTH_API_KEY.
    std::map<std::string, std::string> secrets;
    std::optional<std::string> ssh_public_key;
    std::int64_t ssh_port = 0;  // of the host, open to the world; 0 without a key
    // The world comes by a gate, and to loopback alone: nothing of it is open to anybody else.
    bool is_by_gate = false;
    std::vector<Serve> serves;
    Limits limits;
    std::vector<GpuName> gpus;
    // The job's own, 0700, made by the agent and removed by it after clean(). `folder`/notice is
    // there already: it is bound read-only to /work/.berth.
    std::string folder;
};

// Why a workload could not be started: a code of `failure.code`, and a sentence for its renter.
class RuntimeError : public std::runtime_error {
public:
    RuntimeError(std::string code, const std::string& sentence)
        : std::runtime_error(sentence), code_(std::move(code)) {}
    const std::string& code() const { return code_; }

private:
    std::string code_;
};

// Nobody could say whether the workload runs: what it was asked of took too long, was killed or
// could not be started. It may well run; ask again.
class NotKnown : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Progress {
    std::optional<std::int64_t> done_bytes;
    std::optional<std::int64_t> total_bytes;
};

// How long a call may go on. It must look at both at least every 200 ms and throw PULL_TIMEOUT, or
// CANCELLED, when either is so.
struct Patience {
    std::chrono::steady_clock::time_point until;
    const std::atomic<bool>& cancelled;
};

struct Started {
    std::string container_id;  // another one whenever the workload was started anew
    std::optional<std::string> ssh_host_key_fingerprint;
};

struct Look {
    enum class Status { running, exited, gone };
    Status status = Status::gone;
    std::optional<std::int64_t> exit_code;  // 128 + the signal that ended it
    bool out_of_memory = false;
    std::optional<Duration> ended_ago;  // where it was written down
    std::string container_id;
    std::optional<std::int64_t> egress_bytes;  // where they are counted
};

class Runtime {
public:
    virtual ~Runtime() = default;

    virtual agent_protocol::RuntimeKind kind() const = 0;
    // For the manifest: "podman 4.3.1"; empty when there is none.
    virtual std::optional<std::string> version() = 0;
    // What the owner has to mend before jobs can run, one sentence each; empty when nothing.
    virtual std::vector<std::string> troubles() = 0;
    // What keeps every job from running well at the moment, in a sentence; asked with every
    // heartbeat. Empty when nothing does.
    virtual std::string obstacle() { return {}; }
    // The machine test's container.profile: runs something small and looks from inside. Empty: not
    // measured by this runtime.
    struct Asserted {
        bool holds = false;
        std::string summary;
        std::string remedy;
    };
    // What the test looks at beside the profile itself.
    struct ProfileQuestion {
        std::vector<GpuName> gpus = {};  // all of them are handed on
        std::optional<std::string> driver_version = {};
        std::string name = "berth.invalid";  // is looked up; that one has no address
        // Is connected to, as every job may: an address of IPv4 and a port. Empty: where nothing
        // that is public could be.
        std::string address = {};
        std::int64_t port = 0;
    };
    virtual std::optional<Asserted> assert_profile(const ProfileQuestion& question) = 0;

    // Why this runtime never takes such a workload, in a sentence for its renter; asked before
    // anything of it is begun. Empty when it may be tried.
    virtual std::optional<std::string> refusal(const Workload&) { return std::nullopt; }
    // Image or engine is here, whole and checked, once this returns. IMAGE_NOT_FOUND,
    // IMAGE_DIGEST_MISMATCH, PULL_TIMEOUT, DISK_FULL, HOST_REJECTED.
    virtual void prepare(const Workload& workload, const Patience& patience,
                         const std::function<void(const Progress&)>& told) = 0;
    // Volume, network, guard, sshd and the workload itself. Whatever a start that failed left is
    // for clean() to remove.
    virtual Started start(const Workload& workload) = 0;
    // After the agent was started anew: takes up a workload that runs on (its sshd, its guard).
    // Empty when there is none, or it is over; NotKnown when that cannot be told.
    virtual std::optional<Started> rejoin(const Workload& workload) = 0;
    // Asked every two seconds for as long as the job runs: it must cost next to nothing. NotKnown.
    virtual Look look(const Workload& workload) = 0;
    // The last bytes of what it printed, `bytes_max` at most, from the beginning of a line.
    virtual std::string log_tail(const Workload& workload, std::size_t bytes_max) = 0;
    // SIGTERM, `grace`, SIGKILL. When it returns nothing of the workload runs; the work volume is
    // readable by sftp where there was a key. Harmless when it is over already; NotKnown when it
    // may still run.
    virtual void stop(const Workload& workload, Duration grace) = 0;
    // Removes everything, and shows it: the work volume is gone and a new one can be made. Throws
    // when anything is left.
    virtual void clean(const Workload& workload) = 0;
    // Every job of which there is anything on this host.
    virtual std::vector<JobId> present() = 0;
    // The images that are here already, so that a job with one of them starts without fetching it.
    virtual std::vector<std::string> warm_images() { return {}; }
};

// What stands between the internet and a job's http endpoints: TLS with a key of its own, and the
// job's key asked for. It lives in the agent, so after a restart it is opened again with the same
// port and the same TLS key, which it keeps in the job's folder.
class Front {
public:
    virtual ~Front() = default;

    struct Opening {
        std::string name;
        std::int64_t port = 0;        // open to the world
        std::int64_t local_port = 0;  // on loopback: where the workload listens
        std::string key;              // to be shown as a bearer token, and passed on
        std::string folder;           // of the job
        bool is_by_gate = false;      // the world comes to loopback
    };
    // SHA-256 of the TLS public key, in hex. Throws RuntimeError INTERNAL when the port is taken.
    virtual std::string open(const Opening& opening) = 0;
    virtual void close(std::int64_t port) = 0;
};

}  // namespace berth::host_agent
