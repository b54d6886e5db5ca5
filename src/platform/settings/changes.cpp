#include "settings/changes.hpp"

#include "base/problem.hpp"

namespace berth::settings {
namespace {

constexpr db::Migration history[] = {
    {.feature = "settings",
     .number = 1,
     .sql = "CREATE TABLE settings ("
            "  key @text NOT NULL PRIMARY KEY,"
            "  value @text,"
            "  version @int NOT NULL CHECK (version > 0),"
            "  updated_at @int NOT NULL,"
            "  updated_by @text NOT NULL"
            ") @strict;"},
};

constexpr std::string_view revision_sql =
    "SELECT CAST(COALESCE(SUM(version), 0) AS BIGINT) FROM settings";
struct SettingRow {
    std::string key;
    std::optional<std::string> value;
    std::int64_t version = 0;
    Time updated_at;
    std::string updated_by;
};
BOOST_DESCRIBE_STRUCT(SettingRow, (), (key, value, version, updated_at, updated_by))
const db::Query<SettingRow> all_sql("SELECT {} FROM settings");

// Of the row as it was read: whoever changes it at the same moment comes first or second, and the
// second is told.
struct Before {
    std::optional<std::string> value;
    std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Before, (), (value, version))
const db::Query<Before> one_sql("SELECT {} FROM settings WHERE key = $1");
constexpr std::string_view insert_sql =
    "INSERT INTO settings (key, value, version, updated_at, updated_by) "
    "VALUES ($1, $2, 1, $3, $4) ON CONFLICT DO NOTHING";
constexpr std::string_view update_sql =
    "UPDATE settings SET value = $2, version = version + 1, updated_at = $3, updated_by = $4 "
    "WHERE key = $1 AND version = $5";

}  // namespace

const std::span<const db::Migration> migrations = history;

void require_editable(const Registry& registry, const Entry& entry) {
    const About& about = registry.initial(entry).about();
    if (!about.pinned.empty())
        throw Problem(Code::forbidden, entry.key + ": is pinned. " + std::string(about.pinned));
}

void require_value(const Registry& registry, const Entry& entry, const std::string& value) {
    try {
        registry.check_value(entry, value);
    } catch (const BadValue& bad) {
        throw Problem(Code::invalid_input, entry.key + ": " + bad.what());
    }
}

// Versions only ever grow, each change by one, so their sum tells every change.
std::int64_t revision(db::Transaction& tx) {
    return tx.fetch_value<std::int64_t>(revision_sql).value();
}

StoredValues read_stored(db::Transaction& tx) {
    StoredValues values;
    for (SettingRow& row : tx.fetch(all_sql))
        values[row.key] = {std::move(row.value), row.version, row.updated_at,
                           std::move(row.updated_by)};
    return values;
}

Stored change(const Registry& registry, db::Context context, const Change& wish) {
    const Entry* entry = registry.find(wish.key);
    if (entry == nullptr) throw Problem(Code::not_found, wish.key + ": is not a setting");
    require_editable(registry, *entry);
    if (wish.value) require_value(registry, *entry, *wish.value);

    db::Transaction& tx = context.tx;
    const Time now = context.now;
    const Before before = tx.fetch_one(one_sql, entry->key).value_or(Before{});
    const std::string who = wish.actor.account ? to_string(*wish.actor.account)
                                               : std::string(audit::name(wish.actor.kind));
    const bool expected = wish.expected_version.value_or(before.version) == before.version;
    const auto write = [&] {
        return before.version == 0
                   ? tx.run(insert_sql, entry->key, wish.value, now, who).affected == 1
                   : tx.run(update_sql, entry->key, wish.value, now, who, before.version)
                             .affected == 1;
    };
    if (!expected || !write())
        throw Problem(Code::stale_version,
                      entry->key + ": was changed meanwhile; look at it again");
    audit::record(context, {.actor = wish.actor,
                            .action = wish.value ? "change_setting" : "reset_setting",
                            .target = {"setting", entry->key},
                            .reason = wish.reason,
                            .changes = {{"value", before.value, wish.value}},
                            .request = wish.request});
    return {wish.value, before.version + 1, now, who};
}

}  // namespace berth::settings
