// Settings for people and programs that look at them.
#pragma once

#include "settings/registry.hpp"

namespace berth::settings {

// What `berthd settings` prints: a line for each. Secrets are told as set or not set.
std::string to_table(const Snapshot& snapshot);

// A JSON array with a row for each, as operators' programs read it. Neither a secret nor a value of
// the root of trust is in it: those say {"set": true} or false.
std::string to_json(const Snapshot& snapshot);

// The page docs/settings.md.
std::string to_markdown(const Registry& registry);

}  // namespace berth::settings
