#include "admin/adjustments.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/redaction.hpp"
#include "crypto/hash_input.hpp"
#include "four_eyes/four_eyes.hpp"
#include "ledger/statement.hpp"
#include "rentals/evidence.hpp"
#include "treasury/treasury.hpp"

namespace berth::admin {
namespace {

constexpr std::int64_t entries_hashed_max = 10'000;

ledger::Job require_job(api::Call& call, JobId id) {
    const auto job = ledger::find_job(call.tx(), id);
    if (!job) throw Problem(Code::not_found, "body.job_id: no such job");
    return *job;
}

void refuse_own(const api::Call& call, const ledger::Job& job) {
    if (job.renter == call.caller.account || job.host == call.caller.account)
        throw Problem(Code::forbidden, "nobody decides over their own account");
}

// What a renter gets back by somebody's word. What was refunded before is part of what was shown.
four_eyes::Wish giving_back(const ledger::Job& job, Micro amount, std::string action,
                            const std::string& reason) {
    return {.action = std::move(action),
            .target = {"job", to_string(job.job)},
            .about = job.host,
            .gains = job.renter,
            .amount = amount,
            .reason = reason,
            .consequence = fmt::format(
                "The renter, account {}, gets {} micro-units of {} back for the job; {} of {} "
                "were refunded before. The host, account {}, and the fee give their parts of it.",
                to_string(job.renter), to_string(amount), ledger::name(job.asset),
                to_string(job.refunded), to_string(job.charged), to_string(job.host)),
            .seen = "refunded " + to_string(job.refunded)};
}

Micro hosts_part(Micro charge, std::int64_t fee_bps) {
    return charge - scale_floor(charge, {fee_bps, 10'000});
}

DisputeRecord shown_dispute(const DisputeRow& row) {
    return {row.dispute_id,
            row.job_id,
            row.asset,
            row.amount,
            row.held,
            row.state,
            row.reason,
            wire::decode<std::vector<std::string>>(row.evidence),
            {row.evidence_hash},
            row.opened_by,
            row.created_at,
            row.outcome,
            row.refund,
            row.refund_id,
            row.close_reason,
            row.closed_by,
            row.closed_at};
}

// Keeps: what was refunded of a job, and what open disputes are about, are together at most its
// charge, so that every dispute can end either way. To be asked after the job was changed: then its
// row is locked, and nobody refunds or disputes it meanwhile.
void require_room(Micro refundable, Micro disputed) {
    if (disputed > refundable)
        throw Problem(Code::conflict,
                      "refunds and open disputes of a job are together at most its charge");
}

void add_evidence(audit::Event& event, const std::vector<std::string>& evidence) {
    for (const std::string& text : evidence)
        event.changes.push_back({"evidence", std::nullopt, text});
}

audit::Event event_of(const api::Call& call, std::string action, audit::Target target,
                      std::string reason) {
    return {.actor = audit::Actor::of(call.caller.account),
            .action = std::move(action),
            .target = std::move(target),
            .reason = std::move(reason),
            .request = call.request_id};
}

}  // namespace

std::string cleaned(db::Transaction& tx, const std::string& text) {
    return without_unnamed_secrets(
        text, [&](const std::string& hash) { return treasury::knows_transaction(tx, hash); });
}

std::vector<std::string> cleaned(db::Transaction& tx, const Evidence& evidence) {
    std::vector<std::string> texts;
    for (const auto& text : evidence.value) texts.push_back(cleaned(tx, text.value));
    return texts;
}

std::string evidence_hash(db::Transaction& tx, JobId job,
                          const std::vector<std::string>& evidence) {
    crypto::HashInput input(4096);
    input.id(job).number(static_cast<std::int64_t>(evidence.size()));
    for (const std::string& text : evidence) input.text(text);
    input.text(rentals::find_evidence_head(tx, job).value_or(""));
    for (const ledger::Entry& entry : ledger::entries_of(tx, job, entries_hashed_max))
        input.id(entry.transaction).number(entry.ordinal).number(entry.amount.value);
    return "sha256:" + to_hex(input.sha256());
}

// Keeps: all refunds of a job together are at most its charge (the ledger's conditional update) and
// leave open disputes what they are about; one refund is posted once (its key, and the key of the
// request).
RefundMade Adjustments::refund(api::Call& call, const NewRefund& request) const {
    const ledger::Job job = require_job(call, request.job_id);
    call.require_step_up();
    refuse_own(call, job);
    four_eyes::require_second(
        call, giving_back(job, request.amount_micro.value, "refund", request.reason.value));
    const auto id = call.make_id<ledger::RefundId>();
    const ledger::Refunded made =
        ledger::refund(call.context(), {id, request.job_id, request.amount_micro});
    require_room(made.refundable, disputed_charge(call.tx(), request.job_id));
    audit::Event event =
        event_of(call, "refund", {"job", to_string(request.job_id)}, request.reason.value);
    event.changes = {{"refund_id", std::nullopt, to_string(id)},
                     {"refunded_micro", to_string(made.total - request.amount_micro.value),
                      to_string(made.total)}};
    add_evidence(event, cleaned(call.tx(), request.evidence));
    audit::record(call.context(), event);
    return {id,         request.job_id,  request.amount_micro,
            made.total, made.refundable, made.transaction};
}

// Keeps: what is held for open disputes is at most what the host has of the job.
DisputeRecord Adjustments::open(api::Call& call, const NewDispute& request) const {
    const ledger::Job job = require_job(call, request.job_id);
    call.require_step_up();
    refuse_own(call, job);
    const Micro before = job.refunded + disputed_charge(call.tx(), job.job);
    const Micro after = before + request.amount_micro;
    require_room(job.charged, after);
    const std::vector<std::string> evidence = cleaned(call.tx(), request.evidence);
    DisputeRow row;
    row.dispute_id = call.make_id<ledger::DisputeId>();
    row.job_id = job.job;
    row.asset = job.asset;
    row.amount = request.amount_micro;
    row.held = hosts_part(after, job.fee_bps) - hosts_part(before, job.fee_bps);
    row.reason = cleaned(call.tx(), request.reason.value);
    row.evidence = wire::encode(evidence);
    row.evidence_hash = evidence_hash(call.tx(), job.job, evidence);
    row.opened_by = call.caller.account;
    row.created_at = call.now;
    if (row.held == Micro{})
        throw Problem(Code::conflict, "the host has no share of this that could be held");
    ledger::dispute(call.context(), {row.dispute_id, row.job_id, row.held});
    add_dispute(call.tx(), row);
    const ledger::Job locked = require_job(call, job.job);
    require_room(locked.charged - locked.refunded, disputed_charge(call.tx(), job.job));
    audit::Event event =
        event_of(call, "open_dispute", {"dispute", to_string(row.dispute_id)}, row.reason);
    event.changes = {{"job_id", std::nullopt, to_string(row.job_id)},
                     {"amount_micro", std::nullopt, to_string(row.amount)},
                     {"evidence_hash", std::nullopt, row.evidence_hash}};
    audit::record(call.context(), event);
    return shown_dispute(row);
}

// Keeps: the hold ends and the refund is posted in one transaction, once.
DisputeRecord Adjustments::close(api::Call& call, const DisputePath& path,
                                 const CloseDispute& request) const {
    const bool upheld = request.outcome == Outcome::upheld;
    if (upheld != request.refund_micro.has_value())
        throw Problem(Code::invalid_input, upheld ? "body.refund_micro: is missing"
                                                  : "body.refund_micro: nothing is refunded when "
                                                    "a dispute is rejected");
    auto row = find_dispute(call.tx(), path.id);
    if (!row) throw Problem(Code::not_found, "no such dispute");
    call.require_step_up();
    const auto job = ledger::find_job(call.tx(), row->job_id);
    require(job.has_value(), "a dispute is about a job that the ledger knows");
    refuse_own(call, *job);
    row->state = DisputeState::closed;
    row->outcome = request.outcome;
    if (upheld) {
        row->refund = request.refund_micro->value;
        row->refund_id = call.make_id<ledger::RefundId>();
        if (*row->refund > row->amount)
            throw Problem(Code::conflict, "a refund is at most what was disputed");
        four_eyes::require_second(
            call, giving_back(*job, *row->refund, "close_dispute", request.reason.value));
    }
    row->close_reason = cleaned(call.tx(), request.reason.value);
    row->closed_by = call.caller.account;
    row->closed_at = call.now;
    if (!close_dispute(call.tx(), *row))
        throw Problem(Code::conflict, "the dispute is closed already");
    ledger::end_dispute(call.context(), row->dispute_id);
    if (upheld) ledger::refund(call.context(), {*row->refund_id, row->job_id, *row->refund});
    audit::Event event = event_of(call, "close_dispute", {"dispute", to_string(row->dispute_id)},
                                  request.reason.value);
    event.changes = {{"state", "open", "closed"},
                     {"outcome", std::nullopt, std::string(enum_name(request.outcome))}};
    if (upheld) event.changes.push_back({"refund_micro", std::nullopt, to_string(*row->refund)});
    audit::record(call.context(), event);
    return shown_dispute(*row);
}

api::Page<DisputeRecord> Adjustments::list(api::Call& call, const DisputesQuery& query) const {
    const api::Pager pager(call.cursors,
                           {"disputes", query.state ? std::string(enum_name(*query.state)) : "any"},
                           query);
    const DisputesWanted wanted{query.state, pager.after_id<ledger::DisputeId>()};
    return pager.page(list_disputes(call.tx(), wanted, pager.rows_wanted()),
                      &DisputeRow::dispute_id, shown_dispute);
}

void Adjustments::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    const api::DeclaredError own{Code::forbidden, "the job is the caller's own"};
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/refunds",
         .name = "refund",
         .group = "admin",
         .summary = "Gives a part of a job's charge back, from the host and from the fee.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .status = 202,
         .deferral = four_eyes::waits,
         .errors = {own,
                    Code::not_found,
                    {Code::conflict, "the job is not over"},
                    {Code::conflict, "refunds and open disputes would be more than the charge"}}},
        [this](api::Call& call, const api::Body<NewRefund>& body) { return refund(call, *body); });
    router.add({.method = "GET",
                .path = "/api/v1/admin/disputes",
                .name = "list_disputes",
                .group = "admin",
                .summary = "Disputes, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<DisputesQuery>& query) {
                   return list(call, *query);
               });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/disputes",
         .name = "open_dispute",
         .group = "admin",
         .summary = "Holds a host's share of a part of a charge back until it is decided.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .status = 201,
         .errors = {own,
                    Code::not_found,
                    {Code::conflict, "the job is not over"},
                    {Code::conflict, "it is more than the charge, or than the host has"},
                    {Code::insufficient_funds, "the host was paid out already"}}},
        [this](api::Call& call, const api::Body<NewDispute>& body) { return open(call, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/disputes/{id}/close",
                .name = "close_dispute",
                .group = "admin",
                .summary = "Decides a dispute: what was held is free again, and refunded if it "
                           "was upheld.",
                .access = Access::finance,
                .work = Work::write,
                .step_up = StepUp::admin_sensitive,
                .idempotent = true,
                .deferral = four_eyes::waits,
                .errors = {own,
                           Code::not_found,
                           {Code::conflict, "it is closed already"},
                           {Code::conflict, "the refund is more than what was disputed"}}},
               [this](api::Call& call, const api::Path<DisputePath>& path,
                      const api::Body<CloseDispute>& body) { return close(call, *path, *body); });
}

}  // namespace berth::admin
