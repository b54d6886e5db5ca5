// What a manifest says of a machine, checked and put into its row.
#pragma once

#include "agent_protocol/types.hpp"
#include "machines/machine.hpp"
#include "machines/settings.hpp"

namespace berth::machines {

// INVALID_INPUT when the hash is not the manifest's, or its runtime may not run here.
void check_manifest(const agent_protocol::Manifest& manifest, std::string_view hash, Tier tier,
                    const Settings& settings);

// The columns that come from a manifest, and its hash.
void describe_by(const agent_protocol::Manifest& manifest, Machine& machine);

std::vector<std::string> gpu_uuids(const agent_protocol::Manifest& manifest);

}  // namespace berth::machines
