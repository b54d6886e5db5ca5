#include "admin/cases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/events.hpp"
#include "base/check.hpp"

namespace berth::admin {
namespace {

// By the account's own tickets, of which there are few.
constexpr std::string_view ticket_about_sql =
    "SELECT ticket_id FROM tickets WHERE account_id = $1 AND job_id = $2 "
    "ORDER BY ticket_id DESC LIMIT 1";

struct RefundColumns {
    std::string refund_id;
    JobId job_id;
    ledger::Asset asset{};
    AccountId renter_id;
    AccountId host_id;
    Micro amount;
    Micro credit;
    Micro host;
    Time at;
};
BOOST_DESCRIBE_STRUCT(RefundColumns, (),
                      (refund_id, job_id, asset, renter_id, host_id, amount, credit, host, at))
// A refund is one or two transactions of the ledger, whose references end in its id. Ids are in the
// order of time, and so is their text. The few jobs of which something was refunded come first: a
// CROSS JOIN is carried out in its order.
db::Query<RefundColumns> refunds_of(const std::string& jobs) {
    return db::Query<RefundColumns>(
        "SELECT {} FROM (SELECT CASE WHEN t.movement = 'refund' THEN SUBSTR(t.reference, 8) "
        "ELSE SUBSTR(t.reference, 15) END AS refund_id, j.job_id, j.asset, j.renter_id, "
        "j.host_id, "
        "CAST(SUM(CASE WHEN e.kind IN ('refund', 'credit_refund') THEN e.amount ELSE 0 END) "
        "AS BIGINT) AS amount, "
        "CAST(SUM(CASE WHEN e.kind = 'credit_refund' THEN e.amount ELSE 0 END) AS BIGINT) "
        "AS credit, "
        "CAST(SUM(CASE WHEN e.kind = 'refund_host_reversal' THEN -e.amount ELSE 0 END) "
        "AS BIGINT) AS host, MIN(t.at) AS at FROM ledger_jobs j "
        "CROSS JOIN ledger_entries e CROSS JOIN ledger_transactions t "
        "WHERE j.refunded > 0 AND " +
        jobs +
        " AND (j.renter_id = $4 OR j.host_id = $4 OR $4 IS NULL) AND e.job_id = j.job_id "
        "AND e.kind IN ('refund', 'credit_refund', 'refund_host_reversal') "
        "AND t.transaction_id = e.transaction_id AND t.movement IN ('refund', 'credit_refund') "
        "GROUP BY 1, j.job_id, j.asset, j.renter_id, j.host_id) AS refunds "
        "WHERE (refund_id < $1 OR $1 IS NULL) ORDER BY refund_id DESC LIMIT $2");
}
const auto list_refunds_sql = refunds_of("(j.job_id = $3 OR $3 IS NULL)");
const auto list_refunds_of_job_sql = refunds_of("j.job_id = $3");

constexpr std::int64_t refunds_of_job_read_max = 1000;

wire::Nullable<tickets::TicketId> ticket_about(db::Transaction& tx, AccountId account, JobId job) {
    return tx.fetch_value<tickets::TicketId>(ticket_about_sql, account, job);
}

// Why and by whom: as the dispute that ended with it says, or as the record does.
void tell_why(db::Transaction& tx, RefundRecord& refund) {
    if (const auto dispute = find_dispute_by_refund(tx, refund.job_id, refund.refund_id)) {
        refund.dispute_id = dispute->dispute_id;
        refund.reason = dispute->close_reason;
        refund.refunded_by = dispute->closed_by;
        return;
    }
    const std::string id = to_string(refund.refund_id);
    const audit::Wanted wanted{
        .action = "refund", .target_kind = "job", .target_id = to_string(refund.job_id)};
    for (const audit::Recorded& event : audit::list_events(tx, wanted, refunds_of_job_read_max)) {
        const bool is_it = std::ranges::any_of(event.changes, [&](const audit::Change& change) {
            return change.field == "refund_id" && change.to == id;
        });
        if (!is_it) continue;
        refund.reason = event.reason;
        refund.refunded_by = event.account;
        return;
    }
}

RefundRecord shown_refund(db::Transaction& tx, const RefundColumns& row) {
    const auto id = parse_uuid(row.refund_id);
    require(id.has_value(), "the reference of a refund ends in its id");
    RefundRecord refund{ledger::RefundId{*id},
                        row.job_id,
                        row.asset,
                        row.renter_id,
                        row.host_id,
                        row.amount,
                        row.credit,
                        row.host,
                        row.amount - row.host,
                        {},
                        {},
                        {},
                        row.at};
    tell_why(tx, refund);
    return refund;
}

OwnDispute shown_to_renter(const DisputeRow& row) {
    return {row.dispute_id, row.job_id,    row.asset,   row.amount, row.state,
            row.created_at, row.closed_at, row.outcome, row.refund};
}

template <class SomeId>
std::string text_of(const std::optional<SomeId>& id) {
    return id ? to_string(*id) : "";
}

}  // namespace

DisputeDetail Cases::show(api::Call& call, const DisputePath& path) const {
    const auto row = find_dispute(call.tx(), path.id);
    if (!row) throw Problem(Code::not_found, "no such dispute");
    const auto job = ledger::find_job(call.tx(), row->job_id);
    require(job.has_value(), "a dispute is about a job that the ledger knows");
    DisputeRecord known = shown_dispute(*row);
    return {known.dispute_id,
            known.job_id,
            known.asset,
            known.amount_micro,
            known.held_micro,
            known.unsecured_micro,
            known.state,
            std::move(known.reason),
            std::move(known.evidence),
            std::move(known.evidence_hash),
            known.opened_by,
            known.created_at,
            known.outcome,
            known.refund_micro,
            known.refund_id,
            known.host_shortfall_micro,
            known.bearer,
            std::move(known.close_reason),
            known.closed_by,
            known.closed_at,
            job->renter,
            job->host,
            job->machine,
            job->charged,
            job->fee,
            job->refunded,
            job->charged - job->refunded,
            ticket_about(call.tx(), job->renter, job->job),
            ticket_about(call.tx(), job->host, job->job)};
}

api::Page<RefundRecord> Cases::refunds(api::Call& call, const RefundsQuery& query) const {
    const std::string filters = fmt::format("{}/{}", text_of(query.job_id), text_of(query.account));
    const api::Pager pager(call.cursors, {"refunds", filters}, query);
    const auto& list_sql = query.job_id ? list_refunds_of_job_sql : list_refunds_sql;
    return pager.page(
        call.tx().fetch(list_sql, pager.after(), pager.rows_wanted(), query.job_id, query.account),
        &RefundColumns::refund_id,
        [&](const RefundColumns& row) { return shown_refund(call.tx(), row); });
}

api::Page<OwnDispute> Cases::own(api::Call& call, const OwnDisputesQuery& query) const {
    const std::string filters =
        fmt::format("{}/{}/{}", to_string(call.caller.account),
                    query.state ? enum_name(*query.state) : "", text_of(query.job_id));
    const api::Pager pager(call.cursors, {"own disputes", filters}, query);
    const DisputesWanted wanted{.state = query.state,
                                .before = pager.after_id<ledger::DisputeId>(),
                                .job = query.job_id,
                                .renter = call.caller.account};
    return pager.page(list_disputes(call.tx(), wanted, pager.rows_wanted()),
                      &DisputeRow::dispute_id, shown_to_renter);
}

void Cases::add_routes(api::Router& router) const {
    using api::Access;
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/disputes/{id}",
         .name = "show_dispute",
         .group = "admin",
         .summary = "One dispute, with both sides, their tickets and what was charged.",
         .access = Access::operator_,
         .errors = {Code::not_found}},
        [this](api::Call& call, const api::Path<DisputePath>& path) { return show(call, *path); });
    router.add({.method = "GET",
                .path = "/api/v1/admin/refunds",
                .name = "list_refunds",
                .group = "admin",
                .summary = "Refunds, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<RefundsQuery>& query) {
                   return refunds(call, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/disputes",
                .name = "list_own_disputes",
                .group = "billing",
                .summary = "Disputes about what the account was charged, newest first.",
                .access = Access::renter},
               [this](api::Call& call, const api::Query<OwnDisputesQuery>& query) {
                   return own(call, *query);
               });
}

}  // namespace berth::admin
