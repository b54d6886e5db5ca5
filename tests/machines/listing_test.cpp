#include <gtest/gtest.h>

#include "machines/listing.hpp"

namespace berth::test {
namespace {

using namespace machines;

constexpr Time now{1'000'000'000};

struct Case {
    Machine machine;
    ListingFacts facts;
};

// A machine that nothing keeps from being listed.
Case ready() {
    Case it;
    it.machine.state = MachineState::UNLISTED;
    it.machine.qualify_state = QualifyState::passed;
    it.machine.offer_version = 1;
    it.machine.offer_state = OfferState::unlisted;
    it.machine.available_until = now + std::chrono::hours(1);
    it.machine.manifest_hash = "a";
    it.machine.tested_manifest_hash = "a";
    it.machine.mode = HostMode::dedicated;
    it.machine.offerable = true;
    it.machine.wipe_available = true;
    it.facts.now = now;
    it.facts.last_healthy_at = now - std::chrono::seconds(90);
    return it;
}

TEST(ListingBlockers, AReadyMachineHasNone) {
    const Case it = ready();
    EXPECT_TRUE(listing_blockers(it.machine, it.facts).empty());
}

TEST(ListingBlockers, EachReasonAloneIsFoundAlone) {
    struct Row {
        Blocker expected;
        void (*spoil)(Case&);
    };
    const Row rows[] = {
        {Blocker::NO_OFFER,
         [](Case& it) {
             it.machine.offer_version = 0;
             it.machine.available_until.reset();
         }},
        {Blocker::OFFER_EXPIRED, [](Case& it) { it.machine.available_until = now; }},
        {Blocker::NOT_QUALIFIED, [](Case& it) { it.machine.state = MachineState::UNQUALIFIED; }},
        {Blocker::NOT_QUALIFIED,
         [](Case& it) { it.machine.qualify_state = QualifyState::retrying; }},
        {Blocker::HEARTBEAT_STALE,
         [](Case& it) { it.facts.last_healthy_at = now - std::chrono::microseconds(90'000'001); }},
        {Blocker::HEARTBEAT_STALE, [](Case& it) { it.facts.last_healthy_at.reset(); }},
        {Blocker::MANIFEST_CHANGED, [](Case& it) { it.machine.manifest_hash = "b"; }},
        {Blocker::MODE_NOT_OFFERABLE, [](Case& it) { it.machine.offerable = false; }},
        {Blocker::CLASS_MODE_MISMATCH, [](Case& it) { it.machine.mode = HostMode::idle; }},
        {Blocker::CLASS_MODE_MISMATCH,
         [](Case& it) { it.machine.availability_class = AvailabilityClass::interruptible; }},
        {Blocker::CLASS_MODE_MISMATCH,
         [](Case& it) {
             it.machine.availability_class = AvailabilityClass::interruptible;
             it.machine.mode.reset();
         }},
        {Blocker::GPU_MEMORY_SHARED, [](Case& it) { it.machine.gpu_memory_shared = true; }},
        {Blocker::QUARANTINED, [](Case& it) { it.machine.state = MachineState::QUARANTINED; }},
        {Blocker::HOST_CAPABILITY_OFF, [](Case& it) { it.facts.host_capability = false; }},
        {Blocker::HOST_SUSPENDED, [](Case& it) { it.facts.host_suspended = true; }},
        {Blocker::ADMISSION_PAUSED, [](Case& it) { it.facts.admission_paused = true; }},
        {Blocker::GPU_DUPLICATE, [](Case& it) { it.facts.gpu_duplicate = true; }},
        {Blocker::GPU_LOST, [](Case& it) { it.machine.gpus_lost = R"(["0000:01:00.0"])"; }},
        {Blocker::WIPE_UNAVAILABLE, [](Case& it) { it.machine.wipe_available = false; }},
        {Blocker::RUNTIME_NOT_ALLOWED, [](Case& it) { it.facts.runtime_allowed = false; }},
        {Blocker::DISK_TOO_SMALL, [](Case& it) { it.facts.disk_too_small = true; }},
    };
    std::vector<bool> tried(EnumTable<Blocker>::names.size());
    for (const Row& row : rows) {
        Case it = ready();
        row.spoil(it);
        EXPECT_EQ(listing_blockers(it.machine, it.facts), std::vector{row.expected})
            << enum_name(row.expected);
        EXPECT_FALSE(finding_of(row.expected).message.empty());
        tried[static_cast<std::size_t>(row.expected)] = true;
    }
    EXPECT_EQ(std::count(tried.begin(), tried.end(), false), 0);
}

TEST(ListingBlockers, AnIdleHostSellsInterruptibleTime) {
    Case it = ready();
    it.machine.mode = HostMode::colisted;
    it.machine.availability_class = AvailabilityClass::interruptible;
    EXPECT_TRUE(listing_blockers(it.machine, it.facts).empty());
}

TEST(ListingBlockers, OnlyTheTestAndTheHeartbeatPassByThemselves) {
    EXPECT_TRUE(will_pass({Blocker::NOT_QUALIFIED, Blocker::HEARTBEAT_STALE}));
    EXPECT_FALSE(will_pass({Blocker::NOT_QUALIFIED, Blocker::QUARANTINED}));
    EXPECT_TRUE(will_pass({}));
}

}  // namespace
}  // namespace berth::test
