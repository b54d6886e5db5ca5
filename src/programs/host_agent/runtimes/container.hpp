// Jobs in containers: podman and runc under the launch profile, each job with a network, a guard, a
// work volume and, where there is a key, an sshd of its own.
//
// Containers are podman's, in a store of the agent's own, and go on without the agent. Everything
// of a job has a name that follows from the job's id, so that it is found again by any later agent.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "host_agent/access/ssh.hpp"
#include "host_agent/core/runtime.hpp"
#include "host_agent/core/slot_group.hpp"
#include "host_agent/runtimes/card_specification.hpp"
#include "host_agent/runtimes/container_network.hpp"
#include "host_agent/runtimes/image_store.hpp"
#include "host_agent/runtimes/pull_network.hpp"
#include "host_agent/runtimes/weight_cache.hpp"

namespace berth::host_agent {

struct PodmanOptions {
    std::string state = "/var/lib/berth-agent";
    std::string run = "/run/berth-agent";  // what a reboot may take: podman must see that it did
    std::string pool = "10.213";           // how the addresses of jobs begin
    std::string program;                   // berth-agent itself, for sshd to start
    std::string inside_program;            // berth-inside, which looks at the profile from inside
    std::string ssh_address = "0.0.0.0";
    std::string driver_root;        // where the driver's files are; empty: where they always are
    PinnedRegistries registries{};  // in the owner's own house
    // How much all images may take, and how much of the disk must stay free beside a job's volume.
    std::int64_t store_bytes = std::int64_t{1} << 48;
    std::int64_t floor_bytes = 0;
    Hub hub{};                  // where weights of open models come from
    bool is_simulated = false;  // its cards are
    // Of a slot: what its containers and what runs beside them are counted in, and its share of the
    // line, each way; none and 0 for a whole computer.
    std::optional<SlotGroup> group{};
    std::int64_t network_mbit = 0;
};

// Debian's names of the packages that this host lacks before it can run containers.
std::vector<std::string> missing_packages();

class PodmanRuntime final : public Runtime {
public:
    explicit PodmanRuntime(PodmanOptions options);
    ~PodmanRuntime() override;

    agent_protocol::RuntimeKind kind() const override;
    std::optional<std::string> version() override;
    std::vector<std::string> troubles() override;
    std::string obstacle() override;
    std::optional<Asserted> assert_profile(const ProfileQuestion& question) override;

    void prepare(const Workload& workload, const Patience& patience,
                 const std::function<void(const Progress&)>& told) override;
    Started start(const Workload& workload) override;
    std::optional<Started> rejoin(const Workload& workload) override;
    Look look(const Workload& workload) override;
    std::string log_tail(const Workload& workload, std::size_t bytes_max) override;
    void stop(const Workload& workload, Duration grace) override;
    void clean(const Workload& workload) override;
    std::vector<JobId> present() override;
    std::vector<std::string> warm_images() override;

private:
    struct Inspected {
        std::string id;
        bool running = false;
        bool watched = false;  // by conmon, which will tell how it ended
        pid_t pid = 0;
        std::optional<std::int64_t> exit_code;
        std::optional<Duration> ended_ago;
        bool out_of_memory = false;
    };
    struct Egress {
        std::chrono::steady_clock::time_point at;
        std::optional<std::int64_t> bytes;
    };

    std::string login_file() const { return options_.run + "/no-logins.json"; }
    std::string profile_folder() const { return options_.state + "/profile-"; }
    std::string podman_folder(const Workload& workload) const;
    std::vector<std::string> podman(std::initializer_list<std::string> words) const;
    bool is_absent(const std::string& container) const;
    // Empty when there is no container; NotKnown when podman does not say.
    std::optional<Inspected> inspect(const Workload& workload) const;
    std::optional<Inspected> find(const Workload& workload);
    std::optional<std::string> running_container(const Workload& workload);
    Inspected launch(const Workload& workload, const JobNetwork& network);
    void make_ready(const Workload& workload, const JobNetwork& network) const;
    void put_secrets(const Workload& workload) const;
    void put_guard(const Workload& workload, const JobNetwork& network) const;
    std::optional<std::string> open_ssh(const Workload& workload, const JobNetwork& network,
                                        const Inspected* running);
    void keep_ssh_open(const Workload& workload);
    void close_ssh(const Workload& workload);
    std::shared_ptr<SshDoor> door_of(const Workload& workload);
    std::optional<std::int64_t> egress(const Workload& workload);
    void shape(const Workload& workload, pid_t pid, std::int64_t sent_bytes);
    void keep_to_share(const Inspected& made, const JobNetwork& network) const;
    void keep_in_bounds(const Workload& workload, const Inspected& running,
                        const JobNetwork& network);
    std::function<void(pid_t)> counting_in() const;
    void remove_secrets(const Workload& workload) const;
    void know_images();
    void pull(const Workload& workload, const Patience& patience,
              const std::function<void(const Progress&)>& told);
    void keep_image(const Workload& workload);
    // What a job has of the store: its image and, where they are here, its weights.
    std::vector<std::string> needed_by(const Workload& workload) const;
    void keep_weights(const Workload& workload, const Patience& patience,
                      const std::function<void(const Progress&)>& told);
    bool make_room(const Workload& workload, std::int64_t wanted_bytes);
    bool remove_image(const std::string& image);
    std::int64_t bytes_of(const std::string& image) const;

    const PodmanOptions options_;
    const CardSpecification cards_;
    std::mutex mutex_;
    std::optional<std::string> version_;  // as podman last said it
    ContainerNetworks networks_;
    ImageStore images_;
    WeightCache weights_;
    std::mutex store_mutex_;
    bool are_images_known_ = false;
    std::map<JobId, Inspected> known_;  // that ran when they were last asked for
    std::map<JobId, Egress> egress_;
    std::set<JobId> shaped_;                           // by this agent
    std::map<JobId, std::shared_ptr<SshDoor>> doors_;  // their sessions look here: never under lock
};

}  // namespace berth::host_agent
