// Leaving: what is asked for and what is answered.
#pragma once

#include <boost/describe.hpp>

#include "accounts/operators.hpp"
#include "api/audited.hpp"
#include "audit/audit.hpp"
#include "wire/type.hpp"

namespace berth::closing {

using api::Reason;
using ExpectedVersion = wire::Text<1, 100>;

struct UserPath {
    std::string id;
};
BOOST_DESCRIBE_STRUCT(UserPath, (), (id))
constexpr auto wire_docs(const UserPath*) {
    return std::to_array<wire::Doc>({
        {"id", "The account's id.", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
    });
}

// Why an account cannot be closed, or erased, as it is now.
enum class ObstacleCode {
    OPERATOR,
    FROZEN,
    BALANCE,
    RENTALS,
    DISPUTES,
    TRANSFERS,
    DEBT,
    CLAIMS,
    MACHINES
};
BOOST_DESCRIBE_ENUM(ObstacleCode, OPERATOR, FROZEN, BALANCE, RENTALS, DISPUTES, TRANSFERS, DEBT,
                    CLAIMS, MACHINES)

struct Obstacle {
    ObstacleCode code{};
    std::string message;
};
BOOST_DESCRIBE_STRUCT(Obstacle, (), (code, message))
constexpr auto wire_docs(const Obstacle*) {
    return std::to_array<wire::Doc>({
        {"code", "What it is.", "BALANCE"},
        {"message", "What to do about it.",
         "5000000 micro-units of USDC are in the account: withdraw them"},
    });
}

struct Remains {
    std::string what;
    std::string why;
};
BOOST_DESCRIBE_STRUCT(Remains, (), (what, why))
constexpr auto wire_docs(const Remains*) {
    return std::to_array<wire::Doc>({
        {"what", "What is not erased.", "ledger entries and transfers"},
        {"why", "The reason for it.", "the books prove what is owed to everybody"},
    });
}

struct ClosingState {
    AccountId account_id;
    wire::Nullable<Time> closed_at;
    wire::Nullable<Time> erase_at;
    wire::Nullable<Time> erased_at;
    std::vector<Obstacle> obstacles;
    std::vector<Remains> stays;
};
BOOST_DESCRIBE_STRUCT(ClosingState, (),
                      (account_id, closed_at, erase_at, erased_at, obstacles, stays))
constexpr auto wire_docs(const ClosingState*) {
    return std::to_array<wire::Doc>({
        {"closed_at", "Null while the account is open.", "null"},
        {"erase_at", "When its owner is forgotten; null when that was not asked for.", "null"},
        {"erased_at", "When its owner was forgotten.", "null"},
        {"obstacles", "What stands in the way of closing or erasing it; empty: nothing does."},
        {"stays", "What is kept of an erased account, and why."},
    });
}

struct CloseAccount {
    std::optional<bool> erase;
};
BOOST_DESCRIBE_STRUCT(CloseAccount, (), (erase))
constexpr auto wire_docs(const CloseAccount*) {
    return std::to_array<wire::Doc>({
        {"erase", "Also forgets the owner, after the time that the answer names.", "true", "false"},
    });
}

struct CloseUser {
    Reason reason;
    ExpectedVersion expected_version;
    std::optional<bool> erase;
};
BOOST_DESCRIBE_STRUCT(CloseUser, (), (reason, expected_version, erase))
constexpr auto wire_docs(const CloseUser*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("Asked for in a ticket."),
        api::expected_version_doc("3"),
        {"erase", "Also forgets the owner, after the time that the answer names.", "true", "false"},
    });
}

// To open an account again, or to erase it now.
struct ClosingDecision {
    Reason reason;
    ExpectedVersion expected_version;
};
BOOST_DESCRIBE_STRUCT(ClosingDecision, (), (reason, expected_version))
constexpr auto wire_docs(const ClosingDecision*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("Asked for in a ticket."),
        api::expected_version_doc("3"),
    });
}

