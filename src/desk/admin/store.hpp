// All SQL of admin.
#pragma once

#include "base/money.hpp"
#include "db/migrate.hpp"
#include "ledger/ledger.hpp"

namespace berth::admin {

// Holds every other command that ends an admin back until this transaction is over.
void take_admin_guard(db::Transaction& tx);

enum class DisputeState { open, closed };
BOOST_DESCRIBE_ENUM(DisputeState, open, closed)
enum class Outcome { upheld, rejected };
BOOST_DESCRIBE_ENUM(Outcome, upheld, rejected)

struct DisputeRow {
    ledger::DisputeId dispute_id;
    JobId job_id;
    ledger::Asset asset{};
    Micro amount;     // a part of the charge
    Micro held;       // of the host's share of it
    Micro unsecured;  // the rest of that share, which was not there to be held
    DisputeState state = DisputeState::open;
    std::string reason;
    std::string evidence;  // a JSON array of texts
    std::string evidence_hash;
    AccountId opened_by;
    Time created_at;
    std::optional<Outcome> outcome = {};
    std::optional<Micro> refund = {};
    std::optional<ledger::RefundId> refund_id = {};
    std::optional<Micro> shortfall = {};  // of the refund
    std::optional<ledger::Bearer> bearer = {};
    std::optional<std::string> close_reason = {};
    std::optional<AccountId> closed_by = {};
    std::optional<Time> closed_at = {};
};
BOOST_DESCRIBE_STRUCT(DisputeRow, (),
                      (dispute_id, job_id, asset, amount, held, unsecured, state, reason, evidence,
                       evidence_hash, opened_by, created_at, outcome, refund, refund_id, shortfall,
                       bearer, close_reason, closed_by, closed_at))

void add_dispute(db::Transaction& tx, const DisputeRow& dispute);
std::optional<DisputeRow> find_dispute(db::Transaction& tx, ledger::DisputeId id);
// The one that ended with this refund of the job; none when none did.
std::optional<DisputeRow> find_dispute_by_refund(db::Transaction& tx, JobId job,
                                                 ledger::RefundId refund);
struct DisputesWanted {
    std::optional<DisputeState> state = {};
    std::optional<ledger::DisputeId> before = {};
    std::optional<JobId> job = {};
    std::optional<AccountId> renter = {};
    std::optional<AccountId> host = {};
};
// Newest first.
std::vector<DisputeRow> list_disputes(db::Transaction& tx, const DisputesWanted& wanted,
                                      std::int64_t rows_max);
// The charge that is under dispute in open ones.
Micro disputed_charge(db::Transaction& tx, JobId job);
// True for the one caller that closes it. Writes what the row says of its end.
bool close_dispute(db::Transaction& tx, const DisputeRow& dispute);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::admin
