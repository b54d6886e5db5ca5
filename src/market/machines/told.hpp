// What hosts, and operators, are told of machines and their offers. Which line of the table tells
// what is decided here; a test finds a line that tells nothing and is not among the silent ones.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "machines/states.hpp"

namespace berth::machines {

struct MachineStateFacts {
    MachineState state = MachineState::UNQUALIFIED;
    wire::Nullable<MachineState> previous_state;
    wire::Nullable<std::string> label;
    wire::Decimal version;
    wire::Nullable<QuarantineCause> cause;
};
BOOST_DESCRIBE_STRUCT(MachineStateFacts, (), (state, previous_state, label, version, cause))
constexpr auto wire_docs(const MachineStateFacts*) {
    return std::to_array<wire::Doc>({
        {"state", "The one that it came into; of one that is gone, its last.", "AVAILABLE"},
        {"previous_state", "The one that it was in; null of a new machine.", "UNLISTED"},
        {"label", "What its owner calls it; null without one.", "rack 4"},
        {"version", "Grows with every change of the machine.", "17"},
        {"cause", "Why it was put aside; null where it was not.", "null"},
    });
}

struct OfferStateFacts {
    MachineId machine_id;
    OfferState state = OfferState::unlisted;
    OfferState previous_state = OfferState::unlisted;
    wire::Decimal offer_version;
};
BOOST_DESCRIBE_STRUCT(OfferStateFacts, (), (machine_id, state, previous_state, offer_version))
constexpr auto wire_docs(const OfferStateFacts*) {
    return std::to_array<wire::Doc>({
        {"state", "The one that it came into.", "listed"},
        {"previous_state", "The one that it was in.", "unlisted"},
        {"offer_version", "The current one.", "3"},
    });
}

struct MachineTestFacts {
    RunId run_id;
    std::vector<std::string> findings;
    QualifyState state = QualifyState::passed;
    wire::Nullable<Time> retry_at;
};
BOOST_DESCRIBE_STRUCT(MachineTestFacts, (), (run_id, findings, state, retry_at))
constexpr auto wire_docs(const MachineTestFacts*) {
    return std::to_array<wire::Doc>({
        {"run_id", "Which test."},
        {"findings", "The codes of what was found.", "gpu.memory_too_small"},
        {"state", "How the machine stands with its test now.", "retrying"},
        {"retry_at", "When it is tested again by itself; null when it is not.", "null"},
    });
}

struct ListingRejectedFacts {
    std::vector<std::string> findings;
};
BOOST_DESCRIBE_STRUCT(ListingRejectedFacts, (), (findings))
constexpr auto wire_docs(const ListingRejectedFacts*) {
    return std::to_array<wire::Doc>(
        {{"findings", "The codes of what stands in the way.", "TEST_NOT_PASSED"}});
}

struct HealthFacts {
    std::string kind;
    wire::Nullable<std::string> pci_address;
    wire::Nullable<wire::Count> code;
};
BOOST_DESCRIBE_STRUCT(HealthFacts, (), (kind, pci_address, code))
constexpr auto wire_docs(const HealthFacts*) {
    return std::to_array<wire::Doc>({
        {"kind", "GPU_XID, GPU_ECC, GPU_LOST or GPU_BACK.", "GPU_XID"},
        {"pci_address", "Which device; null when it was not said.", "0000:01:00.0"},
        {"code", "Of an Xid; null otherwise.", "79"},
    });
}

struct SilenceFacts {
    Time last_healthy_at;
};
BOOST_DESCRIBE_STRUCT(SilenceFacts, (), (last_healthy_at))
constexpr auto wire_docs(const SilenceFacts*) {
    return std::to_array<wire::Doc>({{"last_healthy_at", "When its agent was last heard."}});
}

struct QuarantineFacts {
    AccountId owner;
    wire::Nullable<QuarantineCause> cause;
    bool held = false;
};
BOOST_DESCRIBE_STRUCT(QuarantineFacts, (), (owner, cause, held))
constexpr auto wire_docs(const QuarantineFacts*) {
    return std::to_array<wire::Doc>({
        {"owner", "Whose machine it is."},
        {"cause", "", "host_lost"},
        {"held", "Whether only an operator can let it come back."},
    });
}

using MachineKind = events::Kind<MachineStateFacts>;
inline constexpr MachineKind machine_enrolled{
    "machine.enrolled", "machine", events::Audience::host, "A machine came in.",
    R"({"state":"UNQUALIFIED","previous_state":null,"version":"1"})"};
inline constexpr MachineKind machine_unqualified{
    "machine.unqualified", "machine", events::Audience::host, "It is to be tested.",
    R"({"state":"UNQUALIFIED","previous_state":"QUARANTINED",)"
    R"("version":"24"})"};
inline constexpr MachineKind machine_available{
    "machine.available", "machine", events::Audience::host, "It can be rented.",
    R"({"state":"AVAILABLE","previous_state":"UNLISTED","version":"17"})"};
inline constexpr MachineKind machine_allocated{
    "machine.allocated", "machine", events::Audience::host, "A rental has it.",
    R"({"state":"ALLOCATED","previous_state":"AVAILABLE","version":"18"})"};
inline constexpr MachineKind machine_cleaning{
    "machine.cleaning", "machine", events::Audience::host,
    "A rental is over, and what it left is wiped.",
    R"({"state":"CLEANING","previous_state":"ALLOCATED","version":"19"})"};
inline constexpr MachineKind machine_draining{
    "machine.draining", "machine", events::Audience::host,
    "It is not offered again after its present rental.",
    R"({"state":"DRAINING","previous_state":"ALLOCATED","version":"19"})"};
inline constexpr MachineKind machine_unlisted{
    "machine.unlisted", "machine", events::Audience::host, "It is not for rent.",
    R"({"state":"UNLISTED","previous_state":"UNQUALIFIED","version":"16"})"};
inline constexpr MachineKind machine_quarantined{
    "machine.quarantined",
    "machine",
    events::Audience::host,
    "It was put aside: nothing is rented on it until it was cleaned and tested.",
    R"({"state":"QUARANTINED","previous_state":"ALLOCATED",)"
    R"("version":"22","cause":"host_lost"})",
    events::Mail::now};
inline constexpr MachineKind machine_retired{
    "machine.retired", "machine", events::Audience::host, "It is gone for good.",
    R"({"state":"UNLISTED","previous_state":"UNLISTED","version":"31"})"};
inline constexpr events::Kind<OfferStateFacts> offer_listed{
    "offer.listed", "offer", events::Audience::host, "The offer is for sale.",
    R"({"state":"listed","previous_state":"unlisted"})"};
inline constexpr events::Kind<OfferStateFacts> offer_unlisted{
    "offer.unlisted", "offer", events::Audience::host, "The offer is not for sale any more.",
    R"({"state":"unlisted","previous_state":"draining"})"};
inline constexpr events::Kind<OfferStateFacts> offer_draining{
    "offer.draining", "offer", events::Audience::host, "The offer ends with the present rental.",
    R"({"state":"draining","previous_state":"listed"})"};
inline constexpr events::Kind<MachineTestFacts> machine_test_passed{
    "machine.test_passed", "machine", events::Audience::host, "The machine test was passed.",
    R"({"findings":[],"state":"passed"})"};
inline constexpr events::Kind<MachineTestFacts> machine_test_failed{
    "machine.test_failed",
    "machine",
    events::Audience::host,
    "The machine test was not passed.",
    R"({"findings":["gpu.memory"],"state":"retrying",)"
    R"("retry_at":"2026-01-15T13:00:00Z"})",
    events::Mail::now};
inline constexpr events::Kind<ListingRejectedFacts> machine_listing_rejected{
    "machine.listing_rejected", "machine", events::Audience::host,
    "It was to be listed, and something stands in the way.", R"({"findings":["TEST_NOT_PASSED"]})"};
inline constexpr events::Kind<HealthFacts> machine_health{
    "machine.health", "machine", events::Audience::host,
    "Its agent told of trouble with a GPU, or of its end. Of each kind once a minute at most.",
    R"({"kind":"GPU_XID"})"};
inline constexpr events::Kind<SilenceFacts> machine_silent{
    "machine.silent",
    "machine",
    events::Audience::host,
    "Its agent was not heard for 90 seconds.",
    R"({"last_healthy_at":"2026-01-15T12:30:00Z"})",
    events::Mail::now};
inline constexpr events::Kind<SilenceFacts> machine_heard{
    "machine.heard", "machine", events::Audience::host, "Its agent is heard again.",
    R"({"last_healthy_at":"2026-01-15T12:30:01Z"})"};
inline constexpr events::Kind<QuarantineFacts> operations_quarantine{
    "operations.machine_quarantined", "machine", events::Audience::operators,
    "A machine was put aside.", R"({"cause":"host_lost","held":false})"};

std::vector<events::DeclaredKind> event_kinds();

// What the codes of findings are told as: some, where there are many, and short, so that they fit
// into an event. Codes are words of our own, in ASCII.
std::vector<std::string> codes_of(const std::vector<Finding>& findings);

// Whether a line of the table tells something, in itself or of its offer.
bool tells(const Transition& line);
// Lines of which nobody needs to hear.
bool is_silent(const Transition& line);

// For apply(), once it is done: `machine` as it is now, and what it was before.
struct Before {
    MachineState state;
    std::optional<OfferState> offer_state;
};
void tell_change(const db::Context& context, const Machine& machine, const Before& before,
                 MachineEvent event);
void tell_enrolled(const db::Context& context, const Machine& machine);

}  // namespace berth::machines
