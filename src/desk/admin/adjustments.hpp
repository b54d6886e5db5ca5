// What operators put right about a job that is over: refunds, and disputes that hold a host's
// earnings back until they are decided. Nobody decides over their own account.
#pragma once

#include "admin/store.hpp"
#include "admin/types.hpp"
#include "api/router.hpp"

namespace berth::admin {

using Evidence = wire::List<wire::Text<0, body_text_max>, 0, body_text_max>;
using Why = wire::Text<1, body_text_max>;

struct NewRefund {
    JobId job_id;
    wire::PositiveMicro amount_micro;
    Why reason;
    Evidence evidence;
};
BOOST_DESCRIBE_STRUCT(NewRefund, (), (job_id, amount_micro, reason, evidence))
constexpr auto wire_docs(const NewRefund*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "All refunds of a job are at most its charge.", "500000"},
        api::reason_doc("The machine was out of memory for an hour."),
        {"evidence", "What shows it: links, numbers of tickets, hashes.", "ticket 0193a6"},
    });
}

struct RefundMade {
    ledger::RefundId refund_id;
    JobId job_id;
    Micro amount_micro;
    Micro refunded_total_micro;
    Micro refundable_micro;
    ledger::TransactionId transaction_id;
};
BOOST_DESCRIBE_STRUCT(RefundMade, (),
                      (refund_id, job_id, amount_micro, refunded_total_micro, refundable_micro,
                       transaction_id))
constexpr auto wire_docs(const RefundMade*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "", "500000"},
        {"refunded_total_micro", "By all refunds of the job.", "500000"},
        {"refundable_micro", "What may still be refunded.", "1500000"},
        {"transaction_id", "Of the ledger."},
    });
}

struct NewDispute {
    JobId job_id;
    wire::PositiveMicro amount_micro;
    Why reason;
    Evidence evidence;
};
BOOST_DESCRIBE_STRUCT(NewDispute, (), (job_id, amount_micro, reason, evidence))
constexpr auto wire_docs(const NewDispute*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "The part of the charge that is disputed; the host's share of it is held.",
         "500000"},
        api::reason_doc("The renter says that nothing ran."),
        {"evidence", "What shows it: links, numbers of tickets, hashes.", "ticket 0193a6"},
    });
}

struct CloseDispute {
    Outcome outcome = Outcome::rejected;
    std::optional<wire::PositiveMicro> refund_micro;
    Why reason;
};
BOOST_DESCRIBE_STRUCT(CloseDispute, (), (outcome, refund_micro, reason))
constexpr auto wire_docs(const CloseDispute*) {
    return std::to_array<wire::Doc>({
        {"outcome", "For whom it was decided: upheld for the renter, rejected for the host."},
        {"refund_micro", "What the renter gets back, of an upheld one: at most its amount.",
         "500000"},
        api::reason_doc("The evidence shows no READY."),
    });
}

struct DisputePath {
    ledger::DisputeId id;
};
BOOST_DESCRIBE_STRUCT(DisputePath, (), (id))

struct DisputesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<DisputeState> state;
};
BOOST_DESCRIBE_STRUCT(DisputesQuery, (), (cursor, limit, state))
constexpr auto wire_docs(const DisputesQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only disputes in this state.", "open"},
    });
}

struct DisputeRecord {
    ledger::DisputeId dispute_id;
    JobId job_id;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro amount_micro;
    Micro held_micro;
    DisputeState state = DisputeState::open;
    std::string reason;
    std::vector<std::string> evidence;
    wire::Sha256Hash evidence_hash;
    AccountId opened_by;
    Time created_at;
    wire::Nullable<Outcome> outcome;
    wire::Nullable<Micro> refund_micro;
    wire::Nullable<ledger::RefundId> refund_id;
    wire::Nullable<std::string> close_reason;
    wire::Nullable<AccountId> closed_by;
    wire::Nullable<Time> closed_at;
};
BOOST_DESCRIBE_STRUCT(DisputeRecord, (),
                      (dispute_id, job_id, asset, amount_micro, held_micro, state, reason, evidence,
                       evidence_hash, opened_by, created_at, outcome, refund_micro, refund_id,
                       close_reason, closed_by, closed_at))
constexpr auto wire_docs(const DisputeRecord*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "The part of the charge that is disputed.", "500000"},
        {"held_micro", "The host's share of it, out of reach while the dispute is open.", "450000"},
        {"reason", "", "The renter says that nothing ran."},
        {"evidence", "", "ticket 0193a6"},
        {"evidence_hash",
         "Over the evidence, the newest hash of the job's own records, and everything that the "
         "ledger said of the job when the dispute was opened."},
        {"opened_by", "The admin who opened it."},
        {"outcome", "Null while it is open.", "null"},
        {"refund_micro", "Null when nothing was refunded.", "null"},
        {"refund_id", "Null when nothing was refunded.", "null"},
        {"close_reason", "Null while it is open.", "null"},
        {"closed_by", "The admin who closed it; null while it is open.", "null"},
        {"closed_at", "Null while it is open.", "null"},
    });
}

// Binds a dispute to what was known when it was opened: what the operator names, the chain of
// records that machine and service left of the job, and what the ledger says of it.
// Texts of operators as they are kept: without secrets, and with the transactions they name.
std::string cleaned(db::Transaction& tx, const std::string& text);
std::vector<std::string> cleaned(db::Transaction& tx, const Evidence& evidence);

std::string evidence_hash(db::Transaction& tx, JobId job, const std::vector<std::string>& evidence);

class Adjustments {
public:
    void add_routes(api::Router& router) const;

    RefundMade refund(api::Call& call, const NewRefund& request) const;
    DisputeRecord open(api::Call& call, const NewDispute& request) const;
    DisputeRecord close(api::Call& call, const DisputePath& path,
                        const CloseDispute& request) const;
    api::Page<DisputeRecord> list(api::Call& call, const DisputesQuery& query) const;
};

}  // namespace berth::admin
