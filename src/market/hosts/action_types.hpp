// Requests and responses about machines, as operators command them.
#pragma once

#include "api/audited.hpp"
#include "audit/audit.hpp"
#include "machines/types.hpp"

namespace berth::hosts {

enum class MachineAction { quarantine, release, verify, unverify, retire };
BOOST_DESCRIBE_ENUM(MachineAction, quarantine, release, verify, unverify, retire)

struct MachineActionWish {
    MachineAction action = MachineAction::quarantine;
    api::Reason reason;
    wire::Text<1, 100> expected_version;
};
BOOST_DESCRIBE_STRUCT(MachineActionWish, (), (action, reason, expected_version))
constexpr auto wire_docs(const MachineActionWish*) {
    return std::to_array<wire::Doc>({
        {"action",
         "quarantine puts the machine aside and stops its job; release lets it come back; verify "
         "and unverify say whether an operator vouches for it; retire stops its job and takes it "
         "off this service for good.",
         "quarantine"},
        {"reason", "Why, for the record.", "The host asked for it"},
        {"expected_version", "The machine's version, as it was looked at.", "17"},
    });
}

struct MachineFieldChange {
    std::string field;
    wire::Nullable<std::string> from;
    wire::Nullable<std::string> to;
};
BOOST_DESCRIBE_STRUCT(MachineFieldChange, (), (field, from, to))
constexpr auto wire_docs(const MachineFieldChange*) {
    return std::to_array<wire::Doc>({
        {"field", "What changed.", "state"},
        {"from", "What it was.", "AVAILABLE"},
        {"to", "What it is now.", "QUARANTINED"},
    });
}

struct MachineActionTaken {
    MachineId machine_id;
    wire::Decimal version;
    MachineAction action = MachineAction::quarantine;
    std::vector<MachineFieldChange> changed;
    std::string consequence;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(MachineActionTaken, (),
                      (machine_id, version, action, changed, consequence, audit_event_id))
constexpr auto wire_docs(const MachineActionTaken*) {
    return std::to_array<wire::Doc>({
        {"version", "The machine's, after the command.", "18"},
        {"changed", "What is another now; empty when all was so already."},
        {"consequence", "What follows from it, in a sentence.",
         "The machine is in quarantine until an operator releases it."},
        {"audit_event_id", "The record of it."},
    });
}

}  // namespace berth::hosts
