// How a machine is reached, and the ids of what stands in between.
#pragma once

#include <boost/describe/enum.hpp>

#include "base/ids.hpp"

namespace berth::agent_protocol {

using GateId = Id<struct GateTag>;
using DoorId = Id<struct DoorTag>;
// Both are 128 random bits in the spelling of a UUID: whoever knows one may use it.
using LinkId = Id<struct LinkTag>;
using CallId = Id<struct CallTag>;

// At ports of its own, or by the doors of a gate.
enum class Reach { direct, gate };
BOOST_DESCRIBE_ENUM(Reach, direct, gate)

// What is behind a door: the way in of a job, one of its http endpoints, or the endpoint of a
// machine test.
enum class DoorKind { ssh, http, test };
BOOST_DESCRIBE_ENUM(DoorKind, ssh, http, test)

}  // namespace berth::agent_protocol
