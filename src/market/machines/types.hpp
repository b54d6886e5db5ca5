// Enumerations and ids of machines and their offers, as they stand on the wire and in the database.
#pragma once

#include <boost/describe.hpp>

#include "agent_protocol/types.hpp"
#include "geo/geo.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::machines {

using OfferId = Id<struct OfferTag>;
using agent_protocol::CommandId;
using agent_protocol::Finding;
using agent_protocol::GateWish;
using agent_protocol::HostMode;
using agent_protocol::Reach;  // how a machine is reached; http::Reach is what may be dialled
using agent_protocol::RunId;
using agent_protocol::RuntimeKind;
using agent_protocol::Severity;
using geo::Continent;
using EnrollmentId = Id<struct EnrollmentTag>;
using MachineEventId = Id<struct MachineEventTag>;

enum class MachineState {
    UNQUALIFIED,
    AVAILABLE,
    ALLOCATED,
    CLEANING,
    DRAINING,
    UNLISTED,
    QUARANTINED
};
BOOST_DESCRIBE_ENUM(MachineState, UNQUALIFIED, AVAILABLE, ALLOCATED, CLEANING, DRAINING, UNLISTED,
                    QUARANTINED)

enum class OfferState { listed, unlisted, draining };
BOOST_DESCRIBE_ENUM(OfferState, listed, unlisted, draining)

// Renters' containers, or models that the host serves itself.
enum class Tier { container, inference };
BOOST_DESCRIBE_ENUM(Tier, container, inference)

enum class VerificationLevel { unverified, auto_verified, manually_verified };
BOOST_DESCRIBE_ENUM(VerificationLevel, unverified, auto_verified, manually_verified)

enum class AvailabilityClass { dedicated, interruptible };
BOOST_DESCRIBE_ENUM(AvailabilityClass, dedicated, interruptible)

enum class QualifyState { waiting, testing, passed, retrying, needs_attention };
BOOST_DESCRIBE_ENUM(QualifyState, waiting, testing, passed, retrying, needs_attention)

// Why a machine was put aside.
enum class QuarantineCause {
    host_lost,
    stop_unconfirmed,
    starts_failed,
    wipe_failed,
    wipe_timed_out,
    operator_,
};
BOOST_DESCRIBE_ENUM(QuarantineCause, host_lost, stop_unconfirmed, starts_failed, wipe_failed,
                    wipe_timed_out, operator_)

}  // namespace berth::machines
