// What accounts are told of the ways into them. Security notices by mail are sent beside these, and
// nobody turns those off.
#pragma once

#include <array>
#include <vector>

#include "events/events.hpp"

namespace berth::accounts {

struct AccountFacts {
    std::string action;
    wire::Nullable<std::string> key_prefix;
};
BOOST_DESCRIBE_STRUCT(AccountFacts, (), (action, key_prefix))
constexpr auto wire_docs(const AccountFacts*) {
    return std::to_array<wire::Doc>({
        {"action", "What was done, as the audit record calls it.", "make_api_key"},
        {"key_prefix", "The beginning of the API key that it is about; null when it is about none.",
         "ark_live_x7"},
    });
}

using AccountKind = events::Kind<AccountFacts>;
inline constexpr std::array account_kinds{
    AccountKind{"account.link_wallet", "account", events::Audience::both,
                "A wallet was linked to the account.",
                R"({"action":"link_wallet","key_prefix":null})", events::Mail::apart},
    AccountKind{"account.unlink_wallet", "account", events::Audience::both,
                "A wallet was taken from the account.",
                R"({"action":"unlink_wallet","key_prefix":null})", events::Mail::apart},
    AccountKind{"account.end_sessions", "account", events::Audience::both,
                "All sessions were ended.", R"({"action":"end_sessions","key_prefix":null})",
                events::Mail::apart},
    AccountKind{"account.enable_authenticator", "account", events::Audience::both,
                "An authenticator was turned on.",
                R"({"action":"enable_authenticator","key_prefix":null})", events::Mail::apart},
    AccountKind{"account.remove_authenticator", "account", events::Audience::both,
                "The authenticator was removed.",
                R"({"action":"remove_authenticator","key_prefix":null})", events::Mail::apart},
    AccountKind{"account.use_recovery_code", "account", events::Audience::both,
                "A recovery code was used.", R"({"action":"use_recovery_code","key_prefix":null})",
                events::Mail::apart},
    AccountKind{"account.ask_new_email", "account", events::Audience::both,
                "Somebody asked for another address of mail.",
                R"({"action":"ask_new_email","key_prefix":null})", events::Mail::apart},
    AccountKind{"account.change_email", "account", events::Audience::both,
                "The address of mail was changed.",
                R"({"action":"change_email","key_prefix":null})", events::Mail::apart},
    AccountKind{"account.make_api_key", "account", events::Audience::both, "An API key was made.",
                R"({"action":"make_api_key"})", events::Mail::apart},
    AccountKind{"account.revoke_api_key", "account", events::Audience::both,
                "An API key was revoked.", R"({"action":"revoke_api_key"})", events::Mail::apart},
};

std::vector<events::DeclaredKind> event_kinds();

}  // namespace berth::accounts
