// What this process remembers of machines, so that a heartbeat with nothing new asks nobody: the
// key that a machine signs with and the facts that its next heartbeat is compared with.
//
// Once a second a look at the database takes up what any process has changed. It reads with an
// overlap and compares versions, since a transaction that commits late carries an old time. What is
// remembered is used only while looks succeed: a process that is cut off from the database
// remembers nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "crypto/ed25519.hpp"
#include "machines/machine.hpp"

namespace berth::machines {

struct MachineFacts {
    MachineId machine_id;
    std::int64_t version = 0;
    Time changed_at;
    AccountId owner;
    std::optional<Time> retired_at;
    MachineState state = MachineState::UNQUALIFIED;
    std::int64_t fence = 0;
    std::string public_key;
    std::string manifest_hash;
    bool manifest_pending = false;
    std::optional<HostMode> mode;
    std::optional<bool> offerable;
    std::string mode_reasons;
    std::optional<Time> mode_observed_at;
    std::optional<JobId> job_id;
};
BOOST_DESCRIBE_STRUCT(MachineFacts, (),
                      (machine_id, version, changed_at, owner, retired_at, state, fence, public_key,
                       manifest_hash, manifest_pending, mode, offerable, mode_reasons,
                       mode_observed_at, job_id))

struct CachedMachine {
    MachineFacts facts;
    crypto::Ed25519PublicKey key;
};

// Reads a machine that is not retired, with its key, from the database.
std::optional<CachedMachine> read_for_cache(db::Transaction& tx, MachineId id);

class MachineCache {
public:
    using SteadyClock = std::chrono::steady_clock;

    static constexpr std::size_t machines_max = 500'000;
    static constexpr std::chrono::milliseconds look_every{900};
    // Without a look at the database for this long, nothing that is remembered is used.
    static constexpr std::chrono::seconds looks_good_for{4};
    // A transaction may commit this much later than the time that it wrote into the row.
    static constexpr Duration overlap = std::chrono::seconds(90);
    static constexpr std::int64_t changes_max = 20'000;  // beyond that all is forgotten
    // After this long a machine is read again: a process whose clock is far behind writes times
    // that no look sees.
    static constexpr std::chrono::minutes read_again_after{5};

    // Null when it is not known, or when what is known may be out of date: what this process has
    // changed a moment ago is asked of the database.
    std::shared_ptr<const CachedMachine> find(MachineId id) const;
    // A newer version that is remembered already stays.
    void put(CachedMachine machine);
    bool has_commands(MachineId id) const;
    std::size_t size() const;

    // Takes up what was changed since the last look.
    void look(db::Database& database, Time now);

    // True when a heartbeat that was sent later, by the agent's own clock, came here a moment ago.
    // After that moment the agent's clock was set back.
    static constexpr Duration overtaken_within = std::chrono::seconds(8);
    bool is_overtaken(MachineId id, Time sent_at, Time now);

private:
    struct Entry {
        std::shared_ptr<const CachedMachine> machine;
        SteadyClock::time_point read_at;
    };

    bool is_current() const;

    mutable std::mutex mutex_;
    std::unordered_map<MachineId, Entry> machines_;
    struct Newest {
        Time sent_at;
        Time came_at;
    };
    std::unordered_map<MachineId, Newest> newest_;
    std::unordered_set<MachineId> commanded_;
    std::optional<Time> looked_at_;           // by the clock of the rows
    const db::Database* database_ = nullptr;  // that was looked at
    std::atomic<SteadyClock::rep> good_until_{0};
};

}  // namespace berth::machines
