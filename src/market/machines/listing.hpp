// Why a machine cannot be listed: one function for the request to list it, for what its owner is
// shown, and for the worker that admits it later.
#pragma once

#include "api/call.hpp"
#include "api/settings.hpp"
#include "machines/machine.hpp"
#include "machines/settings.hpp"

namespace berth::machines {

enum class Blocker {
    NO_OFFER,
    OFFER_EXPIRED,
    NOT_QUALIFIED,
    HEARTBEAT_STALE,
    MANIFEST_CHANGED,
    MODE_NOT_OFFERABLE,
    CLASS_MODE_MISMATCH,
    GPU_MEMORY_SHARED,
    QUARANTINED,
    HOST_CAPABILITY_OFF,
    HOST_SUSPENDED,
    ADMISSION_PAUSED,
    GPU_DUPLICATE,
    WIPE_UNAVAILABLE,
    RUNTIME_NOT_ALLOWED,
    GPU_LOST,
    DISK_TOO_SMALL,
};
BOOST_DESCRIBE_ENUM(Blocker, NO_OFFER, OFFER_EXPIRED, NOT_QUALIFIED, HEARTBEAT_STALE,
                    MANIFEST_CHANGED, MODE_NOT_OFFERABLE, CLASS_MODE_MISMATCH, GPU_MEMORY_SHARED,
                    QUARANTINED, HOST_CAPABILITY_OFF, HOST_SUSPENDED, ADMISSION_PAUSED,
                    GPU_DUPLICATE, WIPE_UNAVAILABLE, RUNTIME_NOT_ALLOWED, GPU_LOST, DISK_TOO_SMALL)

// An idle or co-listed host takes its machine back at any time, so it sells interruptible time and
// nothing else; a dedicated one never does, nor one whose mode is unknown.
bool fits_mode(AvailabilityClass sold, std::optional<HostMode> mode);

// Facts that decide a listing and are not in the row of the machine.
struct ListingFacts {
    Time now;
    std::optional<Time> last_healthy_at;
    bool host_capability = true;
    bool host_suspended = false;
    bool admission_paused = false;
    bool gpu_duplicate = false;
    bool runtime_allowed = true;
    bool disk_too_small = false;  // for what the offer includes; offers know that
    // Who was last heard before this may hold what we know nothing of: our books may be those of a
    // backup.
    Time heard_since = {};
};

// What operators have set, as a call or an attempt at a task sees it.
struct ListingRules {
    bool admission_paused = false;
    Settings machines;
};
template <class Source>
ListingRules listing_rules(const Source& source) {
    return {*source.template settings<api::Settings>().admission_paused,
            source.template settings<Settings>()};
}
ListingFacts find_listing_facts(db::Transaction& tx, Time now, const Machine& machine,
                                const ListingRules& rules);

// The blockers in the order of the enumeration; empty when the machine can be listed.
std::vector<Blocker> listing_blockers(const Machine& machine, const ListingFacts& facts);

// What of a listed offer can be had, by the one rule that the catalog, quotes and reservations go
// by. Who rents, and with what, is judged by them besides.
enum class Sale {
    none,      // it is not shown
    untested,  // it is shown to who asks for such, and cannot be rented
    ready,
};
Sale sale_of(const Machine& machine, const ListingFacts& facts);
// An offer is sold from its beginning until a minute before its end.
inline constexpr Duration availability_left_min = std::chrono::seconds(60);
inline bool is_in_time(Time available_from, Time available_until, Time now) {
    return available_from <= now && available_until - now >= availability_left_min;
}

// Whether all of these blockers pass by themselves. The wish to be listed is then kept, and the
// worker admits the machine.
bool will_pass(const std::vector<Blocker>& blockers);

Finding finding_of(Blocker blocker);  // with what to do about it
// What the owner should know of although it blocks nothing.
std::vector<Finding> listing_warnings(db::Transaction& tx, const Machine& machine,
                                      const std::vector<Blocker>& blockers);
std::vector<Finding> findings_of(const std::vector<Blocker>& blockers);

}  // namespace berth::machines
