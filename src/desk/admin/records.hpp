// What operators look through: the audit record, and tasks that the worker gave up.
#pragma once

#include "admin/types.hpp"
#include "api/router.hpp"
#include "worker/tasks.hpp"

namespace berth::admin {

// Audit

struct AuditQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> actor;
    std::optional<std::string> action;
    std::optional<std::string> target_kind;
    std::optional<std::string> target_id;
    std::optional<Time> since;
    std::optional<Time> until;
};
BOOST_DESCRIBE_STRUCT(AuditQuery, (),
                      (cursor, limit, actor, action, target_kind, target_id, since, until))
constexpr auto wire_docs(const AuditQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"actor", "Only what this account did."},
        {"action", "Only this action.", "set_suspension"},
        {"target_kind", "Only what was done to things of this kind.", "account"},
        {"target_id", "Only what was done to the thing of this id."},
        {"since", "Only events at this time or later."},
        {"until", "Only events before this time."},
    });
}

enum class ActorKind { account, operator_, system };
BOOST_DESCRIBE_ENUM(ActorKind, account, operator_, system)

struct AuditActor {
    wire::Nullable<AccountId> account_id;
    ActorKind kind{};
};
BOOST_DESCRIBE_STRUCT(AuditActor, (), (account_id, kind))
constexpr auto wire_docs(const AuditActor*) {
    return std::to_array<wire::Doc>({
        {"account_id", "Null unless it was an account."},
        {"kind", "An account, whoever runs commands on the server's machine, or the service."},
    });
}

struct AuditTarget {
    std::string kind;
    std::string id;
};
BOOST_DESCRIBE_STRUCT(AuditTarget, (), (kind, id))
constexpr auto wire_docs(const AuditTarget*) {
    return std::to_array<wire::Doc>({
        {"kind", "", "account"},
        {"id", "", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
    });
}

struct AuditEvent {
    audit::AuditEventId audit_event_id;
    Time at;
    AuditActor actor;
    std::string action;
    AuditTarget target;
    wire::Nullable<std::string> reason;
    std::vector<ChangedField> changes;
    wire::Nullable<RequestId> request_id;
    wire::Sha256Hash hash;
    wire::Sha256Hash previous_hash;
};
BOOST_DESCRIBE_STRUCT(AuditEvent, (),
                      (audit_event_id, at, actor, action, target, reason, changes, request_id, hash,
                       previous_hash))
constexpr auto wire_docs(const AuditEvent*) {
    return std::to_array<wire::Doc>({
        {"action", "", "set_suspension"},
        {"target", "What it was done to."},
        {"reason", "Null when none was given.", "Charges were disputed by the card holder."},
        {"changes", "What became another; secrets are told only as set."},
        {"request_id", "Null when it came by no request."},
        {"hash", "Over the event and the hash before it."},
        {"previous_hash", "Of the event before it."},
    });
}

// Tasks

struct TaskPath {
    TaskId id;
};
BOOST_DESCRIBE_STRUCT(TaskPath, (), (id))

struct TasksQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<worker::TaskState> state;
};
BOOST_DESCRIBE_STRUCT(TasksQuery, (), (cursor, limit, state))
constexpr auto wire_docs(const TasksQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only tasks in this state.", "dead"},
    });
}

struct TaskRecord {
    TaskId task_id;
    std::string kind;
    worker::TaskState state{};
    wire::Count attempts;
    Time run_at;
    Time created_at;
    wire::Nullable<std::string> last_error;
};
BOOST_DESCRIBE_STRUCT(TaskRecord, (),
                      (task_id, kind, state, attempts, run_at, created_at, last_error))
constexpr auto wire_docs(const TaskRecord*) {
    return std::to_array<wire::Doc>({
        {"kind", "", "send_mail"},
        {"state", "A dead one was given up and waits for a person."},
        {"attempts", "", "10"},
        {"run_at", "When it is due."},
        {"last_error", "Null when nothing has gone wrong.", "550 no such mailbox"},
    });
}

struct TaskDecision {
    Reason reason;
};
BOOST_DESCRIBE_STRUCT(TaskDecision, (), (reason))
constexpr auto wire_docs(const TaskDecision*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("The mail server works again."),
    });
}

struct TaskDecided {
    TaskId task_id;
    std::string action;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(TaskDecided, (), (task_id, action, audit_event_id))
constexpr auto wire_docs(const TaskDecided*) {
    return std::to_array<wire::Doc>({
        {"action", "", "retry_task"},
    });
}

class Records {
public:
    void add_routes(api::Router& router) const;

    api::Page<AuditEvent> events(api::Call& call, const AuditQuery& query) const;
    api::Page<TaskRecord> tasks(api::Call& call, const TasksQuery& query) const;
    // Both are for dead tasks alone.
    TaskDecided retry(api::Call& call, const TaskPath& path, const TaskDecision& decision) const;
    TaskDecided drop(api::Call& call, const TaskPath& path, const TaskDecision& decision) const;
};

}  // namespace berth::admin
