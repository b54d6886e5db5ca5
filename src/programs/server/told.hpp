// What operators are told of background work.
#pragma once

#include <vector>

#include "events/events.hpp"

namespace berth::server {

struct TaskDeadFacts {
    std::string kind;
    wire::Count attempts;
};
BOOST_DESCRIBE_STRUCT(TaskDeadFacts, (), (kind, attempts))
constexpr auto wire_docs(const TaskDeadFacts*) {
    return std::to_array<wire::Doc>({
        {"kind", "What it was to do.", "send_mail"},
        {"attempts", "How often it was tried.", "10"},
    });
}

inline constexpr events::Kind<TaskDeadFacts> operations_task_dead{
    "operations.task_dead", "task", events::Audience::operators,
    "A task failed as often as it may, and waits for a person.",
    R"({"kind":"send_mail","attempts":10})"};

inline std::vector<events::DeclaredKind> event_kinds() { return {operations_task_dead}; }

}  // namespace berth::server
