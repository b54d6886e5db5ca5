// Requests and responses about accounts, as operators see them.
#pragma once

#include <boost/describe.hpp>

#include "accounts/operators.hpp"
#include "admin/user_file.hpp"
#include "api/audited.hpp"
#include "api/page.hpp"
#include "audit/audit.hpp"
#include "ledger/ledger.hpp"

namespace berth::admin {

using api::Reason;
inline constexpr std::size_t body_text_max = 64 * 1024;  // a body has no more
using ExpectedVersion = wire::Text<1, body_text_max>;    // opaque: an unknown one is stale

// Users

struct UserPath {
    std::string id;
};
BOOST_DESCRIBE_STRUCT(UserPath, (), (id))
constexpr auto wire_docs(const UserPath*) {
    return std::to_array<wire::Doc>({
        {"id", "The account's id.", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
    });
}

struct UsersQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<wire::Text<0, 320>> q;
};
BOOST_DESCRIBE_STRUCT(UsersQuery, (), (cursor, limit, q))
constexpr auto wire_docs(const UsersQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"q", "A part of the mail address, or the whole id of an account.", "ada@"},
    });
}

struct UserSummary {
    AccountId user_id;
    wire::Nullable<std::string> email;
    accounts::Kind account_kind = accounts::Kind::human;
    accounts::Role role = accounts::Role::renter;
    bool host_capability = false;
    bool suspended = false;
    bool mfa_enrolled = false;
    std::string version;
    Time created_at;
    wire::Nullable<Time> last_sign_in_at;
    wire::Nullable<accounts::DeskRole> desk_role;
    bool frozen = false;
};
BOOST_DESCRIBE_STRUCT(UserSummary, (),
                      (user_id, email, account_kind, role, host_capability, suspended, mfa_enrolled,
                       version, created_at, last_sign_in_at, desk_role, frozen))
constexpr auto wire_docs(const UserSummary*) {
    return std::to_array<wire::Doc>({
        {"email", "Null for an agent.", "ada@example.com"},
        {"host_capability", "Whether the account may rent out machines.", "false"},
        {"suspended", "Whether sign-in and every key are refused.", "false"},
        {"mfa_enrolled", "Whether the account has an authenticator.", "true"},
        {"version", "To be sent as expected_version with a command.", "3"},
        {"last_sign_in_at", "Null when nobody has signed in yet."},
        {"desk_role", "Whether the account is an operator for support or finance; null: neither.",
         "null"},
        {"frozen", "Whether an operator has stopped all that leaves it, and new rentals.", "false"},
    });
}

struct UserBalances {
    ledger::Asset asset = ledger::Asset::usdc;
    Micro available_micro;
    Micro held_micro;
    wire::SignedMicro payable_micro;
    Micro escrow_micro;
    Micro reserved_micro;
    Micro credit_micro;
};
BOOST_DESCRIBE_STRUCT(UserBalances, (),
                      (asset, available_micro, held_micro, payable_micro, escrow_micro,
                       reserved_micro, credit_micro))
constexpr auto wire_docs(const UserBalances*) {
    return std::to_array<wire::Doc>({
        {"available_micro", "May be spent or withdrawn.", "25000000"},
        {"held_micro", "Promised to jobs that are not over.", "0"},
        {"payable_micro",
         "Earned and not paid out; below zero after a refund of what was paid out already.", "0"},
        {"escrow_micro", "Earned and under dispute.", "0"},
        {"reserved_micro", "On the way out.", "0"},
        {"credit_micro", "Promotional credit that it can still spend; no part of the balance.",
         "0"},
    });
}

struct User {
    AccountId user_id;
    wire::Nullable<std::string> email;
    accounts::Kind account_kind = accounts::Kind::human;
    accounts::Role role = accounts::Role::renter;
    bool host_capability = false;
    bool suspended = false;
    bool mfa_enrolled = false;
    std::string version;
    Time created_at;
    wire::Nullable<Time> last_sign_in_at;
    wire::Nullable<accounts::DeskRole> desk_role;
    bool frozen = false;
    std::vector<UserBalances> balances;
    wire::Nullable<agent_accounts::AgentProfile> agent;
    std::vector<UserWallet> wallets;
    std::vector<UserKey> keys;
    std::vector<UserAddress> addresses;
    std::vector<UserSession> sessions;
    std::vector<UserMachine> machines;
    std::vector<UserRental> rentals;
    std::vector<transfers::AdminTransfer> transfers;
    std::vector<UserNote> notes;
    std::vector<std::string> former_emails;
    std::vector<UserRecovery> recoveries;
    wire::Nullable<Time> closed_at;
    wire::Nullable<Time> erase_at;
    wire::Nullable<Time> erased_at;
};
BOOST_DESCRIBE_STRUCT(User, (),
                      (user_id, email, account_kind, role, host_capability, suspended, mfa_enrolled,
                       version, created_at, last_sign_in_at, desk_role, frozen, balances, agent,
                       wallets, keys, addresses, sessions, machines, rentals, transfers, notes,
                       former_emails, recoveries, closed_at, erase_at, erased_at))
