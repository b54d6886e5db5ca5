// Requests and responses of assisted recovery.
#pragma once

#include <boost/describe.hpp>

#include "accounts/types.hpp"
#include "api/audited.hpp"
#include "api/page.hpp"

namespace berth::recovery {

using RecoveryId = Id<struct RecoveryTag>;

// What was lost: the mailbox of a person, or the wallet of an agent.
enum class RecoveryKind { email, wallet };
BOOST_DESCRIBE_ENUM(RecoveryKind, email, wallet)

// `expired` is in no row: it is a waiting one that nobody completed in time.
enum class RecoveryState { waiting, objected, cancelled, completed, expired };
BOOST_DESCRIBE_ENUM(RecoveryState, waiting, objected, cancelled, completed, expired)

// How an account is known by an address that was told.
enum class KnownAs { present, former, contact, new_ };
BOOST_DESCRIBE_ENUM(KnownAs, present, former, contact, new_)

inline constexpr std::size_t evidence_max = 20;
using RecoveryEvidence = wire::List<wire::Text<1, 2000>, 1, evidence_max>;

struct NewRecovery {
    AccountId account_id;
    std::optional<accounts::Email> email;
    std::optional<wire::EvmAddress> wallet;
    std::optional<bool> lost_authenticator;
    api::Reason reason;
    RecoveryEvidence evidence;
};
BOOST_DESCRIBE_STRUCT(NewRecovery, (),
                      (account_id, email, wallet, lost_authenticator, reason, evidence))
constexpr std::string_view wire_rules(const NewRecovery*) {
    return R"({"oneOf":[{"required":["email"]},{"required":["wallet"]}]})";
}
constexpr auto wire_docs(const NewRecovery*) {
    return std::to_array<wire::Doc>({
        {"account_id", "Whose mailbox or wallet was lost."},
        {"email", "Of a person: the address to sign in by afterwards.", "ada@example.net"},
        {"wallet", "Of an agent: the wallet that registers for the account afterwards.",
         wire::left_out},
        {"lost_authenticator", "Of a person: whether the authenticator was lost as well.", "false",
         "false"},
        api::reason_doc("The provider closed the owner's mailbox."),
        {"evidence", "What shows that it is the owner who asks: links, numbers of tickets, hashes.",
         "ticket 0193a6: signed by the wallet that funded the account"},
    });
}

struct RecoveryPath {
    RecoveryId id;
};
BOOST_DESCRIBE_STRUCT(RecoveryPath, (), (id))

struct RecoveryDecision {
    api::Reason reason;
};
BOOST_DESCRIBE_STRUCT(RecoveryDecision, (), (reason))
constexpr auto wire_docs(const RecoveryDecision*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("Nobody objected, and the owner called again."),
    });
}

struct ObjectionToken {
    wire::Text<1, 100> token;
};
BOOST_DESCRIBE_STRUCT(ObjectionToken, (), (token))
constexpr auto wire_docs(const ObjectionToken*) {
    return std::to_array<wire::Doc>({
        {"token", "What follows # in the mailed link.", "bro_4eC39HqLyjWDarjtT1zdp7dc"},
    });
}

struct RecoveriesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<RecoveryState> state;
    std::optional<AccountId> account_id;
};
BOOST_DESCRIBE_STRUCT(RecoveriesQuery, (), (cursor, limit, state, account_id))
constexpr auto wire_docs(const RecoveriesQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only those in this state.", "waiting"},
        {"account_id", "Only those of this account."},
    });
}

// Somebody pressed the button behind a mailed link.
struct Objection {
    std::string address;
    KnownAs known_as = KnownAs::former;
    Time objected_at;
};
BOOST_DESCRIBE_STRUCT(Objection, (), (address, known_as, objected_at))
constexpr auto wire_docs(const Objection*) {
    return std::to_array<wire::Doc>({
        {"address", "Where the link was mailed to; only the ends of it.", "a…@example.org"},
        {"known_as",
         "What the address was to the account when it was opened: the present one, a former one, "
         "an agent's contact, or the new one.",
         "former"},
        {"objected_at", "When the button was pressed first."},
    });
}

