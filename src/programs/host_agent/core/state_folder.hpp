// The agent's folder, 0700: who this machine is, whom it obeys, and a folder for every job. What is
// damaged is refused with a sentence, never guessed at; one agent at a time uses a folder.
#pragma once

#include <optional>
#include <string>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/durable.hpp"
#include "crypto/ed25519.hpp"
#include "host_agent/core/share.hpp"
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
    // What earlier versions did not write down.
    std::optional<std::string> gpus;                       // names of those that are offered
    std::optional<std::string> driver_root;                // where the driver's files are
    std::optional<std::string> allow_registry;             // see parse_registries()
    std::optional<wire::Integer<1, 1'000'000>> store_gib;  // what images may take
    // What its owner wants of gates; empty: what the server finds.
    std::optional<agent_protocol::GateWish> gate;
    std::optional<bool> gate_tls;  // calls to a gate by TLS alone
    std::optional<Share> share;    // of a slot; none: the machine is the whole computer
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (mode, public_host, port_first, port_last, runtime, simulate_gpu, engines,
                       ca_file, gpus, driver_root, allow_registry, store_gib, gate, gate_tls,
                       share))

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

    const std::string& folder() const { return folder_; }
    std::string counters_path() const { return folder_ + "/counters.json"; }
    std::string control_path() const { return folder_ + "/control"; }
    std::string jobs_folder() const { return folder_ + "/jobs"; }  // one folder for each

private:
    const std::string folder_;
    int lock_ = -1;
};

// For what is kept there: 0700, synced; harmless when it is there already. Throws StateLost.
void make_state_folder(const std::string& path);
// However it was typed: what is called by its name, as cgroups and folders in /run, has one name.
std::string plain_path(const std::string& folder);
// Whether somebody has locked the folder now.
bool is_locked(const std::string& folder);

// What a file of the folder says. Throws StateLost when it is damaged.
template <class T>
T read_state(const std::string& path, const std::string& text) {
    try {
        return wire::decode<T>(text, "file");
    } catch (const Problem& problem) {
        throw StateLost(
            path + " is damaged (" + problem.message +
            "). Put back a copy of the folder, or enroll the machine anew with an empty one.");
    }
}

crypto::Ed25519Key key_of(const std::string& seed);
agent_protocol::PinnedKey pinned_of(const Identity& identity);
std::optional<agent_protocol::PinnedKey> next_pinned_of(const Identity& identity);
// The other of this machine's two keys while it is not known which of them the server has: swapped
// with `seed`, both kept. False when there is one key only.
bool swap_seeds(Identity& identity);

}  // namespace berth::host_agent
