#include "machines/listing.hpp"

#include <algorithm>

#include "accounts/accounts.hpp"
#include "base/one_of.hpp"
#include "machines/gpus.hpp"
#include "machines/states.hpp"

namespace berth::machines {
namespace {

bool blocks(Blocker blocker, const Machine& machine, const ListingFacts& facts) {
    switch (blocker) {
        case Blocker::NO_OFFER: return machine.offer_version == 0;
        case Blocker::OFFER_EXPIRED:
            return machine.available_until && *machine.available_until <= facts.now;
        case Blocker::NOT_QUALIFIED:
            return machine.state == MachineState::UNQUALIFIED ||
                   machine.qualify_state != QualifyState::passed;
        case Blocker::HEARTBEAT_STALE:
            return !facts.last_healthy_at || facts.now - *facts.last_healthy_at > heartbeat_fresh ||
                   *facts.last_healthy_at < facts.heard_since;
        case Blocker::MANIFEST_CHANGED:
            return machine.tested_manifest_hash &&
                   *machine.tested_manifest_hash != machine.manifest_hash;
        case Blocker::MODE_NOT_OFFERABLE: return machine.offerable == false;
        case Blocker::CLASS_MODE_MISMATCH:
            return machine.offer_version > 0 &&
                   !fits_mode(machine.availability_class.value_or(AvailabilityClass::dedicated),
                              machine.mode);
        case Blocker::GPU_MEMORY_SHARED: return machine.gpu_memory_shared;
        case Blocker::QUARANTINED: return machine.state == MachineState::QUARANTINED;
        case Blocker::HOST_CAPABILITY_OFF: return !facts.host_capability;
        case Blocker::HOST_SUSPENDED: return facts.host_suspended;
        case Blocker::ADMISSION_PAUSED: return facts.admission_paused;
        case Blocker::GPU_DUPLICATE: return facts.gpu_duplicate;
        case Blocker::WIPE_UNAVAILABLE: return machine.wipe_available == false;
        case Blocker::RUNTIME_NOT_ALLOWED: return !facts.runtime_allowed;
        case Blocker::GPU_LOST: return machine.has_lost_gpu();
        case Blocker::DISK_TOO_SMALL: return facts.disk_too_small;
    }
    return true;
}

std::string_view message_of(Blocker blocker) {
    switch (blocker) {
        case Blocker::NO_OFFER: return "No offer was published: set a price and a time first.";
        case Blocker::OFFER_EXPIRED:
            return "The offer's available_until has passed: publish a version with a later one.";
        case Blocker::NOT_QUALIFIED:
            return "The machine has not passed its test: it runs by itself while the agent is "
                   "connected, and auto_qualify says how it stands.";
        case Blocker::HEARTBEAT_STALE:
            return "The agent has not been heard from for 90 seconds: see that it runs and "
                   "reaches this service.";
        case Blocker::MANIFEST_CHANGED:
            return "The hardware or its drivers changed since the last test: the machine is "
                   "tested again by itself.";
        case Blocker::MODE_NOT_OFFERABLE:
            return "The host says that it cannot be rented now: host_mode.reasons says why.";
        case Blocker::CLASS_MODE_MISMATCH:
            return "An idle or co-listed host sells interruptible offers only, and a dedicated "
                   "host dedicated ones: change the offer's class or the host's mode.";
        case Blocker::GPU_MEMORY_SHARED:
            return "A GPU shares its memory with the system: only GPUs with memory of their own "
                   "can be listed.";
        case Blocker::QUARANTINED:
            return "The machine is in quarantine: it comes back when its last job was cleaned, or "
                   "by an operator.";
        case Blocker::HOST_CAPABILITY_OFF:
            return "The account may not host: ask the operators to turn hosting on.";
        case Blocker::HOST_SUSPENDED: return "The account is suspended: write to the operators.";
        case Blocker::ADMISSION_PAUSED:
            return "New listings are paused by the operators: try again later.";
        case Blocker::GPU_DUPLICATE:
            return "A machine that is in service passed its test with the same GPU before this one "
                   "did: retire that one if it is yours, or leave it switched off; write to the "
                   "operators if it is not.";
        case Blocker::WIPE_UNAVAILABLE:
            return "GPU memory could not be wiped in the last test: see the check cleanup.wipe.";
        case Blocker::RUNTIME_NOT_ALLOWED:
            return "This service does not take machines of this runtime: run the agent with "
                   "containers.";
        case Blocker::GPU_LOST:
            return "A GPU no longer answers on its bus: restart the host. The agent says when the "
                   "card is back, and a passed test shows it, too.";
        case Blocker::DISK_TOO_SMALL:
            return "The offer includes more disk than the last test found free: publish a version "
                   "with a smaller included_disk_gib, or free disk and ask for the test again.";
    }
    return {};
}

constexpr std::string_view claimed_message =
    "Another machine names a GPU of this one. The one that first passed its test with it counts "
    "while it is in service; this one is not blocked by it now. Write to the operators if that "
    "machine is not yours.";

}  // namespace

ListingFacts find_listing_facts(db::Transaction& tx, Time now, const Machine& machine,
                                const ListingRules& rules) {
    const auto owner = accounts::find_account(tx, machine.owner);
    return {.now = now,
            .last_healthy_at = find_last_healthy(tx, machine.machine_id),
            .host_capability = owner && owner->host_capability,
            .host_suspended = owner && owner->suspended,
            .admission_paused = rules.admission_paused,
            .gpu_duplicate = is_duplicate(tx, machine.machine_id, now),
            .runtime_allowed = is_allowed(rules.machines, machine.runtime_kind)};
}

bool fits_mode(AvailabilityClass sold, std::optional<HostMode> mode) {
    const bool is_dedicated = mode.value_or(HostMode::dedicated) == HostMode::dedicated;
    return (sold == AvailabilityClass::dedicated) == is_dedicated;
}

std::vector<Blocker> listing_blockers(const Machine& machine, const ListingFacts& facts) {
    std::vector<Blocker> found;
    for (const EnumName& name : EnumTable<Blocker>::names)
        if (const auto blocker = static_cast<Blocker>(name.value); blocks(blocker, machine, facts))
            found.push_back(blocker);
    return found;
}

Sale sale_of(const Machine& machine, const ListingFacts& facts) {
    const bool is_shown = !machine.retired_at && machine.offer_state == OfferState::listed &&
                          is_one_of(machine.state, showable_states);
    if (!is_shown) return Sale::none;
    const auto blockers = listing_blockers(machine, facts);
    const bool needs_test = machine.state == MachineState::UNQUALIFIED ||
                            machine.verification_level == VerificationLevel::unverified;
    if (blockers.empty() && !needs_test) return Sale::ready;
    const bool only_untested = std::all_of(blockers.begin(), blockers.end(), [](Blocker blocker) {
        return blocker == Blocker::NOT_QUALIFIED || blocker == Blocker::MANIFEST_CHANGED;
    });
    return only_untested ? Sale::untested : Sale::none;
}

bool will_pass(const std::vector<Blocker>& blockers) {
    return std::all_of(blockers.begin(), blockers.end(), [](Blocker blocker) {
        return blocker == Blocker::NOT_QUALIFIED || blocker == Blocker::HEARTBEAT_STALE;
    });
}

Finding finding_of(Blocker blocker) {
    return {std::string(enum_name(blocker)), Severity::blocker, std::string(message_of(blocker))};
}

std::vector<Finding> listing_warnings(db::Transaction& tx, const Machine& machine,
                                      const std::vector<Blocker>& blockers) {
    const bool is_duplicate =
        std::find(blockers.begin(), blockers.end(), Blocker::GPU_DUPLICATE) != blockers.end();
    if (is_duplicate || !is_claimed_elsewhere(tx, machine.machine_id)) return {};
    return {{std::string(enum_name(Blocker::GPU_DUPLICATE)), Severity::warning,
             std::string(claimed_message)}};
}

std::vector<Finding> findings_of(const std::vector<Blocker>& blockers) {
    std::vector<Finding> findings;
    for (const Blocker blocker : blockers) findings.push_back(finding_of(blocker));
    return findings;
}

}  // namespace berth::machines
