#include "admin/records.hpp"

#include "audit/events.hpp"
#include "base/check.hpp"
#include "base/log.hpp"

namespace berth::admin {
namespace {

wire::Sha256Hash hash_text(const Bytes& hash) { return {"sha256:" + to_hex(hash)}; }

AuditEvent shown_event(const audit::Recorded& event) {
    const auto kind = parse_enum<ActorKind>(event.actor_kind);
    require(kind.has_value(), "an actor in the database is of a kind that is known");
    AuditEvent out{event.id,
                   event.at,
                   {event.account, *kind},
                   event.action,
                   {event.target.kind, event.target.id},
                   event.reason,
                   {},
                   event.request,
                   hash_text(event.hash),
                   hash_text(event.previous_hash)};
    for (const audit::Change& change : event.changes)
        out.changes.push_back({change.field, change.from, change.to});
    return out;
}

std::optional<std::string> redacted(const std::optional<std::string>& text) {
    return text ? std::optional(redact(*text)) : std::nullopt;
}

TaskRecord shown_task(const worker::TaskRow& row) {
    return {row.task_id,
            row.kind,
            row.state,
            {row.attempts},
            row.run_at,
            row.created_at,
            redacted(row.last_error)};
}

worker::TaskRow require_dead(api::Call& call, TaskId id) {
    auto row = worker::find_task(call.tx(), id);
    if (!row) throw Problem(Code::not_found, "no such task");
    call.require_step_up();
    if (row->state != worker::TaskState::dead)
        throw Problem(Code::conflict, "the task is not dead: the worker will get to it");
    return std::move(*row);
}

TaskDecided decided(api::Call& call, const worker::TaskRow& task, const std::string& action,
                    const TaskDecision& decision) {
    const auto event = audit::record(
        call.context(),
        {.actor = audit::Actor::of(call.caller.account),
         .action = action,
         .target = {"task", to_string(task.task_id)},
         .reason = decision.reason.value,
         .changes = {{"kind", task.kind, task.kind}, {"last_error", task.last_error, std::nullopt}},
         .request = call.request_id});
    return {task.task_id, action, event};
}

Problem decided_meanwhile() {
    return Problem(Code::conflict, "somebody else has just decided about this task");
}

}  // namespace

api::Page<AuditEvent> Records::events(api::Call& call, const AuditQuery& query) const {
    audit::Wanted wanted{query.actor,     query.action, query.target_kind,
                         query.target_id, query.since,  query.until};
    AuditQuery filters = query;
    filters.cursor.reset();
    filters.limit.reset();
    const api::Pager pager(call.cursors, {"audit", wire::encode(filters)}, query);
    if (pager.after()) wanted.before = parse_decimal(*pager.after());
    return pager.page(
        audit::list_events(call.tx(), wanted, pager.rows_wanted()),
        [](const audit::Recorded& event) { return std::to_string(event.sequence); }, shown_event);
}

api::Page<TaskRecord> Records::tasks(api::Call& call, const TasksQuery& query) const {
    const api::Pager pager(
        call.cursors, {"tasks", query.state ? std::string(enum_name(*query.state)) : "any"}, query);
    return pager.page(
        worker::list_tasks(call.tx(), query.state, pager.after_id<TaskId>(), pager.rows_wanted()),
        &worker::TaskRow::task_id, shown_task);
}

TaskDecided Records::retry(api::Call& call, const TaskPath& path,
                           const TaskDecision& decision) const {
    const worker::TaskRow task = require_dead(call, path.id);
    if (!worker::revive_task(call.tx(), path.id, call.now)) throw decided_meanwhile();
    return decided(call, task, "retry_task", decision);
}

TaskDecided Records::drop(api::Call& call, const TaskPath& path,
                          const TaskDecision& decision) const {
    const worker::TaskRow task = require_dead(call, path.id);
    if (!worker::drop_task(call.tx(), path.id)) throw decided_meanwhile();
    return decided(call, task, "drop_task", decision);
}

void Records::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    router.add({.method = "GET",
                .path = "/api/v1/admin/audit",
                .name = "list_audit_events",
                .group = "admin",
                .summary = "Who did what, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<AuditQuery>& query) {
                   return events(call, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/tasks",
                .name = "list_tasks",
                .group = "admin",
                .summary = "Background tasks, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<TasksQuery>& query) {
                   return tasks(call, *query);
               });
    const std::vector<api::DeclaredError> errors{Code::not_found,
                                                 {Code::conflict, "the task is not dead"}};
    router.add({.method = "POST",
                .path = "/api/v1/admin/tasks/{id}/retry",
                .name = "retry_task",
                .group = "admin",
                .summary = "Lets the worker try a dead task again.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = errors},
               [this](api::Call& call, const api::Path<TaskPath>& path,
                      const api::Body<TaskDecision>& body) { return retry(call, *path, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/tasks/{id}/drop",
                .name = "drop_task",
                .group = "admin",
                .summary = "Throws a dead task away.",
                .access = Access::admin,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = errors},
               [this](api::Call& call, const api::Path<TaskPath>& path,
                      const api::Body<TaskDecision>& body) { return drop(call, *path, *body); });
}

}  // namespace berth::admin
