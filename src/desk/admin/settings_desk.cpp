#include "admin/settings_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admin/told.hpp"
#include "audit/events.hpp"
#include "base/check.hpp"
#include "four_eyes/four_eyes.hpp"
#include "settings/changes.hpp"
#include "transfers/settlement.hpp"

namespace berth::admin {
namespace {

constexpr std::array<std::string_view, 2> pauses{"operations.admission_paused",
                                                 transfers::payouts_paused_key};

SettingRow shown(const settings::Row& row) {
    const auto category = parse_enum<SettingCategory>(row.category);
    const auto source = parse_enum<SettingSource>(row.source);
    require(category && source, "a setting's category and source are words of the wire");
    return {row.key,        *category,         row.label,        row.help, row.secret,
            row.editable,   row.pinned_reason, {row.value_json}, *source,  {row.version},
            row.updated_at, row.updated_by,    row.env};
}

// A value is sent as the kind of JSON that the row shows: a number, true or false, or a text; a
// list may also be an array of texts.
std::string value_text(const settings::Field& field, const std::string& json) {
    const bool as_text = field.json().starts_with('"');
    const auto refuse = [&] {
        return Problem(Code::invalid_input,
                       as_text ? "body.value: must be a string"
                               : "body.value: must be of the kind that the setting shows");
    };
    if (json.starts_with('"')) {
        if (!as_text) throw refuse();
        return wire::decode<std::string>(json, "body.value");
    }
    if (json.starts_with('[') && as_text) {
        std::string text;
        for (const auto& item : wire::decode<std::vector<std::string>>(json, "body.value"))
            text += (text.empty() ? "" : ",") + item;
        return text;
    }
    const bool truth = json == "true" || json == "false";
    const bool number = !json.empty() && json.find_first_not_of("-0123456789") == json.npos;
    if (as_text || (field.is_flag() ? !truth : !number)) throw refuse();
    return json;
}

// Settings that keep operators and thieves within bounds. Who widens one gets power by it, and
// waits for a second admin; narrowing is done at once. Going back to what was in force within the
// last day gives nobody power, so that one who narrows everything does not stop the market: but
// for the brake, which one admin pulls against another.
struct Bound {
    std::string_view key;
    enum class Wider { more, less } wider;
    bool is_brake = false;
};
constexpr Bound bounds[] = {
    {"money.payouts_account_day_max_micro", Bound::Wider::more},
    {"money.payouts_day_max_micro", Bound::Wider::more},
    {"money.address_cooling_hours", Bound::Wider::less},
    {"money.payouts_paused", Bound::Wider::less, true},
    {"money.payout_delay_hours", Bound::Wider::less},
    {"money.platform_fee_bps", Bound::Wider::more},
    {"money.gas_fee_max_gwei", Bound::Wider::more},
    {"operations.four_eyes_limit_micro", Bound::Wider::more},
    {"operations.recovery_wait_hours", Bound::Wider::less},
    {"operations.erase_after_days", Bound::Wider::less},
};

// As a number; what is on is more than what is off.
std::int64_t amount_of(const std::string& value) {
    if (value == "true" || value == "false") return value == "true" ? 1 : 0;
    const auto number = parse_decimal(value);
    require(number.has_value(), "what bounds operators is a number, or on or off");
    return *number;
}

const Bound* find_bound(std::string_view key) {
    const auto found = std::find_if(std::begin(bounds), std::end(bounds),
                                    [&](const Bound& bound) { return bound.key == key; });
    return found == std::end(bounds) ? nullptr : found;
}

bool widens(const Bound& bound, const std::string& from, const std::string& to) {
    const std::int64_t before = amount_of(from);
    const std::int64_t after = amount_of(to);
    return bound.wider == Bound::Wider::more ? after > before : after < before;
}

constexpr auto goes_back_within = std::chrono::hours(24);
constexpr std::int64_t changes_looked_at = 100;

// What a process was started with beside the defaults, out of a snapshot that no database was asked
// for.
settings::Given given_of(const settings::Snapshot& start) {
    settings::Given given;
    for (const settings::Entry& entry : start.registry().entries())
        if (start.source(entry) == settings::Source::environment)
            given[entry.key] = start.field(entry).text();
    return given;
}

}  // namespace

SettingsDesk::SettingsDesk(const settings::Snapshot& start, const mail::Outbox& outbox)
    : registry_(start.registry()), given_(given_of(start)), outbox_(outbox) {}

const settings::Entry& SettingsDesk::require_setting(const std::string& key) const {
    const settings::Entry* entry = registry_.find(key);
    if (entry == nullptr) throw Problem(Code::not_found, "no such setting");
    return *entry;
}

SettingRow SettingsDesk::row_now(db::Transaction& tx, const settings::Entry& entry) const {
    return shown(settings::row_of(*registry_.snapshot(given_, settings::read_stored(tx)), entry));
}

// Read from the database, not from what this process has taken up: an operator sees the version
// that the next change is held to.
api::Page<SettingRow> SettingsDesk::list(api::Call& call, const SettingsQuery& query) const {
    const auto now = registry_.snapshot(given_, settings::read_stored(call.tx()));
    std::vector<SettingRow> rows;
    for (const settings::Entry& entry : registry_.entries())
        rows.push_back(shown(settings::row_of(*now, entry)));
    if (!query.limit && !query.cursor) return {std::move(rows), {}};
    const api::Pager pager(call.cursors, {"settings", ""}, query);
    const auto last = std::find_if(rows.begin(), rows.end(),
                                   [&](const SettingRow& row) { return row.key == pager.after(); });
    if (last != rows.end()) rows.erase(rows.begin(), std::next(last));
    return pager.page(
        rows, [](const SettingRow& row) { return row.key; },
        [](const SettingRow& row) { return row; });
}

SettingRow SettingsDesk::put(api::Call& call, const SettingPath& path,
                             const PutSetting& request) const {
    const settings::Entry& entry = require_setting(path.key);
    std::string value;
    const settings::Field& initial = registry_.initial(entry);
    if (initial.about().pinned.empty()) {
        value = value_text(initial, request.value.text);
        settings::require_value(registry_, entry, value);
    }
    call.require_step_up();
    settings::require_editable(registry_, entry);
    return change(call, entry, {value, request.expected_version.value, request.reason.value});
}

SettingRow SettingsDesk::reset(api::Call& call, const SettingPath& path,
                               const ResetSetting& request) const {
    const settings::Entry& entry = require_setting(path.key);
    call.require_step_up();
    return change(call, entry,
                  {std::nullopt, request.expected_version.value, request.reason.value});
}

SettingRow SettingsDesk::change(api::Call& call, const settings::Entry& entry,
                                const Wish& wish) const {
    // Whoever signs now has done so before this is answered, or finds the pause.
    if (entry.key == transfers::payouts_paused_key) transfers::take_signing_turn(call.tx());
    require_narrow(call, entry, wish);
    settings::change(registry_, call.context(),
                     {.key = entry.key,
                      .value = wish.value,
                      .expected_version = wish.expected_version,
                      .actor = audit::Actor::of(call.caller.account),
                      .reason = wish.reason,
                      .request = call.request_id});
    if (std::find(pauses.begin(), pauses.end(), entry.key) != pauses.end()) {
        const auto now = registry_.snapshot(given_, settings::read_stored(call.tx()));
        events::tell_operators(call.context(), operations_paused, entry.key,
                               PauseFacts{entry.key, now->field(entry).text() == "true"});
    }
    return row_now(call.tx(), entry);
}

// What the change makes of the setting is looked at, whichever way it comes about. The version in
// the request is what was shown.
void SettingsDesk::require_narrow(api::Call& call, const settings::Entry& entry,
                                  const Wish& wish) const {
    auto stored = settings::read_stored(call.tx());
    const std::string before = registry_.snapshot(given_, stored)->field(entry).text();
    stored[entry.key].value = wish.value;
    if (wish.value) settings::require_value(registry_, entry, *wish.value);
    const std::string after = registry_.snapshot(given_, stored)->field(entry).text();
    const Bound* const bound = find_bound(entry.key);
    if (bound == nullptr || !widens(*bound, before, after)) return;
    if (!bound->is_brake && was_so_wide(call, entry, after)) return;
    four_eyes::require_second(
        call, outbox_,
        {.action = "change_setting",
         .target = {"setting", entry.key},
         .reason = wish.reason,
         .consequence = fmt::format("{} becomes {}; it is {}.", entry.key, after, before),
         .seen = before});
}

// Whether the setting was this wide, or wider, within the last day. The audit record says what each
// change found; where there was no value, it was what the server was started with.
bool SettingsDesk::was_so_wide(api::Call& call, const settings::Entry& entry,
                               const std::string& value) const {
    const Bound* const bound = find_bound(entry.key);
    require(bound != nullptr, "only a bound is wide");
    auto stored = settings::read_stored(call.tx());
    stored.erase(entry.key);
    const std::string usual = registry_.snapshot(given_, stored)->field(entry).text();
    audit::Wanted wanted;
    wanted.target_kind = "setting";
    wanted.target_id = entry.key;
    wanted.since = call.now - goes_back_within;
    for (const audit::Recorded& event : audit::list_events(call.tx(), wanted, changes_looked_at)) {
        if (event.action != "change_setting" && event.action != "reset_setting") continue;
        for (const audit::Change& change : event.changes)
            if (!widens(*bound, change.from.value_or(usual), value)) return true;
    }
    return false;
}

void SettingsDesk::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    const std::vector<api::DeclaredError> errors{
        Code::not_found,
        {Code::forbidden, "the setting is pinned: it is set where the server is started"},
        {Code::stale_version, "the setting is at another version"}};
    router.add({.method = "GET",
                .path = "/api/v1/admin/settings",
                .name = "list_settings",
                .group = "admin",
                .summary = "Every setting; all at once unless a limit is given.",
                .access = Access::admin},
               [this](api::Call& call, const api::Query<SettingsQuery>& query) {
                   return list(call, *query);
               });
    router.add({.method = "PUT",
                .path = "/api/v1/admin/settings/{key}",
                .name = "put_setting",
                .group = "admin",
                .summary = "Changes a setting in every process, within a second.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .deferral = four_eyes::waits,
                .errors = errors},
               [this](api::Call& call, const api::Path<SettingPath>& path,
                      const api::Body<PutSetting>& body) { return put(call, *path, *body); });
    router.add(
        {.method = "DELETE",
         .path = "/api/v1/admin/settings/{key}",
         .name = "reset_setting",
         .group = "admin",
         .summary = "Puts a setting back to what the server was started with.",
         .access = Access::admin,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .deferral = four_eyes::waits,
         .errors = errors},
        [this](api::Call& call, const api::Path<SettingPath>& path,
               const api::Query<ResetSetting>& query) { return reset(call, *path, *query); });
}

}  // namespace berth::admin
