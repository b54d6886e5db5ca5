// What operators put right about a job that is over: refunds, and disputes that hold a host's
// earnings back until they are decided. Nobody decides over their own account.
#pragma once

#include "admin/store.hpp"
#include "admin/types.hpp"
#include "api/router.hpp"
#include "mail/outbox.hpp"

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

struct BearerQuery {
    std::optional<ledger::Bearer> bearer;
};
BOOST_DESCRIBE_STRUCT(BearerQuery, (), (bearer))
constexpr auto wire_docs(const BearerQuery*) {
    return std::to_array<wire::Doc>({
        {"bearer",
         "Who bears what the host's earnings do not pay of its part: `host_debt`, taken from "
         "whatever the host has and gets, or `platform`, from its own fees and capital. Without it "
         "such a refund is refused.",
         "host_debt"},
    });
}

// Beside a refusal: how much somebody has to bear.
struct HostShortfall {
    Micro host_shortfall_micro;
};
BOOST_DESCRIBE_STRUCT(HostShortfall, (), (host_shortfall_micro))
constexpr auto wire_docs(const HostShortfall*) {
    return std::to_array<wire::Doc>({
        {"host_shortfall_micro", "What the host's earnings do not pay of its part.", "450000"},
    });
}
inline constexpr api::Sibling<HostShortfall> shortfall{Code::conflict, "shortfall"};

// Who pays the host's part of a refund.
struct Burden {
    Micro host_shortfall_micro;
    wire::Nullable<ledger::Bearer> bearer;
    Micro from_available_micro;
    Micro from_platform_micro;
    Micro host_debt_micro;
    std::vector<ledger::TransferId> called_back;
    Micro called_back_micro;
};
BOOST_DESCRIBE_STRUCT(Burden, (),
                      (host_shortfall_micro, bearer, from_available_micro, from_platform_micro,
                       host_debt_micro, called_back, called_back_micro))
constexpr auto wire_docs(const Burden*) {
    return std::to_array<wire::Doc>({
        {"host_shortfall_micro", "What the host's earnings do not pay of its part.", "450000"},
        {"bearer", "Who was named to bear that; null when nobody was.", "host_debt"},
        {"from_available_micro", "What of it the host's own balance pays.", "50000"},
        {"from_platform_micro", "What of it the platform pays, from fees and capital.", "0"},
        {"host_debt_micro", "What the host goes on owing; whatever it gets is taken for it first.",
         "400000"},
        {"called_back",
         "Transfers of the host that nobody had signed yet and that were called "
         "back for it."},
        {"called_back_micro", "What they make together.", "0"},
    });
}

struct RefundMade {
    ledger::RefundId refund_id;
    JobId job_id;
    Micro amount_micro;
    Micro refunded_total_micro;
    Micro refundable_micro;
    ledger::TransactionId transaction_id;
    Micro credit_micro;
    Burden burden;
};
BOOST_DESCRIBE_STRUCT(RefundMade, (),
                      (refund_id, job_id, amount_micro, refunded_total_micro, refundable_micro,
                       transaction_id, credit_micro, burden))
constexpr auto wire_docs(const RefundMade*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "", "500000"},
        {"refunded_total_micro", "By all refunds of the job.", "500000"},
        {"refundable_micro", "What may still be refunded.", "1500000"},
        {"transaction_id", "Of the ledger."},
        {"credit_micro",
         "Of the amount: what a promotional credit had paid, and goes back to it instead of to the "
         "balance.",
         "0"},
        {"burden", "Who paid the host's part."},
    });
}

struct RefundPreview {
    JobId job_id;
    Micro amount_micro;
    Micro host_micro;
    Micro fee_micro;
    Micro refunded_total_micro;
    Micro refundable_micro;
    Micro host_shortfall_micro;
    bool needs_bearer = false;
    Burden burden;
    wire::SignedMicro platform_means_micro;
};
BOOST_DESCRIBE_STRUCT(RefundPreview, (),
                      (job_id, amount_micro, host_micro, fee_micro, refunded_total_micro,
                       refundable_micro, host_shortfall_micro, needs_bearer, burden,
                       platform_means_micro))
constexpr auto wire_docs(const RefundPreview*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "", "500000"},
        {"host_micro", "The host's part of it.", "450000"},
        {"fee_micro", "The platform's part of it.", "50000"},
        {"refunded_total_micro", "By all refunds of the job.", "500000"},
        {"refundable_micro", "What could still be refunded.", "1500000"},
        {"host_shortfall_micro", "What the host's earnings do not pay of its part.", "450000"},
        {"needs_bearer", "Whether it is refused as long as nobody is named to bear that.", "true"},
        {"burden", "Who would pay the host's part; where nobody is named, as if the host owed it."},
        {"platform_means_micro", "What the platform has of fees and capital, and could bear.",
         "90000000"},
    });
}

