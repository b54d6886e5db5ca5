#include "admin/adjustments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admin/letters.hpp"
#include "base/check.hpp"
#include "base/redaction.hpp"
#include "credits/credits.hpp"
#include "crypto/hash_input.hpp"
#include "four_eyes/four_eyes.hpp"
#include "ledger/statement.hpp"
#include "rentals/evidence.hpp"
#include "transfers/call_back.hpp"
#include "treasury/treasury.hpp"

namespace berth::admin {
namespace {

constexpr std::int64_t entries_hashed_max = 10'000;

// What is only rehearsed changes nothing: it asks for no proof and for no second admin, and it is
// in no record, nor in the log that a restore reads. Such a route declares no step-up.
bool is_rehearsed(const api::Call& call) { return call.step_up_checked(); }

ledger::Job require_job(api::Call& call, JobId id) {
    const auto job = ledger::find_job(call.tx(), id);
    if (!job) throw Problem(Code::not_found, "body.job_id: no such job");
    return *job;
}

void refuse_own(const api::Call& call, const ledger::Job& job) {
    if (job.renter == call.caller.account || job.host == call.caller.account)
        throw Problem(Code::forbidden, "nobody decides over their own account");
}

struct Giving {
    Micro amount;
    Micro shortfall;  // what the host's earnings would not pay of it now
    std::optional<ledger::Bearer> bearer;
};

// What a renter gets back by somebody's word. What was refunded before is part of what was shown,
// and so is what the host's earnings do not pay and who does: a host that leaves with its money
// while a second admin is waited for makes nobody pay who was not shown to.
four_eyes::Wish giving_back(const ledger::Job& job, const Giving& giving, std::string action,
                            const std::string& reason) {
    const auto& [amount, missing, bearer] = giving;
    const std::string_view rest = !bearer                                ? "nobody"
                                  : *bearer == ledger::Bearer::host_debt ? "the host, as a debt"
                                                                         : "the platform";
    return {.action = std::move(action),
            .target = {"job", to_string(job.job)},
            .about = job.host,
            .gains = job.renter,
            .amount = amount,
            .reason = reason,
            .consequence = fmt::format(
                "The renter, account {}, gets {} micro-units of {} back for the job; {} of {} "
                "were refunded before. The host, account {}, and the fee give their parts of it. "
                "The host's earnings do not cover {} of it now, which is borne by {}.",
                to_string(job.renter), to_string(amount), ledger::name(job.asset),
                to_string(job.refunded), to_string(job.charged), to_string(job.host),
                to_string(missing), rest),
            .seen = fmt::format("refunded {}, shortfall {}", to_string(job.refunded),
                                to_string(missing))};
}

Micro hosts_share(Micro charge, std::int64_t fee_bps) {
    return charge - scale_floor(charge, {fee_bps, 10'000});
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

using transfers::CalledBack;

Micro sum_of(const std::vector<CalledBack>& called) {
    Micro sum;
    for (const CalledBack& one : called) sum += one.amount;
    return sum;
}

std::vector<ledger::TransferId> ids_of(const std::vector<CalledBack>& called) {
    std::vector<ledger::TransferId> ids;
    for (const CalledBack& one : called) ids.push_back(one.transfer_id);
    return ids;
}

void tell_called_back(audit::Event& event, const std::vector<CalledBack>& called) {
    for (const CalledBack& one : called)
        event.changes.push_back({"called_back", std::nullopt, to_string(one.transfer_id)});
}

ledger::Job lock_job(api::Call& call, JobId id) {
    const auto job = ledger::lock_job(call.context(), id);
    require(job.has_value(), "a job that was found is there");
    return *job;
}

// What is to be refunded of a job whose row is locked.
struct Redress {
    const ledger::Job& job;
    Micro amount;
    std::optional<ledger::Bearer> bearer;
    Micro secured = {};  // what the dispute that ends with it had held
};
struct Redressed {
    RefundMade made;
    Micro host_part;
};

// Unsigned payouts of the host, and where the host is to owe the rest its withdrawals too.
std::vector<CalledBack> call_back(api::Call& call, const Redress& wish, Micro part) {
    const auto has = ledger::balances(call.tx(), wish.job.host, wish.job.asset);
    const Micro others = std::max(Micro{}, has.payable - wish.secured);
    if (part <= wish.secured + others) return {};
    transfers::CallBack back{.account = wish.job.host,
                             .asset = wish.job.asset,
                             .kind = transfers::TransferKind::payout,
                             .wanted = part - has.payable,
                             .reason = "called back: a renter was refunded"};
    auto called = transfers::call_back(call.context(), back);
    if (wish.bearer != ledger::Bearer::host_debt) return called;
    back.kind = transfers::TransferKind::withdrawal;
    back.wanted = back.wanted - sum_of(called) - has.available;
    for (const CalledBack& one : transfers::call_back(call.context(), back)) called.push_back(one);
    return called;
}

Redressed redress(api::Call& call, const Redress& wish) {
    // Of more than can be refunded there is no part; the ledger refuses it.
    const Micro left = wish.job.charged - wish.job.refunded;
    const Micro part = ledger::hosts_part(wish.job, std::min(wish.amount, left));
    const auto called = call_back(call, wish, part);
    const auto id = call.make_id<ledger::RefundId>();
    try {
        const ledger::Refunded made = ledger::refund(
            call.context(), {id, wish.job.job, wish.amount, wish.bearer, wish.secured});
        credits::give_back(call.tx(), wish.job.job, made.to_credit);
        const Micro paid = made.from_available + made.from_platform;
        return {{id,
                 wish.job.job,
                 wish.amount,
                 made.total,
                 made.refundable,
                 made.transaction,
                 made.to_credit,
                 {made.shortfall, wish.bearer, made.from_available, made.from_platform,
                  std::max(Micro{}, made.shortfall - paid), ids_of(called), sum_of(called)}},
                part};
    } catch (const ledger::Shortfall& refused) {
        throw shortfall.problem(refused.message, {refused.host_shortfall});
    }
}

void tell_burden(audit::Event& event, const Burden& burden) {
    if (burden.host_shortfall_micro > Micro{}) {
        event.changes.push_back(
            {"host_shortfall_micro", std::nullopt, to_string(burden.host_shortfall_micro)});
        event.changes.push_back(
            {"bearer", std::nullopt, std::string(enum_name(burden.bearer.value.value()))});
    }
    for (const ledger::TransferId id : burden.called_back)
        event.changes.push_back({"called_back", std::nullopt, to_string(id)});
}

// Where nobody is named the preview shows what the host would owe; it says that somebody must be.
std::optional<ledger::Bearer> for_preview(const BearerQuery& query) {
    return query.bearer.value_or(ledger::Bearer::host_debt);
}

RefundPreview shown_preview(api::Call& call, const Redressed& redressed, const BearerQuery& query) {
    const RefundMade& made = redressed.made;
    const auto job = ledger::find_job(call.tx(), made.job_id);
    const ledger::Means means = ledger::means(call.tx(), job.value().asset);
    RefundPreview shown{made.job_id,
                        made.amount_micro,
                        redressed.host_part,
                        made.amount_micro - redressed.host_part,
                        made.refunded_total_micro,
                        made.refundable_micro,
                        made.burden.host_shortfall_micro,
                        !query.bearer && made.burden.host_shortfall_micro > Micro{},
                        made.burden,
                        {means.fees + means.capital + made.burden.from_platform_micro}};
    if (!query.bearer) shown.burden.bearer = std::nullopt;
    return shown;
}

// Keeps: all refunds of a job together are at most its charge (the ledger's conditional update) and
// leave open disputes what they are about; one refund is posted once (its key, and the key of the
// request); and nobody pays for it who was not named.
Redressed carry_out(api::Call& call, const mail::Outbox& outbox, const NewRefund& request,
                    const std::optional<ledger::Bearer>& bearer) {
    const bool rehearsed = is_rehearsed(call);
    const ledger::Job known = require_job(call, request.job_id);
    if (!rehearsed) call.require_step_up();
    refuse_own(call, known);
    const ledger::Job job = lock_job(call, request.job_id);
    const auto give_back = [&] {
        Redressed given = redress(call, {job, request.amount_micro, bearer});
        require_room(given.made.refundable_micro, disputed_charge(call.tx(), request.job_id));
        return given;
    };
    // Nobody is asked to confirm what cannot be done.
    if (!rehearsed && four_eyes::may_wait(call)) {
        const Redressed foreseen = call.tx().rehearse(give_back);
        four_eyes::require_second(
            call, outbox,
            giving_back(job,
                        {request.amount_micro, foreseen.made.burden.host_shortfall_micro, bearer},
                        "refund", request.reason.value));
    }
    const Redressed redressed = give_back();
    if (rehearsed) return redressed;
    const RefundMade& made = redressed.made;
    letters::tell_refund(call, {made.refund_id, job, request.amount_micro, made.credit_micro,
                                redressed.host_part, made.burden});
    audit::Event event =
        event_of(call, "refund", {"job", to_string(request.job_id)}, request.reason.value);
    event.changes = {
        {"refund_id", std::nullopt, to_string(made.refund_id)},
        {"refunded_micro", to_string(made.refunded_total_micro - request.amount_micro.value),
         to_string(made.refunded_total_micro)}};
    tell_burden(event, made.burden);
    add_evidence(event, cleaned(call.tx(), request.evidence));
    audit::record(call.context(), event);
    return redressed;
}

struct Opened {
    DisputeRow row;
    std::vector<CalledBack> called_back;
};

// Keeps: what is held for open disputes is there, and is at most what the host has of the job.
Opened carry_out(api::Call& call, const NewDispute& request) {
    const bool rehearsed = is_rehearsed(call);
    const ledger::Job known = require_job(call, request.job_id);
    if (!rehearsed) call.require_step_up();
    refuse_own(call, known);
    const ledger::Job job = lock_job(call, request.job_id);
    const Micro before = job.refunded + disputed_charge(call.tx(), job.job);
    const Micro after = before + request.amount_micro;
    require_room(job.charged, after);
    const std::vector<std::string> evidence = cleaned(call.tx(), request.evidence);
    const Micro share = hosts_share(after, job.fee_bps) - hosts_share(before, job.fee_bps);
    if (share == Micro{})
        throw Problem(Code::conflict, "the host has no share of this that could be held");
    DisputeRow row;
    row.dispute_id = call.make_id<ledger::DisputeId>();
    row.job_id = job.job;
    row.asset = job.asset;
    row.amount = request.amount_micro;
    row.reason = cleaned(call.tx(), request.reason.value);
    row.evidence = wire::encode(evidence);
    row.evidence_hash = evidence_hash(call.tx(), job.job, evidence);
    row.opened_by = call.caller.account;
    row.created_at = call.now;
    const Micro payable = ledger::balances(call.tx(), job.host, job.asset).payable;
    const auto called =
        transfers::call_back(call.context(), {.account = job.host,
                                              .asset = job.asset,
                                              .kind = transfers::TransferKind::payout,
                                              .wanted = share - payable,
                                              .reason = "called back: a charge is disputed"});
    row.held = ledger::dispute(call.context(), {row.dispute_id, row.job_id, share});
    row.unsecured = share - row.held;
    add_dispute(call.tx(), row);
    if (rehearsed) return {std::move(row), called};
    letters::tell_opened(call, job, row);
    audit::Event event =
        event_of(call, "open_dispute", {"dispute", to_string(row.dispute_id)}, row.reason);
    event.changes = {{"job_id", std::nullopt, to_string(row.job_id)},
                     {"amount_micro", std::nullopt, to_string(row.amount)},
                     {"held_micro", std::nullopt, to_string(row.held)},
                     {"unsecured_micro", std::nullopt, to_string(row.unsecured)},
                     {"evidence_hash", std::nullopt, row.evidence_hash}};
    tell_called_back(event, called);
    audit::record(call.context(), event);
    return {std::move(row), called};
}

struct Closed {
    DisputeRow row;
    Micro released;
    std::optional<Redressed> redress = {};
};

void check_outcome(const CloseDispute& request) {
    const bool upheld = request.outcome == Outcome::upheld;
    if (upheld != request.refund_micro.has_value())
        throw Problem(Code::invalid_input, upheld ? "body.refund_micro: is missing"
                                                  : "body.refund_micro: nothing is refunded when "
                                                    "a dispute is rejected");
}

// Keeps: the hold ends and the refund is posted in one transaction, once.
Closed decide(api::Call& call, const ledger::Job& job, DisputeRow row, const CloseDispute& request,
              const std::optional<ledger::Bearer>& bearer) {
    Closed closed;
    closed.released = ledger::end_dispute(call.context(), row.dispute_id);
    row.state = DisputeState::closed;
    row.outcome = request.outcome;
    if (request.refund_micro) {
        row.refund = request.refund_micro->value;
        closed.redress = redress(call, {job, *row.refund, bearer, closed.released});
        const RefundMade& made = closed.redress->made;
        row.refund_id = made.refund_id;
        row.shortfall = made.burden.host_shortfall_micro;
        if (*row.shortfall > Micro{}) row.bearer = bearer;
    }
    row.close_reason = cleaned(call.tx(), request.reason.value);
    row.closed_by = call.caller.account;
    row.closed_at = call.now;
    if (!close_dispute(call.tx(), row))
        throw Problem(Code::conflict, "the dispute is closed already");
    closed.row = std::move(row);
    return closed;
}

Closed carry_out(api::Call& call, const mail::Outbox& outbox, const DisputePath& path,
                 const CloseDispute& request, const std::optional<ledger::Bearer>& bearer) {
    check_outcome(request);
    const bool rehearsed = is_rehearsed(call);
    const auto row = find_dispute(call.tx(), path.id);
    if (!row) throw Problem(Code::not_found, "no such dispute");
    if (!rehearsed) call.require_step_up();
    const auto known = ledger::find_job(call.tx(), row->job_id);
    require(known.has_value(), "a dispute is about a job that the ledger knows");
    refuse_own(call, *known);
    if (row->state == DisputeState::closed)
        throw Problem(Code::conflict, "the dispute is closed already");
    if (request.refund_micro && request.refund_micro->value > row->amount)
        throw Problem(Code::conflict, "a refund is at most what was disputed");
    const ledger::Job job = lock_job(call, row->job_id);
    const auto close = [&] { return decide(call, job, *row, request, bearer); };
    if (request.refund_micro && !rehearsed && four_eyes::may_wait(call)) {
        const Closed foreseen = call.tx().rehearse(close);
        four_eyes::require_second(
            call, outbox,
            giving_back(job,
                        {request.refund_micro->value,
                         foreseen.redress->made.burden.host_shortfall_micro, bearer},
                        "close_dispute", request.reason.value));
    }
    Closed closed = close();
    if (rehearsed) return closed;
    letters::tell_closed(call, job, closed.row, closed.released);
    if (closed.redress)
        letters::tell_refund(call, {closed.redress->made.refund_id, job, *closed.row.refund,
                                    closed.redress->made.credit_micro, closed.redress->host_part,
                                    closed.redress->made.burden});
    audit::Event event =
        event_of(call, "close_dispute", {"dispute", to_string(path.id)}, request.reason.value);
    event.changes = {{"state", "open", "closed"},
                     {"outcome", std::nullopt, std::string(enum_name(request.outcome))}};
    if (closed.redress) {
        event.changes.push_back({"refund_micro", std::nullopt, to_string(*closed.row.refund)});
        tell_burden(event, closed.redress->made.burden);
    }
    audit::record(call.context(), event);
    return closed;
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

DisputeRecord shown_dispute(const DisputeRow& row) {
    return {
        row.dispute_id,      row.job_id,    row.asset,
        row.amount,          row.held,      row.unsecured,
        row.state,           row.reason,    wire::decode<std::vector<std::string>>(row.evidence),
        {row.evidence_hash}, row.opened_by, row.created_at,
        row.outcome,         row.refund,    row.refund_id,
        row.shortfall,       row.bearer,    row.close_reason,
        row.closed_by,       row.closed_at};
}

RefundMade Adjustments::refund(api::Call& call, const NewRefund& request,
                               const BearerQuery& query) const {
    return carry_out(call, outbox_, request, query.bearer).made;
}

RefundPreview Adjustments::preview(api::Call& call, const NewRefund& request,
                                   const BearerQuery& query) const {
    return shown_preview(call, carry_out(call, outbox_, request, for_preview(query)), query);
}

DisputeRecord Adjustments::open(api::Call& call, const NewDispute& request) const {
    return shown_dispute(carry_out(call, request).row);
}

DisputePreview Adjustments::preview(api::Call& call, const NewDispute& request) const {
    const Opened opened = carry_out(call, request);
    return {opened.row.job_id,    opened.row.amount,          opened.row.held,
            opened.row.unsecured, ids_of(opened.called_back), sum_of(opened.called_back)};
}

DisputeRecord Adjustments::close(api::Call& call, const DisputePath& path,
                                 const CloseDispute& request, const BearerQuery& query) const {
    return shown_dispute(carry_out(call, outbox_, path, request, query.bearer).row);
}

ClosePreview Adjustments::preview(api::Call& call, const DisputePath& path,
                                  const CloseDispute& request, const BearerQuery& query) const {
    const Closed closed = carry_out(call, outbox_, path, request, for_preview(query));
    ClosePreview shown{closed.row.dispute_id, closed.released, std::nullopt};
    if (closed.redress) shown.refund = shown_preview(call, *closed.redress, query);
    return shown;
}

api::Page<DisputeRecord> Adjustments::list(api::Call& call, const DisputesQuery& query) const {
    DisputesQuery filters = query;
    filters.cursor.reset();
    filters.limit.reset();
    const api::Pager pager(call.cursors, {"disputes", wire::encode(filters)}, query);
    const DisputesWanted wanted{.state = query.state,
                                .before = pager.after_id<ledger::DisputeId>(),
                                .job = query.job_id,
                                .renter = query.renter,
                                .host = query.host};
    return pager.page(list_disputes(call.tx(), wanted, pager.rows_wanted()),
                      &DisputeRow::dispute_id, shown_dispute);
}

void Adjustments::add_routes(api::Router& router) const {
    using api::Access;
    using api::Work;
    const std::vector<api::DeclaredError> errors{
        {Code::forbidden, "the job is the caller's own"},
        Code::not_found,
        {Code::conflict, "the job is not over"},
        {Code::conflict, "refunds and open disputes would be more than the charge"},
        {Code::conflict,
         "the host's earnings do not pay its part, and nobody is named who bears "
         "the rest, or the platform cannot"}};
    router.add({.method = "POST",
                .path = "/api/v1/admin/refunds",
                .name = "refund",
                .group = "admin",
                .summary = "Gives a part of a job's charge back, from the host and from the fee.",
                .access = Access::finance,
                .work = Work::write,
                .step_up = api::StepUp::admin_sensitive,
                .idempotent = true,
                .status = 202,
                .deferral = four_eyes::waits,
                .errors = errors,
                .siblings = {shortfall}},
               [this](api::Call& call, const api::Query<BearerQuery>& query,
                      const api::Body<NewRefund>& body) { return refund(call, *body, *query); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/refunds/preview",
                .name = "preview_refund",
                .group = "admin",
                .summary = "What a refund would do and who would pay it; changes nothing.",
                .access = Access::finance,
                .work = Work::rehearse,
                .errors = errors,
                .siblings = {shortfall}},
               [this](api::Call& call, const api::Query<BearerQuery>& query,
                      const api::Body<NewRefund>& body) { return preview(call, *body, *query); });
    add_dispute_routes(router);
}

void Adjustments::add_dispute_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    const api::DeclaredError own{Code::forbidden, "the job is the caller's own"};
    const std::vector<api::DeclaredError> open_errors{
        own,
        Code::not_found,
        {Code::conflict, "the job is not over"},
        {Code::conflict, "it is more than the charge, or than the host's share"}};
    const std::vector<api::DeclaredError> close_errors{
        own,
        Code::not_found,
        {Code::conflict, "it is closed already"},
        {Code::conflict, "the refund is more than what was disputed"},
        {Code::conflict,
         "the host's earnings do not pay its part, and nobody is named who bears "
         "the rest, or the platform cannot"}};
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
         .summary = "Holds a host's share of a part of a charge back until it is decided, as far "
                    "as it is there.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .status = 201,
         .errors = open_errors},
        [this](api::Call& call, const api::Body<NewDispute>& body) { return open(call, *body); });
    router.add({.method = "POST",
                .path = "/api/v1/admin/disputes/preview",
                .name = "preview_dispute",
                .group = "admin",
                .summary = "How much a dispute could hold; changes nothing.",
                .access = Access::finance,
                .work = Work::rehearse,
                .errors = open_errors},
               [this](api::Call& call, const api::Body<NewDispute>& body) {
                   return preview(call, *body);
               });
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
                .errors = close_errors,
                .siblings = {shortfall}},
               [this](api::Call& call, const api::Path<DisputePath>& path,
                      const api::Query<BearerQuery>& query, const api::Body<CloseDispute>& body) {
                   return close(call, *path, *body, *query);
               });
    router.add({.method = "POST",
                .path = "/api/v1/admin/disputes/{id}/close/preview",
                .name = "preview_close_dispute",
                .group = "admin",
                .summary = "What deciding a dispute would do and who would pay it; changes "
                           "nothing.",
                .access = Access::finance,
                .work = Work::rehearse,
                .errors = close_errors,
                .siblings = {shortfall}},
               [this](api::Call& call, const api::Path<DisputePath>& path,
                      const api::Query<BearerQuery>& query, const api::Body<CloseDispute>& body) {
                   return preview(call, *path, *body, *query);
               });
}

}  // namespace berth::admin
