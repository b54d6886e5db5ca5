#include "transfers/operators.hpp"

#include "audit/audit.hpp"
#include "base/redaction.hpp"
#include "transfers/brakes.hpp"
#include "transfers/call_back.hpp"
#include "wire/wire.hpp"

namespace berth::transfers {
namespace {

AdminTransfer shown_to_operator(const TransferRow& row, const std::optional<Wait>& wait) {
    AdminTransfer transfer;
    transfer.transfer_id = row.transfer_id;
    transfer.kind = row.kind;
    if (row.kind != TransferKind::return_) transfer.account_id = row.account_id;
    transfer.state = row.state;
    transfer.address = {crypto::checksummed(row.address)};
    transfer.amount_micro = row.amount;
    transfer.asset = row.asset;
    if (row.tx_hash) transfer.tx_hash = wire::TransactionHash{*row.tx_hash};
    transfer.reason = row.reason;
    if (wait) transfer.waits_for = wait->why;
    if (wait) transfer.waits_until = wait->until;
    transfer.held_why = row.held_why;
    transfer.created_at = row.created_at;
    transfer.updated_at = row.updated_at;
    return transfer;
}

std::vector<AdminTransfer> all_shown(api::Call& call, const std::vector<TransferRow>& rows) {
    Brakes brakes(call.tx(), call.settings<Settings>(), call.now);
    std::vector<AdminTransfer> list;
    for (const TransferRow& row : rows) list.push_back(shown_to_operator(row, brakes.wait_of(row)));
    return list;
}

TransferRow require_transfer(api::Call& call, TransferId id) {
    auto row = find_transfer(call.tx(), id);
    if (!row) throw Problem(Code::not_found, "no such transfer");
    return std::move(*row);
}

Problem too_late() {
    return Problem(Code::conflict,
                   "this transfer was signed already, is over, or changed at this moment");
}

// What somebody else holds back is let go by an admin: an operator for money does not undo alone
// what another has stopped. Calling it off lets it go, too, since it can be asked for anew.
void require_may_let_go(api::Call& call, const TransferRow& transfer) {
    if (transfer.held_why && !call.caller.admin &&
        !was_held_by(call.tx(), transfer.transfer_id, call.caller.account))
        throw Problem(Code::forbidden, "somebody else holds this transfer back; ask an admin");
}

// Whose hold the caller may end: any as an admin, and otherwise their own. It is asked again by the
// very update, so that a hold which came since the look is not let go by it.
std::optional<AccountId> only_own(const api::Call& call) {
    return call.caller.admin ? std::nullopt : std::optional(call.caller.account);
}

// The row as it stands after the act, and the act in the record.
TransferDecided record_decision(api::Call& call, const TransferRow& before,
                                const std::string& action, const TransferDecision& decision) {
    const TransferRow after = require_transfer(call, before.transfer_id);
    std::vector<audit::Change> changes;
    if (before.state != after.state)
        changes.push_back(
            {"state", std::string(enum_name(before.state)), std::string(enum_name(after.state))});
    if (before.held_why != after.held_why)
        changes.push_back({"held_why", before.held_why, after.held_why});
    const auto event =
        audit::record(call.context(), {.actor = audit::Actor::of(call.caller.account),
                                       .action = action,
                                       .target = {"transfer", to_string(before.transfer_id)},
                                       .reason = decision.reason.value,
                                       .changes = std::move(changes),
                                       .request = call.request_id});
    return {after.transfer_id, action, after.state, after.held_why, event};
}

}  // namespace

api::Page<AdminTransfer> Operators::list(api::Call& call, const AdminTransfersQuery& query) const {
    TransferFilter filter{.account = query.account,
                          .kind = query.kind,
                          .state = query.state,
                          .asset = query.asset,
                          .since = query.since,
                          .until = query.until,
                          .held = query.held};
    if (query.address) {
        filter.address = crypto::parse_address(query.address->value);
        if (!filter.address)
            throw Problem(Code::invalid_input, "query.address: has a wrong checksum");
    }
    AdminTransfersQuery filters = query;
    filters.cursor.reset();
    filters.limit.reset();
    const api::Pager pager(call.cursors, {"operators' transfers", wire::encode(filters)}, query);
    Brakes brakes(call.tx(), call.settings<Settings>(), call.now);
    return pager.page(
        list_transfers_like(call.tx(), filter, pager.after_id<TransferId>(), pager.rows_wanted()),
        &TransferRow::transfer_id,
        [&](const TransferRow& row) { return shown_to_operator(row, brakes.wait_of(row)); });
}

TransferDecided Operators::cancel(api::Call& call, const TransferPath& path,
                                  const TransferDecision& decision) const {
    const TransferRow before = require_transfer(call, path.id);
    call.require_step_up();
    // Its money would be back at once, and could be asked for anew, whatever it was held back for.
    if (before.account_id == call.caller.account)
        throw Problem(Code::forbidden,
                      "nobody calls off a transfer of their own account as an operator");
    require_may_let_go(call, before);
    if (before.state == TransferState::CANCELLED) throw too_late();
    if (before.held_why && !release_held(call.tx(), path.id, only_own(call))) throw too_late();
    end_unsigned({call.tx(), call.random, call.now}, before,
                 {.reason = "called off by an operator", .unless_held = true});
    if (require_transfer(call, path.id).state != TransferState::CANCELLED) throw too_late();
    return record_decision(call, before, "cancel_transfer", decision);
}

// Keeps: once this is answered the transfer is not signed until it is released. Signing moves it on
// by an update that asks for this very column, so one of the two finds what the other did.
TransferDecided Operators::hold(api::Call& call, const TransferPath& path,
                                const TransferDecision& decision) const {
    const TransferRow before = require_transfer(call, path.id);
    call.require_step_up();
    if (!hold_back(call.tx(), path.id, without_unnamed_secrets(decision.reason.value),
                   call.caller.account))
        throw too_late();
    return record_decision(call, before, "hold_transfer", decision);
}

TransferDecided Operators::release(api::Call& call, const TransferPath& path,
                                   const TransferDecision& decision) const {
    const TransferRow before = require_transfer(call, path.id);
    call.require_step_up();
    if (before.account_id == call.caller.account)
        throw Problem(Code::forbidden, "nobody releases a transfer of their own account");
    require_may_let_go(call, before);
    if (!before.held_why) throw Problem(Code::conflict, "nobody holds this transfer back");
    if (!release_held(call.tx(), path.id, only_own(call))) throw too_late();
    return record_decision(call, before, "release_transfer", decision);
}

std::vector<AdminTransfer> list_stuck(api::Call& call, const std::optional<TransferId>& after,
                                      std::int64_t rows_max) {
    return all_shown(call, list_late_transfers(call.tx(), call.now - late_after, after, rows_max));
}

LateCount count_stuck(api::Call& call, std::int64_t rows_max) {
    return count_late_transfers(call.tx(), call.now - late_after, rows_max);
}

std::vector<AdminTransfer> list_newest(api::Call& call, AccountId account, std::int64_t rows_max) {
    return all_shown(call,
                     list_transfers_like(call.tx(), {.account = account}, std::nullopt, rows_max));
}

void Operators::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    router.add({.method = "GET",
                .path = "/api/v1/admin/transfers",
                .name = "list_all_transfers",
                .group = "admin",
                .summary = "Withdrawals, payouts and returns of all accounts, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<AdminTransfersQuery>& query) {
                   return list(call, *query);
               });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/transfers/{id}/cancel",
         .name = "cancel_any_transfer",
         .group = "admin",
         .summary = "Calls a transfer off that was not signed yet; its money goes back.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {Code::not_found,
                    {Code::forbidden,
                     "it is of the caller's own account, or held by somebody else"},
                    {Code::conflict, "it was signed already, or is over"},
                    {Code::unavailable,
                     "payments are being compared with the chain; try again later"}}},
        [this](api::Call& call, const api::Path<TransferPath>& path,
               const api::Body<TransferDecision>& body) { return cancel(call, *path, *body); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/transfers/{id}/hold",
         .name = "hold_transfer",
         .group = "admin",
         .summary = "Keeps a transfer from being signed until somebody releases it.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {Code::not_found, {Code::conflict, "it was signed already, or is over"}}},
        [this](api::Call& call, const api::Path<TransferPath>& path,
               const api::Body<TransferDecision>& body) { return hold(call, *path, *body); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/transfers/{id}/release",
         .name = "release_transfer",
         .group = "admin",
         .summary = "Lets a transfer go that an operator has held back.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {Code::not_found,
                    {Code::forbidden,
                     "it is of the caller's own account, or held by somebody else"},
                    {Code::conflict, "nobody holds it back, or it is over"}}},
        [this](api::Call& call, const api::Path<TransferPath>& path,
               const api::Body<TransferDecision>& body) { return release(call, *path, *body); });
}

}  // namespace berth::transfers
