// What host agents and the server say to each other, protocol version 1: one struct per message,
// the same on both sides. docs/agent-protocol.md tells the story these are the words of, and
// docs/agent-messages.md, made from them, has each in full.
#pragma once

#include "agent_protocol/events.hpp"
#include "agent_protocol/evidence.hpp"
#include "agent_protocol/gate.hpp"
#include "agent_protocol/heartbeat.hpp"
#include "agent_protocol/manifest.hpp"
#include "agent_protocol/orders.hpp"
#include "agent_protocol/payloads.hpp"
#include "agent_protocol/qualification.hpp"
#include "agent_protocol/standing.hpp"
