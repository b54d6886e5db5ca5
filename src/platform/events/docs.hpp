// The page docs/events.md: how events are read, and every type with an example, from the registry.
#pragma once

#include <string>

#include "events/registry.hpp"

namespace berth::events {

std::string to_markdown(const Registry& registry);

}  // namespace berth::events
