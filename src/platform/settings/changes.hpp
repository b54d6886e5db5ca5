// Settings that operators changed while the service ran, as rows. Every change is audited.
#pragma once

#include "audit/audit.hpp"
#include "settings/registry.hpp"

namespace berth::settings {

// Becomes another with every change that commits.
std::int64_t revision(db::Transaction& tx);
StoredValues read_stored(db::Transaction& tx);

// Throws a Problem FORBIDDEN, with its reason, for a setting that is pinned.
void require_editable(const Registry& registry, const Entry& entry);

// Throws a Problem INVALID_INPUT for what is not a value of the setting.
void require_value(const Registry& registry, const Entry& entry, const std::string& value);

struct Change {
    std::string key;
    std::optional<std::string> value;  // none: back to the environment or the default
    std::optional<std::int64_t> expected_version = {};  // none: whatever it is
    audit::Actor actor;
    std::string reason;
    std::optional<RequestId> request = {};
};

// Throws a Problem: NOT_FOUND for what is no setting, FORBIDDEN for a pinned one, INVALID_INPUT for
// what is not a value of it, STALE_VERSION when it is at another version than expected.
// It ends the transaction's work: the audit event is its last statement.
Stored change(const Registry& registry, db::Context context, const Change& change);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::settings
