// The watcher reads the chain in the background: it finishes claims that were made before their
// transfer was final, and parks transfers that nobody has claimed in suspense.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>

#include "chain/patience.hpp"
#include "funding/funding.hpp"
#include "worker/worker.hpp"

namespace berth::funding {

inline constexpr std::int64_t claims_together_max = 100;  // in one question
inline constexpr int claim_batches_per_look_max = 10;
// A claim of a transfer that no block has is looked at less and less often, by its age: anybody can
// make such claims up, and they must not keep those of real transfers waiting.
inline constexpr std::int64_t claim_waits_of_its_age = 4;  // a fourth of it
inline constexpr Duration claim_wait_max = std::chrono::hours(1);
inline constexpr Duration claim_failure_wait = std::chrono::minutes(1);
inline constexpr std::int64_t blocks_per_look_max = 1000;
// Base makes a block every two seconds; a chain that is slower is looked at from further back.
inline constexpr std::int64_t block_seconds_min = 2;
inline constexpr std::int64_t first_blocks_margin = 300;

// What the last look saw, for whoever watches over deposits.
struct WatcherVitals {
    std::array<std::atomic<std::int64_t>, ledger::assets.size()> suspense_micro{};
    std::atomic<std::int64_t> lag_blocks{0};  // final blocks that were not read of some treasury
    std::atomic<std::int64_t> looked_at{0};   // when everything was seen, in microseconds; 0: never
};

class Watcher {
public:
    struct Parts {
        const ledger::Treasury& treasury;
        const Payments& payments;
        chain::Chain& chain;
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    explicit Watcher(const Parts& parts,
                     std::shared_ptr<WatcherVitals> vitals = std::make_shared<WatcherVitals>())
        : parts_(parts), vitals_(std::move(vitals)) {}

    // One look. When a provider fails it throws in the end; the next look starts where this one
    // did.
    void look() const;

private:
    struct Found {
        std::vector<chain::Transfer> transfers;
        std::int64_t last = 0;  // block that was read
    };

    void finish_claims(chain::Patience& patience) const;
    bool ask(chain::Patience& patience, std::span<const PendingClaim> claims) const;
    bool finish_batch(std::span<const PendingClaim> claims) const;  // false: one is disputed
    void note_looks(std::span<const PendingClaim> claims,
                    std::span<const chain::Outcome> outcomes) const;
    void finish_claim(const PendingClaim& claim, const chain::Outcome& outcome) const;
    std::vector<Watched> watched_treasuries() const;
    std::int64_t first_block(const Watched& watched, std::int64_t head) const;
    std::int64_t park_unclaimed(const Watched& watched) const;  // blocks that are left to read
    Found read_deposits(const Watched& watched, chain::Chain::Range range) const;
    void park(db::Transaction& tx, const Watched& watched, const chain::Transfer& transfer,
              Time now) const;

    Parts parts_;
    std::shared_ptr<WatcherVitals> vitals_;
};

inline constexpr std::string_view watch_chain_kind_name = "watch_chain";
worker::Kind watch_chain_kind(Watcher watcher, Duration every);

}  // namespace berth::funding
