// What operators are told of actions that wait for a second admin.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "four_eyes/types.hpp"

namespace berth::four_eyes {

struct PendingActionFacts {
    std::string action;
    std::string target_kind;
    std::string target_id;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(PendingActionFacts, (), (action, target_kind, target_id, expires_at))
constexpr auto wire_docs(const PendingActionFacts*) {
    return std::to_array<wire::Doc>({
        {"action", "What is to be done.", "refund"},
        {"target_kind", "What to.", "job"},
        {"target_id", "Which one."},
        {"expires_at", "After that it must be asked for anew."},
    });
}

struct PendingDecisionFacts {
    std::string action;
    std::string decision;
};
BOOST_DESCRIBE_STRUCT(PendingDecisionFacts, (), (action, decision))
constexpr auto wire_docs(const PendingDecisionFacts*) {
    return std::to_array<wire::Doc>({
        {"action", "What was to be done.", "refund"},
        {"decision", "confirmed or refused.", "confirmed"},
    });
}

inline constexpr events::Kind<PendingActionFacts> operations_action_asked{
    "operations.action_asked", "pending_action", events::Audience::operators,
    "Something waits for a second admin.", R"({"expires_at":"2026-01-16T12:00:00Z"})"};
inline constexpr events::Kind<PendingDecisionFacts> operations_action_decided{
    "operations.action_decided", "pending_action", events::Audience::operators,
    "A second admin has confirmed or refused it.", R"({"decision":"confirmed"})"};

inline std::vector<events::DeclaredKind> event_kinds() {
    return {operations_action_asked, operations_action_decided};
}

}  // namespace berth::four_eyes
