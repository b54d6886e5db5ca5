// Names of images, as both sides judge them.
#pragma once

#include <string_view>

namespace berth::agent_protocol {

// Whether a name says which registry it is of: its first part has a dot or a port, or is
// `localhost`. A name without one means another image on every host, and none at all where the
// container engine was told of no registries to search.
bool names_registry(std::string_view image);

inline constexpr std::string_view no_registry =
    "must begin with its registry, as in docker.io/library/python@sha256:…";

}  // namespace berth::agent_protocol