struct DisputePreview {
    JobId job_id;
    Micro amount_micro;
    Micro held_micro;
    Micro unsecured_micro;
    std::vector<ledger::TransferId> called_back;
    Micro called_back_micro;
};
BOOST_DESCRIBE_STRUCT(DisputePreview, (),
                      (job_id, amount_micro, held_micro, unsecured_micro, called_back,
                       called_back_micro))
constexpr auto wire_docs(const DisputePreview*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "The part of the charge that would be disputed.", "500000"},
        {"held_micro", "What of the host's share of it is there to be held.", "450000"},
        {"unsecured_micro", "The rest of that share, which has left already.", "0"},
        {"called_back", "Payouts that nobody has signed yet and that would be called back."},
        {"called_back_micro", "What they make together.", "0"},
    });
}

struct ClosePreview {
    ledger::DisputeId dispute_id;
    Micro released_micro;
    wire::Nullable<RefundPreview> refund;
};
BOOST_DESCRIBE_STRUCT(ClosePreview, (), (dispute_id, released_micro, refund))
constexpr auto wire_docs(const ClosePreview*) {
    return std::to_array<wire::Doc>({
        {"released_micro", "What was held and would be free again.", "450000"},
        {"refund", "What of it would go back to the renter; null when nothing would.", "null"},
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
constexpr std::string_view wire_rules(const CloseDispute*) {
    return R"({"if":{"properties":{"outcome":{"const":"upheld"}}},)"
           R"("then":{"required":["refund_micro"]},"else":{"not":{"required":["refund_micro"]}}})";
}
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
    std::optional<JobId> job_id;
    std::optional<AccountId> renter;
    std::optional<AccountId> host;
};
BOOST_DESCRIBE_STRUCT(DisputesQuery, (), (cursor, limit, state, job_id, renter, host))
constexpr auto wire_docs(const DisputesQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only disputes in this state.", "open"},
        {"job_id", "Only disputes of this rental."},
        {"renter", "Only disputes of rentals of this account."},
        {"host", "Only disputes of rentals of this account's machines."},
    });
}

struct DisputeRecord {
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
};
BOOST_DESCRIBE_STRUCT(DisputeRecord, (),
                      (dispute_id, job_id, asset, amount_micro, held_micro, unsecured_micro, state,
                       reason, evidence, evidence_hash, opened_by, created_at, outcome,
                       refund_micro, refund_id, host_shortfall_micro, bearer, close_reason,
                       closed_by, closed_at))
constexpr auto wire_docs(const DisputeRecord*) {
    return std::to_array<wire::Doc>({
        {"amount_micro", "The part of the charge that is disputed.", "500000"},
        {"held_micro",
         "What is secured: of the host's share, as much as was there, out of reach while the "
         "dispute is open.",
         "450000"},
        {"unsecured_micro", "The rest of the host's share: it had been paid out already.", "0"},
        {"reason", "", "The renter says that nothing ran."},
        {"evidence", "", "ticket 0193a6"},
        {"evidence_hash",
         "Over the evidence, the newest hash of the job's own records, and everything that the "
         "ledger said of the job when the dispute was opened."},
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
    });
}

// Binds a dispute to what was known when it was opened: what the operator names, the chain of
// records that machine and service left of the job, and what the ledger says of it.
// Texts of operators as they are kept: without secrets, and with the transactions they name.
std::string cleaned(db::Transaction& tx, const std::string& text);
std::vector<std::string> cleaned(db::Transaction& tx, const Evidence& evidence);

std::string evidence_hash(db::Transaction& tx, JobId job, const std::vector<std::string>& evidence);

DisputeRecord shown_dispute(const DisputeRow& row);

class Adjustments {
public:
    explicit Adjustments(const mail::Outbox& outbox) : outbox_(outbox) {}

    void add_routes(api::Router& router) const;

    RefundMade refund(api::Call& call, const NewRefund& request, const BearerQuery& query) const;
    DisputeRecord open(api::Call& call, const NewDispute& request) const;
    DisputeRecord close(api::Call& call, const DisputePath& path, const CloseDispute& request,
                        const BearerQuery& query) const;
    api::Page<DisputeRecord> list(api::Call& call, const DisputesQuery& query) const;

    // The same, in a transaction that is undone; they ask for no step-up.
    RefundPreview preview(api::Call& call, const NewRefund& request,
                          const BearerQuery& query) const;
    DisputePreview preview(api::Call& call, const NewDispute& request) const;
    ClosePreview preview(api::Call& call, const DisputePath& path, const CloseDispute& request,
                         const BearerQuery& query) const;

private:
    void add_dispute_routes(api::Router& router) const;

    const mail::Outbox& outbox_;  // for admins who are to confirm
};

}  // namespace berth::admin
