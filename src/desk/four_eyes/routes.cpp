// What operators see of it, and the two ways in which it ends.
#include <fmt/format.h>

#include <algorithm>

#include "accounts/operators.hpp"
#include "base/check.hpp"
#include "base/redaction.hpp"
#include "four_eyes/four_eyes.hpp"
#include "four_eyes/store.hpp"
#include "four_eyes/told.hpp"

namespace berth::four_eyes {
namespace {

PendingState state_at(const PendingRow& row, Time now) {
    const bool over = row.state == PendingState::waiting && row.expires_at <= now;
    return over ? PendingState::expired : row.state;
}

bool is_party(const PendingRow& row, AccountId account) {
    return row.asked_by == account || row.about == account || row.gains == account;
}

PendingAction shown(const PendingRow& row, const api::Call& call) {
    const PendingState state = state_at(row, call.now);
    return {
        row.pending_action_id,
        row.action,
        {row.target_kind, row.target_id},
        row.amount,
        row.reason,
        row.consequence,
        row.method.empty() ? row.target
                           : fmt::format("{} {}", row.method, without_unnamed_secrets(row.target)),
        without_unnamed_secrets(row.body),
        row.asked_by,
        row.asked_at,
        row.expires_at,
        state,
        row.decided_by,
        row.decided_at,
        row.decision_reason,
        state == PendingState::waiting && call.caller.admin && !is_party(row, call.caller.account)};
}

PendingRow require_pending(api::Call& call, PendingActionId id) {
    auto row = find_pending(call.tx(), id);
    if (!row) throw Problem(Code::not_found, "no such pending action");
    return std::move(*row);
}

void require_waiting(const PendingRow& row, Time now) {
    switch (state_at(row, now)) {
        case PendingState::waiting: return;
        case PendingState::expired:
            throw Problem(Code::conflict, "its time is over; it has to be asked anew");
        case PendingState::confirmed:
        case PendingState::refused: break;
    }
    throw Problem(Code::conflict, "it was decided already");
}

// Whoever asked may have been suspended since, and then asks for nothing any more.
void require_asker(api::Call& call, const PendingRow& row) {
    if (!row.asked_by) return;
    const auto asker = accounts::find_record(call.tx(), *row.asked_by);
    if (!asker || !asker->may_operate())
        throw Problem(Code::conflict, "who asked for it is no operator any more");
}

PendingRow require_confirmable(api::Call& call, PendingActionId id) {
    PendingRow row = require_pending(call, id);
    call.require_step_up();
    if (is_party(row, call.caller.account))
        throw Problem(Code::forbidden,
                      "somebody else confirms it: you asked for it, or it is about you");
    require_waiting(row, call.now);
    require_asker(call, row);
    return row;
}

// What was asked for, from its row.
api::Recalled recalled(const api::Router& router, const PendingRow& row) {
    http::Request request;
    request.method = row.method;
    request.target = row.target;
    request.body = row.body;
    return api::recall(router, request);
}

api::Approval approval_of(const PendingRow& row) { return {row.action, row.seen}; }

void decide(api::Call& call, PendingRow& row, PendingState state, const Decision& decision) {
    row.state = state;
    row.decided_by = call.caller.account;
    row.decided_at = call.now;
    row.decision_reason = without_unnamed_secrets(decision.reason.value);
    row.body = without_unnamed_secrets(row.body);
    if (!decide_pending(call.tx(), row))
        throw Problem(Code::conflict, "somebody else has just decided it");
    events::tell_operators(call.context(), operations_action_decided, row.pending_action_id,
                           PendingDecisionFacts{row.action, std::string(enum_name(state))});
}

audit::AuditEventId record(api::Call& call, const PendingRow& row, std::string action) {
    audit::Event event{.actor = audit::Actor::of(call.caller.account),
                       .action = std::move(action),
                       .target = {"pending_action", to_string(row.pending_action_id)},
                       .reason = row.decision_reason,
                       .changes = {{"action", std::nullopt, row.action},
                                   {row.target_kind, std::nullopt, row.target_id}},
                       .request = call.request_id};
    if (row.asked_by) event.changes.push_back({"asked_by", std::nullopt, to_string(*row.asked_by)});
    return audit::record(call.context(), event);
}

// The same handler that asked, now with somebody's approval.
std::string carry_out(api::Call& call, const api::Recalled& what, const void* facts,
                      const api::Approval& approval) {
    const api::Route& route = what.entry->route;
    require(route.deferral.type != nullptr && api::permits(route.access, call.caller),
            "an action that waited is one that an admin may do");
    api::Call inner = call.approved(route.step_up, approval);
    try {
        return std::move(what.entry->invoke(inner, what.arguments.get(), facts).stored);
    } catch (const api::CommittedProblem& problem) {
        throw Problem(problem);  // nothing of what was not done is kept
    }
}

// What the routes that wait may answer beside an error: a confirmation answers what they do. They
// were declared before.
std::vector<api::DeclaredSibling> siblings_of_waiting(const api::Router& router) {
    std::vector<api::DeclaredSibling> all;
    for (const auto& entry : router.entries()) {
        if (entry->route.deferral.type == nullptr) continue;
        for (const api::DeclaredSibling& one : entry->route.siblings)
            if (std::none_of(all.begin(), all.end(), [&](const api::DeclaredSibling& known) {
                    return known.code == one.code && known.name == one.name;
                }))
                all.push_back(one);
    }
    return all;
}

}  // namespace

void FourEyes::add_operation(const std::string& name, Operation operation) {
    operations_[name] = std::move(operation);
}

api::Page<PendingAction> FourEyes::list(api::Call& call, const PendingQuery& query) const {
    const api::Pager pager(
        call.cursors,
        {"pending_actions", query.state ? std::string(enum_name(*query.state)) : "any"}, query);
    const PendingWanted wanted{query.state, pager.after_id<PendingActionId>(), call.now};
    return pager.page(list_pending(call.tx(), wanted, pager.rows_wanted()),
                      &PendingRow::pending_action_id,
                      [&call](const PendingRow& row) { return shown(row, call); });
}

PendingAction FourEyes::show(api::Call& call, const PendingPath& path) const {
    return shown(require_pending(call, path.id), call);
}

std::function<FourEyes::Facts()> FourEyes::prepare(api::Call& call, const api::Router& router,
                                                   const PendingPath& path) const {
    const PendingRow row = require_confirmable(call, path.id);
    if (row.method.empty()) return [] { return Facts{}; };
    const api::Recalled what = recalled(router, row);
    if (!what.entry->prepare) return [] { return Facts{}; };
    const api::Approval approval = approval_of(row);
    api::Call inner = call.approved(what.entry->route.step_up, approval);
    return [what, ask = what.entry->prepare(inner, what.arguments.get())] { return Facts{ask()}; };
}

Decided FourEyes::confirm(api::Call& call, const api::Router& router, const Facts& facts,
                          const PendingPath& path, const Decision& decision) const {
    PendingRow row = require_confirmable(call, path.id);
    const PendingRow asked = row;
    decide(call, row, PendingState::confirmed, decision);
    std::string result;
    if (asked.method.empty()) {
        const auto operation = operations_.find(asked.target);
        if (operation == operations_.end())
            throw Problem(Code::conflict, "this server does not know the action any more");
        const api::Approval approval = approval_of(asked);
        api::Call inner = call.approved(api::StepUp::none, approval);
        result = operation->second(inner, asked.body);
    } else {
        result = carry_out(call, recalled(router, asked), facts.known.get(), approval_of(asked));
    }
    return {row.pending_action_id,
            row.state,
            {result.empty() ? "null" : std::move(result)},
            record(call, row, "confirm_pending_action")};
}

// Whoever asked may take it back, and whom it is about may refuse it.
Decided FourEyes::refuse(api::Call& call, const PendingPath& path, const Decision& decision) const {
    PendingRow row = require_pending(call, path.id);
    call.require_step_up();
    if (!call.caller.admin && row.asked_by != call.caller.account)
        throw Problem(Code::forbidden, "only an admin refuses what somebody else asked for");
    require_waiting(row, call.now);
    decide(call, row, PendingState::refused, decision);
    return {row.pending_action_id, row.state, {"null"}, record(call, row, "refuse_pending_action")};
}

void FourEyes::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    router.add({.method = "GET",
                .path = "/api/v1/admin/pending-actions",
                .name = "list_pending_actions",
                .group = "admin",
                .summary = "What waits for a second admin, or did, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<PendingQuery>& query) {
                   return list(call, *query);
               });
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/pending-actions/{id}",
         .name = "show_pending_action",
         .group = "admin",
         .summary = "One action that waits for a second admin, or did.",
         .access = Access::operator_,
         .errors = {Code::not_found}},
        [this](api::Call& call, const api::Path<PendingPath>& path) { return show(call, *path); });
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/admin/pending-actions/{id}/confirm",
         .name = "confirm_pending_action",
         .group = "admin",
         .summary = "Carries out what another operator asked for, as it was shown.",
         .access = Access::admin,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {Code::not_found,
                    {Code::forbidden, "the caller asked for it, is meant by it or gains by it"},
                    {Code::stale_version, "it would do something else by now"},
                    {Code::conflict, "it was decided already, or its time is over"},
                    {Code::conflict, "who asked is no operator any more"},
                    {Code::conflict, "the action itself is not possible any more"},
                    {Code::insufficient_funds, "the action itself finds too little"},
                    Code::unavailable},
         .siblings = siblings_of_waiting(router)},
        [this, &router](api::Call& call, const api::Path<PendingPath>& path,
                        const api::Body<Decision>&) { return prepare(call, router, *path); },
        [this, &router](api::Call& call, const Facts& facts, const api::Path<PendingPath>& path,
                        const api::Body<Decision>& body) {
            return confirm(call, router, facts, *path, *body);
        });
    router.add({.method = "POST",
                .path = "/api/v1/admin/pending-actions/{id}/refuse",
                .name = "refuse_pending_action",
                .group = "admin",
                .summary = "Ends it: nothing is done. Whoever asked takes it back so.",
                .access = Access::finance,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .errors = {Code::not_found,
                           {Code::forbidden, "somebody else asked, and the caller is no admin"},
                           {Code::conflict, "it was decided already, or its time is over"}}},
               [this](api::Call& call, const api::Path<PendingPath>& path,
                      const api::Body<Decision>& body) { return refuse(call, *path, *body); });
}

}  // namespace berth::four_eyes
