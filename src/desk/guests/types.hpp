// Requests and responses about who may come into a closed market.
#pragma once

#include <boost/describe.hpp>

#include "accounts/allow_list.hpp"
#include "api/audited.hpp"
#include "api/page.hpp"

namespace berth::guests {

using Domain = wire::Text<1, 253>;

struct NewGuest {
    std::optional<accounts::Email> email;
    std::optional<Domain> domain;
    std::optional<wire::EvmAddress> wallet;
    std::optional<bool> invite;
    std::optional<Time> expires_at;
    api::Reason reason;
};
BOOST_DESCRIBE_STRUCT(NewGuest, (), (email, domain, wallet, invite, expires_at, reason))
constexpr std::string_view wire_rules(const NewGuest*) {
    return R"({"oneOf":[{"required":["email"]},{"required":["domain"]},{"required":["wallet"]}]})";
}
constexpr auto wire_docs(const NewGuest*) {
    return std::to_array<wire::Doc>({
        {"email", "One person, by address.", "ada@example.com"},
        {"domain", "Everybody whose address is of this domain.", wire::left_out},
        {"wallet", "One agent, by its wallet.", wire::left_out},
        {"invite", "Whether a mail goes to the address.", "true", "false"},
        {"expires_at", "Until when one may come in by it; left out for always.", wire::left_out},
        api::reason_doc("Asked for a trial in ticket 0193a6."),
    });
}

struct GuestPath {
    accounts::AllowedId id;
};
BOOST_DESCRIBE_STRUCT(GuestPath, (), (id))

struct RemoveGuest {
    api::Reason reason;
};
BOOST_DESCRIBE_STRUCT(RemoveGuest, (), (reason))
constexpr auto wire_docs(const RemoveGuest*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("The trial is over."),
    });
}

struct GuestsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<accounts::AllowedKind> kind;
};
BOOST_DESCRIBE_STRUCT(GuestsQuery, (), (cursor, limit, kind))
constexpr auto wire_docs(const GuestsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"kind", "Only those of this kind.", "domain"},
    });
}

struct Guest {
    accounts::AllowedId guest_id;
    accounts::AllowedKind kind = accounts::AllowedKind::email;
    std::string value;
    std::string reason;
    AccountId added_by;
    Time created_at;
    wire::Nullable<Time> expires_at;
    wire::Nullable<Time> invited_at;
    wire::Nullable<Time> used_at;
};
BOOST_DESCRIBE_STRUCT(Guest, (),
                      (guest_id, kind, value, reason, added_by, created_at, expires_at, invited_at,
                       used_at))
constexpr auto wire_docs(const Guest*) {
    return std::to_array<wire::Doc>({
        {"value", "The address, the domain or the wallet.", "ada@example.com"},
        {"reason", "", "Asked for a trial in ticket 0193a6."},
        {"added_by", "The operator who put it there."},
        {"expires_at", "Null when it does not end.", "null"},
        {"invited_at", "When a mail went to the address; null when none did."},
        {"used_at", "When somebody came in by it first; null when nobody did.", "null"},
    });
}

}  // namespace berth::guests
