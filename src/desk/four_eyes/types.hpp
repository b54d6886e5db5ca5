// What waits for a second admin, as operators see it.
#pragma once

#include <boost/describe.hpp>

#include "api/audited.hpp"
#include "api/deferral.hpp"
#include "api/page.hpp"
#include "audit/audit.hpp"
#include "four_eyes/settings.hpp"

namespace berth::four_eyes {

using PendingActionId = Id<struct PendingActionTag>;

// `expired` is in no row: it is a waiting one whose time is over.
enum class PendingState { waiting, confirmed, refused, expired };
BOOST_DESCRIBE_ENUM(PendingState, waiting, confirmed, refused, expired)

struct Asked {
    PendingActionId pending_action_id;
    std::string action;
    std::string consequence;
    PendingState state = PendingState::waiting;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(Asked, (), (pending_action_id, action, consequence, state, expires_at))
constexpr auto wire_docs(const Asked*) {
    return std::to_array<wire::Doc>({
        {"pending_action_id", "What a second admin confirms or refuses. Nothing has happened yet."},
        {"action", "", "refund"},
        {"consequence", "What happens when it is confirmed.", "The renter gets 1500.00 USDC back."},
        {"state", "", "waiting"},
        {"expires_at", "Until when it can be confirmed."},
    });
}

struct PendingPath {
    PendingActionId id;
};
BOOST_DESCRIBE_STRUCT(PendingPath, (), (id))

struct PendingQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<PendingState> state;
};
BOOST_DESCRIBE_STRUCT(PendingQuery, (), (cursor, limit, state))
constexpr auto wire_docs(const PendingQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only actions in this state.", "waiting"},
    });
}

struct PendingTarget {
    std::string kind;
    std::string id;
};
BOOST_DESCRIBE_STRUCT(PendingTarget, (), (kind, id))
constexpr auto wire_docs(const PendingTarget*) {
    return std::to_array<wire::Doc>({
        {"kind", "", "job"},
        {"id", "", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
    });
}

struct PendingAction {
    PendingActionId pending_action_id;
    std::string action;
    PendingTarget target;
    wire::Nullable<Micro> amount_micro;
    std::string reason;
    std::string consequence;
    std::string request;
    std::string body;
    wire::Nullable<AccountId> asked_by;
    Time asked_at;
    Time expires_at;
    PendingState state = PendingState::waiting;
    wire::Nullable<AccountId> decided_by;
    wire::Nullable<Time> decided_at;
    wire::Nullable<std::string> decision_reason;
    bool confirmable = false;
};
BOOST_DESCRIBE_STRUCT(PendingAction, (),
                      (pending_action_id, action, target, amount_micro, reason, consequence,
                       request, body, asked_by, asked_at, expires_at, state, decided_by, decided_at,
                       decision_reason, confirmable))
constexpr auto wire_docs(const PendingAction*) {
    return std::to_array<wire::Doc>({
        {"pending_action_id", "What is confirmed or refused by."},
        {"action", "As the audit record has it.", "refund"},
        {"target", "Whom or what it is about, as the audit record has it."},
        {"asked_at", "When it began to wait."},
        {"amount_micro", "Null for what gives power.", "1500000000"},
        {"reason", "Of who asked.", "The machine was down all night."},
        {"consequence", "What happens when it is confirmed.", "The renter gets 1500.00 USDC back."},
        {"request", "The request as it is carried out then.", "POST /api/v1/admin/refunds"},
        {"body", "Its body, without secrets.", "{\"amount_micro\": \"1500000000\"}"},
        {"asked_by", "Null for a command on the server's own machine."},
        {"expires_at", "Until when it can be confirmed."},
        {"decided_by", "The admin who confirmed or refused it; null while it waits.", "null"},
        {"decided_at", "Null while it waits.", "null"},
        {"decision_reason", "Null while it waits.", "null"},
        {"confirmable", "Whether the caller may confirm it.", "true"},
    });
}

struct Decision {
    api::Reason reason;
};
BOOST_DESCRIBE_STRUCT(Decision, (), (reason))
constexpr auto wire_docs(const Decision*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("Looked at the evidence; it is as said."),
    });
}

struct Decided {
    PendingActionId pending_action_id;
    PendingState state = PendingState::confirmed;
    wire::Json result;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(Decided, (), (pending_action_id, state, result, audit_event_id))
constexpr auto wire_docs(const Decided*) {
    return std::to_array<wire::Doc>({
        {"pending_action_id", "Which one was decided."},
        {"state", "", "confirmed"},
        {"result", "What the action itself answered; null of a refused one.", "null"},
    });
}

}  // namespace berth::four_eyes
