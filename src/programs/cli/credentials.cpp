#include "cli/credentials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/special.hpp"
#include "wire/open.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

std::string owner_of(const Profile& profile) {
    return fmt::format("{} at {}", profile.account.value_or("an account"), profile.server);
}

// A key that the desktop's secret service does not give out can be neither copied nor replaced.
void require_copyable(const Profile& profile) {
    if (profile.key_elsewhere && !profile.api_key)
        throw Failure(
            Exit::unexpected,
            "the key is with the desktop's secret service, which does not give it out for "
            "a copy: unlock it and try again");
}

// The key with this id has the first letters of the one in use.
bool is_key_in_use(Context& context, const std::string& key_id) {
    constexpr int keys_max = 100;
    constexpr int pages_max = 100;
    const std::string& own = context.api().target().api_key;
    if (own.empty()) return false;
    std::string cursor;
    for (int i = 0; i < pages_max; ++i) {
        const Reading page(
            context.api()
                .get(fmt::format("/api/v1/account/api-keys?limit={}{}{}", keys_max,
                                 cursor.empty() ? "" : "&cursor=", percent_encode(cursor)))
                .body);
        for (const Reading::Place row : page.rows()) {
            const std::string prefix = page.text("prefix", row);
            if (page.text("key_id", row) == key_id)
                return !prefix.empty() && own.starts_with(prefix);
        }
        cursor = page.text("next_cursor");
        if (cursor.empty()) break;
    }
    return false;
}

}  // namespace

bool has_key(const Profile& profile) { return profile.api_key || profile.key_elsewhere; }

bool can_make_another_key(const Profile& profile) {
    if (!profile.account) return false;
    const bool is_by_mail = profile.account->find('@') != std::string::npos;
    return is_by_mail || (profile.wallet && fs::exists(*profile.wallet));
}

bool is_of_another(const Profile& profile, const std::string& server, const std::string& account) {
    if (!has_key(profile) && !profile.account) return false;
    return profile.server != server || profile.account != account;
}

void agree_to_drop(Context& context, const Profiles& profiles, const std::string& question,
                   const std::string& instead) {
    if (context.arguments().is_on("yes")) return;
    const auto profile = profiles.load();
    const std::string state = fmt::format("profile {} holds the credentials of {}", profiles.name(),
                                          profile ? owner_of(*profile) : "an account");
    if (!context.console().can_ask())
        throw Failure(Exit::conflict,
                      fmt::format("{}, and nothing was done: {}; --yes goes on and leaves a copy",
                                  state, instead));
    context.console().say(state + "; a copy stays on this machine");
    if (!context.console().confirm(question))
        throw Failure(Exit::conflict, fmt::format("nothing was done: {}", instead));
}

std::string copy_credentials(Context& context, const Profiles& profiles) {
    auto profile = profiles.load();
    if (!profile || (!has_key(*profile) && !profile->wallet)) return "";
    require_copyable(*profile);
    profile->key_elsewhere.reset();
    std::string moment = to_rfc3339(SystemClock().now());
    moment.erase(std::remove(moment.begin(), moment.end(), ':'), moment.end());
    const std::string file =
        fmt::format("{}/replaced/{}-{}.json", profiles.folder(), profiles.name(), moment);
    write_private(file, wire::encode(*profile), false);
    context.console().say(
        fmt::format("a copy of profile {} with its key is in {}", profiles.name(), file));
    return file;
}

void agree_to_fill(Context& context, const std::string& account) {
    const auto profile = context.profiles().load();
    if (!profile || !is_of_another(*profile, context.api().target().origin, account)) return;
    require_copyable(*profile);
    agree_to_drop(context, context.profiles(), "replace it?",
                  fmt::format("keep both with `berth --profile NAME {}`", context.command().words));
}

Profile make_room(Context& context, const std::string& account, std::string& copy) {
    const std::string& origin = context.api().target().origin;
    Profile profile = context.profiles().load().value_or(Profile{});
    if (is_of_another(profile, origin, account)) {
        copy = copy_credentials(context, context.profiles());
        profile = Profile{};
        context.profiles().forget_session();  // which is of the account before
    }
    if (profile.server != origin) profile.last_rental.reset();
    profile.server = origin;
    return profile;
}

void agree_to_revoke(Context& context, const std::string& named) {
    if (context.arguments().is_on("yes") || context.is_rehearsal()) return;
    const auto id = parse_uuid(named);
    if (!id) return;  // the server refuses it
    const std::string key_id = to_string(*id);
    const auto profile = context.profiles().load();
    const bool is_profiles = profile && profile->key_id == key_id;
    if (!is_profiles && !is_key_in_use(context, key_id)) return;
    const std::string what =
        is_profiles ? fmt::format("this is the key of profile {}", context.profiles().name())
                    : "this is the key that this command uses";
    const std::string after =
        profile && is_profiles && can_make_another_key(*profile)
            ? "berth login or berth agents register makes another"
            : "nothing else on this machine opens the account, as far as this program knows";
    if (!context.console().can_ask())
        throw Failure(Exit::conflict,
                      fmt::format("{}, and nothing was done: {}; --yes ends it", what, after));
    context.console().say(fmt::format("{}; {}", what, after));
    if (!context.console().confirm("end it for good?"))
        throw Failure(Exit::conflict, "nothing was done");
}

int revoke_key(Context& context) {
    agree_to_revoke(context, context.arguments().operands[0]);
    return run_row(context);
}

}  // namespace berth::cli