// As operators see it.
struct Recovery {
    RecoveryId recovery_id;
    AccountId account_id;
    RecoveryKind kind = RecoveryKind::email;
    RecoveryState state = RecoveryState::waiting;
    wire::Nullable<std::string> email;
    wire::Nullable<std::string> wallet;
    bool lost_authenticator = false;
    std::string reason;
    std::vector<std::string> evidence;
    wire::Count addresses_told;
    bool signed_in_since = false;
    bool was_suspended = false;
    std::vector<Objection> objections;
    AccountId opened_by;
    Time opened_at;
    Time ready_at;
    Time expires_at;
    wire::Nullable<AccountId> ended_by;
    wire::Nullable<Time> ended_at;
    wire::Nullable<std::string> end_reason;
};
BOOST_DESCRIBE_STRUCT(Recovery, (),
                      (recovery_id, account_id, kind, state, email, wallet, lost_authenticator,
                       reason, evidence, addresses_told, signed_in_since, was_suspended, objections,
                       opened_by, opened_at, ready_at, expires_at, ended_by, ended_at, end_reason))
constexpr auto wire_docs(const Recovery*) {
    return std::to_array<wire::Doc>({
        {"email", "The address to sign in by afterwards; null of a wallet.", "ada@example.net"},
        {"wallet", "The wallet that registers afterwards; null of a mailbox.", "null"},
        {"lost_authenticator", "Whether the authenticator goes as well.", "false"},
        {"reason", "", "The provider closed the owner's mailbox."},
        {"evidence", "", "ticket 0193a6"},
        {"addresses_told", "How many addresses got the mail by which one objects.", "2"},
        {"signed_in_since",
         "Whether somebody, while it waits, got in by the mailbox or signed with the wallet that "
         "is "
         "said to be lost; then it cannot be completed.",
         "false"},
        {"was_suspended",
         "Whether the account was suspended when it was opened: then an objection by a mailed link "
         "does not end it, and a second admin is asked instead.",
         "false"},
        {"objections", "Who objected by a mailed link."},
        {"opened_by", "The admin by whose word it was opened."},
        {"opened_at", "When every known address was told."},
        {"ready_at", "When it can be completed, if nobody objects."},
        {"expires_at", "Until when."},
        {"ended_by", "Who completed or cancelled it, or whose account objected.", "null"},
        {"ended_at", "Null while it waits.", "null"},
        {"end_reason", "Null while it waits.", "null"},
    });
}

// As the account itself sees it.
struct OwnRecovery {
    RecoveryId recovery_id;
    RecoveryKind kind = RecoveryKind::email;
    RecoveryState state = RecoveryState::waiting;
    std::string replaced_by;
    bool lost_authenticator = false;
    Time opened_at;
    Time ready_at;
};
BOOST_DESCRIBE_STRUCT(OwnRecovery, (),
                      (recovery_id, kind, state, replaced_by, lost_authenticator, opened_at,
                       ready_at))
constexpr auto wire_docs(const OwnRecovery*) {
    return std::to_array<wire::Doc>({
        {"kind", "What is said to be lost.", "email"},
        {"replaced_by", "What would take its place; of an address only its ends.",
         "a…@example.net"},
        {"lost_authenticator", "Whether the authenticator would go as well.", "false"},
        {"opened_at", "When every known address was told."},
        {"ready_at", "Until when one can object for certain."},
    });
}

struct OwnRecoveries {
    std::vector<OwnRecovery> items;
};
BOOST_DESCRIBE_STRUCT(OwnRecoveries, (), (items))

struct Objected {
    RecoveryId recovery_id;
    RecoveryState state = RecoveryState::objected;
};
BOOST_DESCRIBE_STRUCT(Objected, (), (recovery_id, state))
constexpr auto wire_docs(const Objected*) {
    return std::to_array<wire::Doc>({
        {"state",
         "`objected`; or `waiting` still, where the account was suspended: then a second admin "
         "decides.",
         "objected"},
    });
}

}  // namespace berth::recovery