struct ClosingDone {
    AccountId account_id;
    wire::Nullable<Time> closed_at;
    wire::Nullable<Time> erase_at;
    wire::Nullable<Time> erased_at;
    std::string consequence;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(ClosingDone, (),
                      (account_id, closed_at, erase_at, erased_at, consequence, audit_event_id))
constexpr auto wire_docs(const ClosingDone*) {
    return std::to_array<wire::Doc>({
        {"closed_at", "Null when it is open again."},
        {"erase_at", "When its owner is forgotten; null when that was not asked for.", "null"},
        {"erased_at", "When its owner was forgotten.", "null"},
        {"consequence", "What this means.",
         "The account is closed: nobody signs in, and every API key is revoked."},
    });
}

// Exports

struct ExportedAccount {
    accounts::Kind account_kind = accounts::Kind::human;
    wire::Nullable<std::string> email;
    std::vector<std::string> former_emails;
    accounts::Role role = accounts::Role::renter;
    bool host_capability = false;
    bool suspended = false;
    bool frozen = false;
    bool mfa_enrolled = false;
    Time created_at;
    wire::Nullable<Time> last_sign_in_at;
    std::vector<std::string> networks;
};
BOOST_DESCRIBE_STRUCT(ExportedAccount, (),
                      (account_kind, email, former_emails, role, host_capability, suspended, frozen,
                       mfa_enrolled, created_at, last_sign_in_at, networks))
constexpr auto wire_docs(const ExportedAccount*) {
    return std::to_array<wire::Doc>({
        {"email", "Null of an agent.", "ada@example.org"},
        {"former_emails", "Addresses that it signed in by before.", "ada@example.com"},
        {"frozen", "Whether an operator has stopped all that leaves it.", "false"},
        {"host_capability", "Whether it may rent out machines.", "false"},
        {"mfa_enrolled", "Whether it has an authenticator.", "false"},
        {"last_sign_in_at", "Null when nobody signed in yet.", "null"},
        {"networks", "From where somebody got in; the first few and the last.", "192.0.2.0/24"},
    });
}

struct ExportedProfile {
    std::string name;
    std::string vendor;
    wire::Nullable<std::string> model;
    wire::Nullable<std::string> operator_contact;
    wire::Nullable<std::string> homepage;
};
BOOST_DESCRIBE_STRUCT(ExportedProfile, (), (name, vendor, model, operator_contact, homepage))
constexpr auto wire_docs(const ExportedProfile*) {
    return std::to_array<wire::Doc>({
        {"vendor", "Who made the agent.", "Example Labs"},
        {"model", "The model behind it.", "null"},
        {"operator_contact", "How to reach whoever runs it.", "null"},
    });
}

enum class DoneBy { self, operator_, system };
BOOST_DESCRIBE_ENUM(DoneBy, self, operator_, system)

struct ExportedEvent {
    Time at;
    std::string action;
    DoneBy by = DoneBy::self;
};
BOOST_DESCRIBE_STRUCT(ExportedEvent, (), (at, action, by))
constexpr auto wire_docs(const ExportedEvent*) {
    return std::to_array<wire::Doc>({
        {"action", "As the audit record has it.", "make_api_key"},
        {"by", "Who did it: the account itself, an operator, or the service.", "self"},
    });
}

struct AccountExport {
    AccountId account_id;
    Time made_at;
    ExportedAccount account;
    wire::Nullable<ExportedProfile> agent;
    std::map<std::string, wire::Json> sections;
    std::vector<ExportedEvent> events;
    std::vector<std::string> cut;
};
BOOST_DESCRIBE_STRUCT(AccountExport, (),
                      (account_id, made_at, account, agent, sections, events, cut))
constexpr auto wire_docs(const AccountExport*) {
    return std::to_array<wire::Doc>({
        {"made_at", "Everything is as of this moment."},
        {"account", "How one gets into it."},
        {"agent", "What an agent said of itself; null of a person.", "null"},
        {"sections",
         "What the API shows the account, list by list, whole: sessions, keys, wallets, "
         "recoveries, balances, entries with all that was paid in, credits, funding intents, "
         "withdrawals, payouts, addresses, rentals, machines, earnings, tickets.",
         "null"},
        {"events", "What the audit record has about the account, newest first."},
        {"cut", "Sections that were too long to be whole; their own routes page through the rest.",
         "entries"},
    });
}

}  // namespace berth::closing
