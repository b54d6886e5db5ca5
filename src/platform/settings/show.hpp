// Settings for people and programs that look at them.
#pragma once

#include "settings/registry.hpp"

namespace berth::settings {

// What `berthd settings` prints: a line for each. Secrets are told as set or not set.
std::string to_table(const Snapshot& snapshot);

// One setting as operators and their programs read it. Neither a secret nor a value of the root of
// trust is in it: those say {"set": true} or false.
struct Row {
    std::string key;
    std::string category;
    std::string label;
    std::string help;
    bool secret = false;
    bool editable = false;
    std::optional<std::string> pinned_reason = {};
    std::string value_json;
    std::string source;
    std::int64_t version = 0;
    std::optional<Time> updated_at = {};
    std::optional<std::string> updated_by = {};
    std::string env;
};
Row row_of(const Snapshot& snapshot, const Entry& entry);

// A JSON array with a row for each.
std::string to_json(const Snapshot& snapshot);

// The page docs/settings.md.
std::string to_markdown(const Registry& registry);

}  // namespace berth::settings