constexpr auto wire_docs(const User*) {
    return std::to_array<wire::Doc>({
        {"email", "Null for an agent.", "ada@example.com"},
        {"host_capability", "Whether the account may rent out machines.", "false"},
        {"suspended", "Whether sign-in and every key are refused.", "false"},
        {"mfa_enrolled", "Whether the account has an authenticator.", "true"},
        {"version", "To be sent as expected_version with a command.", "3"},
        {"last_sign_in_at", "Null when nobody has signed in yet."},
        {"desk_role", "Whether the account is an operator for support or finance; null: neither.",
         "null"},
        {"frozen", "Whether an operator has stopped all that leaves it, and new rentals.", "false"},
        {"balances", "What the ledger says, one for each asset. No command changes them."},
        {"agent", "What an agent says of itself; null for a person."},
        {"wallets", "The newest of its wallets, also those that were unlinked."},
        {"keys", "The newest of its API keys, also those that have ended."},
        {"addresses", "The newest of the addresses that money may go to."},
        {"sessions", "Where it is signed in at the moment."},
        {"machines", "The newest of its machines that are in service."},
        {"rentals", "The newest of its rentals, on either side."},
        {"transfers", "The newest of its withdrawals and payouts, with what they wait for."},
        {"notes", "What operators wrote about it, newest first; its owner does not see them."},
        {"former_emails", "Addresses that it signed in by before.", "ada@example.org"},
        {"recoveries", "The newest of its recoveries, over or not."},
        {"closed_at", "Null while the account is open. One that is closed is suspended, too.",
         "null"},
        {"erase_at", "When its owner is forgotten; null when that was not asked for.", "null"},
        {"erased_at", "When its owner was forgotten.", "null"},
    });
}

// Commands

struct SetRole {
    wire::Literal<"set_role"> action;
    accounts::Role role = accounts::Role::renter;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(SetRole, (), (action, role, reason, expected_version))
constexpr auto wire_docs(const SetRole*) {
    return std::to_array<wire::Doc>({
        {"role", "", "host"},
        api::reason_doc("Asked for by the owner in a ticket."),
        api::expected_version_doc("3"),
    });
}

struct SetHostCapability {
    wire::Literal<"set_host_capability"> action;
    bool enabled = false;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(SetHostCapability, (), (action, enabled, reason, expected_version))
constexpr auto wire_docs(const SetHostCapability*) {
    return std::to_array<wire::Doc>({
        {"enabled", "Whether the account may rent out machines.", "true"},
        api::reason_doc("Asked for by the owner in a ticket."),
        api::expected_version_doc("3"),
    });
}

struct SetSuspension {
    wire::Literal<"set_suspension"> action;
    bool suspended = false;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(SetSuspension, (), (action, suspended, reason, expected_version))
constexpr auto wire_docs(const SetSuspension*) {
    return std::to_array<wire::Doc>({
        {"suspended", "", "true"},
        api::reason_doc("Charges were disputed by the card holder."),
        api::expected_version_doc("3"),
    });
}

struct RevokeSessions {
    wire::Literal<"revoke_sessions"> action;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(RevokeSessions, (), (action, reason, expected_version))
constexpr auto wire_docs(const RevokeSessions*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("The owner lost a laptop."),
        api::expected_version_doc("3"),
    });
}

struct ResetMfa {
    wire::Literal<"reset_mfa"> action;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(ResetMfa, (), (action, reason, expected_version))
constexpr auto wire_docs(const ResetMfa*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("The owner lost the phone."),
        api::expected_version_doc("3"),
    });
}

struct SetFreeze {
    bool frozen = false;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(SetFreeze, (), (frozen, reason, expected_version))
constexpr auto wire_docs(const SetFreeze*) {
    return std::to_array<wire::Doc>({
        {"frozen", "Whether all that leaves it, and every new rental, is stopped.", "true"},
        api::reason_doc("The owner says that somebody else is in the account."),
        api::expected_version_doc("3"),
    });
}

struct RevokeKeys {
    std::optional<accounts::KeyId> key_id;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(RevokeKeys, (), (key_id, reason, expected_version))
constexpr auto wire_docs(const RevokeKeys*) {
    return std::to_array<wire::Doc>({
        {"key_id", "Only this key. Left out: every key of the account."},
        api::reason_doc("A key was found in a public repository."),
        api::expected_version_doc("3"),
    });
}

struct SetDeskRole {
    wire::Nullable<accounts::DeskRole> desk_role;
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(SetDeskRole, (), (desk_role, reason, expected_version))
constexpr auto wire_docs(const SetDeskRole*) {
    return std::to_array<wire::Doc>({
        {"desk_role", "What the account does from now on: support, finance, or null for neither.",
         "finance"},
        api::reason_doc("Takes over refunds from Monday on."),
        api::expected_version_doc("3"),
    });
}

using UserAction = wire::OneOf<SetRole, SetHostCapability, SetSuspension, RevokeSessions, ResetMfa>;

struct ChangedField {
    std::string field;
    wire::Nullable<std::string> from;
    wire::Nullable<std::string> to;
};
BOOST_DESCRIBE_STRUCT(ChangedField, (), (field, from, to))
constexpr auto wire_docs(const ChangedField*) {
    return std::to_array<wire::Doc>({
        {"field", "", "suspended"},
        {"from", "What it was; null when there was nothing.", "false"},
        {"to", "What it is now; null when there is nothing.", "true"},
    });
}

struct ActionTaken {
    AccountId user_id;
    std::string version;
    std::string action;
    std::vector<ChangedField> changed;
    std::string consequence;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(ActionTaken, (),
                      (user_id, version, action, changed, consequence, audit_event_id))
constexpr auto wire_docs(const ActionTaken*) {
    return std::to_array<wire::Doc>({
        {"version", "The account's new one.", "4"},
        {"action", "", "set_suspension"},
        {"changed", "What is another than before; empty when it was so already."},
        {"consequence", "What it means, in a sentence.",
         "Sign-in and every API key are refused from the next request on."},
    });
}

}  // namespace berth::admin
