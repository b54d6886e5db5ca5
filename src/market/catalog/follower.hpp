// Keeps the catalog as the database is. Every look asks which machines changed since a while ago
// and reads those whose version it does not know: a transaction that commits late is found although
// its time lies before the last look. A wider while is asked now and then, and from time to time
// everything is read anew, beside the running looks. A heartbeat changes one number, and no index.
#pragma once

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "catalog/published.hpp"
#include "catalog/snapshot.hpp"
#include "catalog/store.hpp"
#include "machines/settings.hpp"

namespace berth::catalog {

using WarmByMachine = std::unordered_map<MachineId, WarmImages>;

class Follower {
public:
    static constexpr Duration look_every = std::chrono::milliseconds(400);
    static constexpr Duration overlap = std::chrono::seconds(5);
    static constexpr Duration wide_overlap = std::chrono::minutes(2);
    // Heartbeats are written in batches, some time after they came. A machine is heard every 20 s
    // and may be silent for 90, so that one that was missed does no harm for a while.
    static constexpr Duration heartbeat_overlap = std::chrono::milliseconds(500);
    static constexpr Duration wide_heartbeat_overlap = std::chrono::seconds(10);
    static constexpr int looks_per_wide_one = 10;
    static constexpr Duration rebuild_every = std::chrono::minutes(10);

    Follower(Published<Snapshot>& published, Pulses& pulses, const machines::Settings& settings)
        : published_(published), pulses_(pulses), settings_(settings) {}
    ~Follower() { stop(); }
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    // Reads everything, and publishes it.
    void rebuild(db::Database& database, Time now);
    // Reads what changed, and publishes it. The first one reads everything.
    void look(db::Database& database, Time now);

    // From now on by itself, on a thread of its own; returns when everything was read once, or
    // when that takes long. Both outlive it, or stop() comes first.
    void follow(db::Database& database, const Clock& clock);
    void stop();

    // How long ago the catalog was last known to be as the database is.
    double age_seconds() const;

private:
    static constexpr std::chrono::seconds first_wait_max{2};
    static constexpr std::int64_t page_rows_max = 5'000;
    // Limits of one look. Where more has changed, everything is read anew; heartbeats come again.
    static constexpr std::int64_t versions_max = 50'000;
    static constexpr std::int64_t changes_max = 2'000;
    static constexpr std::int64_t heartbeats_max = 100'000;
    static constexpr std::size_t recent_min = 4'096;   // that many changes never cost a rebuild
    static constexpr std::size_t recent_max = 16'384;  // that many always do
    static constexpr std::size_t recent_share = 16;    // in between: when this part has changed
    // A machine that no look has met for so long lies outside of what the widest asks for.
    static constexpr std::int64_t looks_remembered = 3 * looks_per_wide_one;
    static constexpr std::int64_t looks_per_starts = 120;  // a minute

    struct Known {
        std::int64_t version = 0;
        std::int64_t look = 0;                    // the last one that met it
        std::optional<std::uint32_t> pulse = {};  // of a machine that was listed
    };
    // What became of an offer since the large index was made; no listing: it is gone.
    struct Change {
        std::int64_t look = 0;
        std::int64_t version = 0;
        std::optional<Listing> listing;
    };
    struct Seen {
        std::vector<OfferRow> rows;
        WarmByMachine warm;             // of those rows
        std::vector<Version> versions;  // of machines that changed
        std::vector<Heartbeat> heartbeats;
        std::vector<AccountId> not_hosting;
        std::vector<MachineId> duplicates;
        Time heard_since;
        std::vector<Measure> measures;
        bool too_many = false;
    };
    struct Rebuilt {
        std::shared_ptr<const Index> index;
        std::int64_t look = 0;  // the last one before it began
        std::vector<AccountId> not_hosting;
        std::vector<MachineId> duplicates;
        std::vector<Version> versions;
    };

    Seen read(db::Database& database, Time now, Time since, Time beats_since);
    std::vector<MachineId> unknown(const std::vector<Version>& versions);
    std::optional<std::uint32_t> pulse_of(const OfferRow& row);
    void note(const std::vector<Version>& versions);
    void forget();
    std::optional<Listing> listing_of(const OfferRow& row, const std::vector<MachineId>& duplicates,
                                      const WarmByMachine& warm);
    void apply(Seen seen);
    void load(db::Database& database, Time now);
    Rebuilt read_all(db::Database& database, std::int64_t look, Time now);
    void take_over(Rebuilt rebuilt);
    bool needs_rebuild(Time now) const;
    void publish(Time now);
    void loop(db::Database& database, const Clock& clock);
    void turn(db::Database& database, Time now);

    Published<Snapshot>& published_;
    Pulses& pulses_;
    const machines::Settings settings_;  // what is pinned of them: which runtimes may be sold

    std::mutex work_;  // of whoever looks or rebuilds
    bool loaded_ = false;
    bool too_many_ = false;
    std::int64_t looks_ = 0;
    using SteadyClock = std::chrono::steady_clock;
    std::atomic<SteadyClock::time_point> current_at_{SteadyClock::now()};
    Time looked_at_;
    Time rebuilt_at_;
    std::vector<AccountId> not_hosting_;
    std::vector<MachineId> duplicates_;
    Time heard_since_;
    std::vector<Measure> measures_;
    std::unordered_map<offers::TemplateId, offers::TimeToReady> usual_starts_;
    std::shared_ptr<const Index> base_ = std::make_shared<const Index>();
    std::shared_ptr<const Index> recent_ = std::make_shared<const Index>();
    Bitmap superseded_;
    std::unordered_map<OfferId, Change> changes_;
    bool changes_are_new_ = false;
    Time changed_at_;  // when the last of them was taken up
    std::future<Rebuilt> rebuilding_;

    std::mutex known_mutex_;  // a rebuild runs beside looks
    std::unordered_map<MachineId, Known> known_;
    std::size_t left_out_ = 0;  // offers for whose machines there was no number

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    bool began_ = false;
    std::thread thread_;
};

}  // namespace berth::catalog
