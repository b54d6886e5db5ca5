// Disputes and refunds as they are read: one dispute with all that a decision needs, refunds of all
// jobs, and a renter's own disputes.
#pragma once

#include "admin/adjustments.hpp"
#include "tickets/types.hpp"

namespace berth::admin {

struct DisputeDetail {
    ledger::DisputeId dispute_id;
    JobId job_id;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro amount_micro;
    Micro held_micro;
    Micro unsecured_micro;
    DisputeState state = DisputeState::open;
    std::string reason;
    std::vector<std::string> evidence;
    wire::Sha256Hash evidence_hash;
    AccountId opened_by;
    Time created_at;
    wire::Nullable<Outcome> outcome;
    wire::Nullable<Micro> refund_micro;
    wire::Nullable<ledger::RefundId> refund_id;
    wire::Nullable<Micro> host_shortfall_micro;
    wire::Nullable<ledger::Bearer> bearer;
    wire::Nullable<std::string> close_reason;
    wire::Nullable<AccountId> closed_by;
    wire::Nullable<Time> closed_at;
    AccountId renter_id;
    AccountId host_id;
    MachineId machine_id;
    Micro charged_micro;
    Micro fee_micro;
    Micro refunded_micro;
    Micro refundable_micro;
    wire::Nullable<tickets::TicketId> renter_ticket_id;
    wire::Nullable<tickets::TicketId> host_ticket_id;
};
BOOST_DESCRIBE_STRUCT(DisputeDetail, (),
                      (dispute_id, job_id, asset, amount_micro, held_micro, unsecured_micro, state,
                       reason, evidence, evidence_hash, opened_by, created_at, outcome,
                       refund_micro, refund_id, host_shortfall_micro, bearer, close_reason,
                       closed_by, closed_at, renter_id, host_id, machine_id, charged_micro,
                       fee_micro, refunded_micro, refundable_micro, renter_ticket_id,
                       host_ticket_id))
constexpr auto wire_docs(const DisputeDetail*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "The part of the charge that is disputed.", "500000"},
        {"held_micro", "What is secured of the host's share while the dispute is open.", "450000"},
        {"unsecured_micro", "The rest of the host's share: it had been paid out already.", "0"},
        {"reason", "", "The renter says that nothing ran."},
        {"evidence", "", "ticket 0193a6"},
        {"evidence_hash", "Over the evidence and what was known of the job when it was opened."},
        {"opened_by", "The admin who opened it."},
        {"outcome", "Null while it is open.", "null"},
        {"refund_micro", "Null when nothing was refunded.", "null"},
        {"refund_id", "Null when nothing was refunded.", "null"},
        {"host_shortfall_micro",
         "What the host's earnings did not pay of the refund; null when nothing was refunded.",
         "null"},
        {"bearer", "Who was named to bear that; null when nobody was.", "null"},
        {"close_reason", "Null while it is open.", "null"},
        {"closed_by", "The admin who closed it; null while it is open.", "null"},
        {"closed_at", "Null while it is open.", "null"},
        {"renter_id", "Who rented."},
        {"host_id", "Whose machine it was."},
        {"charged_micro", "What the renter was charged for the job.", "2000000"},
        {"fee_micro", "The platform's part of that.", "200000"},
        {"refunded_micro", "By all refunds of the job.", "0"},
        {"refundable_micro", "What may still be refunded.", "2000000"},
        {"renter_ticket_id", "The renter's newest ticket about the job; null when there is none."},
        {"host_ticket_id", "The host's newest ticket about the job; null when there is none.",
         "null"},
    });
}

struct OwnDispute {
    ledger::DisputeId dispute_id;
    JobId job_id;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro amount_micro;
    DisputeState state = DisputeState::open;
    Time opened_at;
    wire::Nullable<Time> closed_at;
    wire::Nullable<Outcome> outcome;
    wire::Nullable<Micro> refund_micro;
};
BOOST_DESCRIBE_STRUCT(OwnDispute, (),
                      (dispute_id, job_id, asset, amount_micro, state, opened_at, closed_at,
                       outcome, refund_micro))
constexpr auto wire_docs(const OwnDispute*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "The part of the charge that is disputed.", "500000"},
        {"opened_at", "Since when it is looked into."},
        {"closed_at", "Null while it is open.", "null"},
        {"outcome", "Upheld for the renter, rejected for the host; null while it is open.", "null"},
        {"refund_micro", "What went back to you by it; null when nothing did.", "null"},
    });
}

struct OwnDisputesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<DisputeState> state;
    std::optional<JobId> job_id;
};
BOOST_DESCRIBE_STRUCT(OwnDisputesQuery, (), (cursor, limit, state, job_id))
constexpr auto wire_docs(const OwnDisputesQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only disputes in this state.", "open"},
        {"job_id", "Only disputes of this rental."},
    });
}

struct RefundsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<JobId> job_id;
    std::optional<AccountId> account;
};
BOOST_DESCRIBE_STRUCT(RefundsQuery, (), (cursor, limit, job_id, account))
constexpr auto wire_docs(const RefundsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"job_id", "Only refunds of this rental."},
        {"account", "Only refunds to this renter, or of this host's rentals."},
    });
}

struct RefundRecord {
    ledger::RefundId refund_id;
    JobId job_id;
    ledger::Asset asset = ledger::Asset::usdc;
    AccountId renter_id;
    AccountId host_id;
    Micro amount_micro;
    Micro credit_micro;
    Micro host_micro;
    Micro fee_micro;
    wire::Nullable<ledger::DisputeId> dispute_id;
    wire::Nullable<std::string> reason;
    wire::Nullable<AccountId> refunded_by;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(RefundRecord, (),
                      (refund_id, job_id, asset, renter_id, host_id, amount_micro, credit_micro,
                       host_micro, fee_micro, dispute_id, reason, refunded_by, created_at))
constexpr auto wire_docs(const RefundRecord*) {
    return std::to_array<wire::Doc>({
        {"renter_id", "Who got it."},
        {"host_id", "Whose machine it was."},
        {"amount_micro", "", "500000"},
        {"credit_micro", "Of the amount: what went back to a promotional credit.", "0"},
        {"host_micro", "The host's part of it.", "450000"},
        {"fee_micro", "The platform's part of it.", "50000"},
        {"dispute_id", "The dispute that ended with it; null when it was none.", "null"},
        {"reason", "Why; null where the record does not tell.",
         "The machine was out of memory for an hour."},
        {"refunded_by", "The admin who decided it; null where the record does not tell."},
    });
}

}  // namespace berth::admin
