// The settings of the service, as operators read and change them. A change shows in every process
// within a second.
#pragma once

#include "admin/types.hpp"
#include "api/router.hpp"
#include "mail/outbox.hpp"
#include "settings/show.hpp"

namespace berth::admin {

enum class SettingSource { database, environment, default_ };
BOOST_DESCRIBE_ENUM(SettingSource, database, environment, default_)

enum class SettingCategory {
    branding,
    contact,
    money,
    mail,
    alerts,
    auth_providers,
    chain_access,
    operations,
};
BOOST_DESCRIBE_ENUM(SettingCategory, branding, contact, money, mail, alerts, auth_providers,
                    chain_access, operations)
constexpr std::string_view wire_name(SettingCategory category) {
    switch (category) {
        case SettingCategory::auth_providers: return "auth-providers";
        case SettingCategory::chain_access: return "chain-access";
        default: return "";
    }
}

struct SettingRow {
    std::string key;
    SettingCategory category{};
    std::string label;
    std::string help;
    bool secret = false;
    bool editable = false;
    wire::Nullable<std::string> pinned_reason;
    wire::Json value;
    SettingSource source{};
    wire::Count version;
    wire::Nullable<Time> updated_at;
    wire::Nullable<std::string> updated_by;
    std::string env;
};
BOOST_DESCRIBE_STRUCT(SettingRow, (),
                      (key, category, label, help, secret, editable, pinned_reason, value, source,
                       version, updated_at, updated_by, env))
constexpr auto wire_docs(const SettingRow*) {
    return std::to_array<wire::Doc>({
        {"key", "", "money.platform_fee_bps"},
        {"label", "", "Platform fee"},
        {"help", "What it is for.", "The share of each charge that the platform keeps."},
        {"secret", "Whether value says only {\"set\": true} or false.", "false"},
        {"editable", "False for what is set where the server is started.", "true"},
        {"pinned_reason", "Why it cannot be changed here; null when it can.", "null"},
        {"value", "", "1000"},
        {"source", "Where the value comes from.", "default"},
        {"version", "Counts the changes; to be sent as expected_version.", "0"},
        {"updated_at", "Null when it was never changed.", "null"},
        {"updated_by", "An account's id, or operator; null when it was never changed.", "null"},
        {"env", "The variable that it is read from at the start.", "BERTH_PLATFORM_FEE_BPS"},
    });
}

struct SettingsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;  // all of them when it is left out
};
BOOST_DESCRIBE_STRUCT(SettingsQuery, (), (cursor, limit))
constexpr auto wire_docs(const SettingsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor", "Where to go on: next_cursor of the page before. Left out for the first page."},
        {"limit", "How many items at most. Left out, with no cursor: all of them.", "50"},
    });
}

struct SettingPath {
    std::string key;
};
BOOST_DESCRIBE_STRUCT(SettingPath, (), (key))
constexpr auto wire_docs(const SettingPath*) {
    return std::to_array<wire::Doc>({
        {"key", "", "money.platform_fee_bps"},
    });
}

struct PutSetting {
    wire::Json value;
    wire::Count expected_version;
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(PutSetting, (), (value, expected_version, reason))
constexpr auto wire_docs(const PutSetting*) {
    return std::to_array<wire::Doc>({
        {"value", "Of the kind that the row shows.", "900"},
        api::expected_version_doc("0"),
        api::reason_doc("Lower fee for the launch."),
    });
}

struct ResetSetting {
    wire::Count expected_version;
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(ResetSetting, (), (expected_version, reason))
constexpr auto wire_docs(const ResetSetting*) {
    return std::to_array<wire::Doc>({
        api::expected_version_doc("1"),
        api::reason_doc("The launch is over."),
    });
}

class SettingsDesk {
public:
    // `start` is what the process was started with.
    SettingsDesk(const settings::Snapshot& start, const mail::Outbox& outbox);

    void add_routes(api::Router& router) const;

    api::Page<SettingRow> list(api::Call& call, const SettingsQuery& query) const;
    SettingRow put(api::Call& call, const SettingPath& path, const PutSetting& request) const;
    SettingRow reset(api::Call& call, const SettingPath& path, const ResetSetting& request) const;

private:
    struct Wish {
        std::optional<std::string> value;
        std::int64_t expected_version;
        std::string reason;
    };
    const settings::Entry& require_setting(const std::string& key) const;
    void require_narrow(api::Call& call, const settings::Entry& entry, const Wish& wish) const;
    SettingRow change(api::Call& call, const settings::Entry& entry, const Wish& wish) const;
    SettingRow row_now(db::Transaction& tx, const settings::Entry& entry) const;

    bool was_so_wide(api::Call& call, const settings::Entry& entry, const std::string& value) const;

    const settings::Registry& registry_;
    const settings::Given given_;
    const mail::Outbox& outbox_;
};

}  // namespace berth::admin
