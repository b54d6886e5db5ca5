// What people read of their money: responses and queries.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "billing/published_keys.hpp"
#include "funding/types.hpp"

namespace berth::billing {

using funding::AssetQuery;
using ledger::Asset;
using wire::Count;

// Balances and statements

struct Billing {
    Asset asset = Asset::usdc;
    Micro spendable_micro;
    Micro held_micro;     // promised to jobs
    Micro pending_micro;  // on the way out
    Micro disputed_micro;
    Micro withdrawable_micro;
    Micro credit_micro;
    Micro spent_30d_micro;
    Time as_of;
};
BOOST_DESCRIBE_STRUCT(Billing, (),
                      (asset, spendable_micro, held_micro, pending_micro, disputed_micro,
                       withdrawable_micro, credit_micro, spent_30d_micro, as_of))
constexpr auto wire_docs(const Billing*) {
    return std::to_array<wire::Doc>({
        {"spendable_micro", "What new rentals can be paid with.", "25000000"},
        {"held_micro", "Promised to running jobs.", "3000000"},
        {"pending_micro", "On the way out.", "0"},
        {"disputed_micro", "Held back while a dispute is open.", "0"},
        {"withdrawable_micro", "What can be withdrawn now.", "25000000"},
        {"credit_micro", "Promotional credits: they pay for rentals first, beside the balance.",
         "0"},
        {"spent_30d_micro", "Charged in the last 30 days.", "12500000"},
        {"as_of", ""},
    });
}

struct EntriesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account_id;  // an admin's choice; everybody else reads their own
};
BOOST_DESCRIBE_STRUCT(EntriesQuery, (), (cursor, limit, account_id))
constexpr auto wire_docs(const EntriesQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"account_id", "Whose entries, for an admin; everybody else reads their own."},
    });
}

struct StatementEntry {
    Uuid entry_id;
    ledger::TransactionId transaction_id;
    ledger::Kind kind{};
    ledger::Side direction{};
    Micro amount_micro;
    Asset asset = Asset::usdc;
    ledger::Pocket pocket{};
    wire::Nullable<JobId> job_id;
    std::string external_ref;
    std::vector<std::string> evidence_links;
    Time at;
};
BOOST_DESCRIBE_STRUCT(StatementEntry, (),
                      (entry_id, transaction_id, kind, direction, amount_micro, asset, pocket,
                       job_id, external_ref, evidence_links, at))
constexpr auto wire_docs(const StatementEntry*) {
    return std::to_array<wire::Doc>({
        {"kind", "What the movement was.", "deposit"},
        {"direction", "A credit adds to the pocket, a debit takes from it.", "credit"},
        {"pocket", "Which part of the balance it moved.", "available"},
        {"job_id", "Null when no job was involved.", "null"},
        {"external_ref", "What it is called outside the ledger; it never changes.",
         "deposit:8453:0x9fc7…6d8b:3"},
        {"evidence_links", "Where it can be seen by others.",
         "https://basescan.org/tx/0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd"
         "2d66f4c9c6c445836d8b"},
    });
}

struct Supplier {
    std::string account_id;
};
BOOST_DESCRIBE_STRUCT(Supplier, (), (account_id))
constexpr auto wire_docs(const Supplier*) {
    return std::to_array<wire::Doc>({
        {"account_id", "", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
    });
}

struct Operator {
    std::optional<std::string> name;
    std::optional<std::string> support_email;
};
BOOST_DESCRIBE_STRUCT(Operator, (), (name, support_email))
constexpr auto wire_docs(const Operator*) {
    return std::to_array<wire::Doc>({
        {"name", "", "Berth"},
        {"support_email", "", "support@berth.example"},
    });
}

struct ReceiptEntry {
    std::string transaction_id;
    ledger::Kind kind{};
    ledger::Side direction{};
    Micro amount_micro;
    std::string external_ref;
    Time at;
};
BOOST_DESCRIBE_STRUCT(ReceiptEntry, (),
                      (transaction_id, kind, direction, amount_micro, external_ref, at))
constexpr auto wire_docs(const ReceiptEntry*) {
    return std::to_array<wire::Doc>({
        {"transaction_id", "", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
        {"kind", "What the movement was.", "job_charge"},
        {"direction",
         "A credit adds to what somebody has, a debit takes from it. Of what moves within one "
         "account it is told from what can be spent or paid out.",
         "debit"},
        {"amount_micro", "", "450000"},
        {"external_ref", "What it is called outside the ledger; it never changes.",
         "charge:01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57:450000"},
    });
}

struct ReceiptRefund {
    std::string refund_id;
    std::string transaction_id;
    Micro amount_micro;
    Micro host_micro;
    Micro fee_micro;
    Time at;
};
BOOST_DESCRIBE_STRUCT(ReceiptRefund, (),
                      (refund_id, transaction_id, amount_micro, host_micro, fee_micro, at))
constexpr auto wire_docs(const ReceiptRefund*) {
    return std::to_array<wire::Doc>({
        {"refund_id", "", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
        {"transaction_id", "Of the ledger.", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
        {"amount_micro", "What the renter got back.", "500000"},
        {"host_micro", "The host's part of it.", "450000"},
        {"fee_micro", "The fee's part of it.", "50000"},
    });
}

struct ReceiptQuery {
    std::optional<bool> signed_;
};
BOOST_DESCRIBE_STRUCT(ReceiptQuery, (), (signed_))
constexpr auto wire_docs(const ReceiptQuery*) {
    return std::to_array<wire::Doc>(
        {{"signed", "Adds a signature that can be checked without the service.", "true", "false"}});
}

struct ReceiptSignature {
    KeyAlgorithm alg = KeyAlgorithm::ed25519;
    std::string key_id;
    std::string value;
    std::string public_key;
};
BOOST_DESCRIBE_STRUCT(ReceiptSignature, (), (alg, key_id, value, public_key))
constexpr auto wire_docs(const ReceiptSignature*) {
    return std::to_array<wire::Doc>({
        {"alg", "How it is signed.", "ed25519"},
        {"key_id", "One of /.well-known/berth-keys.json.", "9a51c0f66f1d0e9c"},
        {"value",
         "Over the canonical JSON (RFC 8785) of the receipt without this member, in base64.",
         "IQj0g6xYwVZ3bq8l5m2pXw0s7r9tC4kN1uE6hD3fB8aGmT5vL2yRzKxJ0oWqPnUc4iHdMvFbSeAt9gY7lX"
         "1QBg=="},
        {"public_key", "The key that key_id names, in base64.",
         "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
    });
}

struct Receipt {
    JobId job_id;
    std::string state;
    Micro machine_rate_micro_per_hour;
    wire::Integer<0, 10'000> platform_fee_bps;
    wire::Decimal accepted_runtime_ms;
    Micro charge_micro;
    Micro fee_micro;
    Micro host_micro;
    Micro funded_budget_micro;
    Micro refunded_micro;
    Micro credit_micro;
    Supplier supplier;
    Operator operator_;
    std::vector<ReceiptEntry> entries;
    std::vector<ReceiptRefund> refunds;
    std::optional<wire::Decimal> uncarried_ms;
    std::optional<wire::Decimal> carried_bytes;
    std::optional<Time> as_of;
    std::optional<wire::Nullable<wire::Sha256Hash>> evidence_head;
    std::optional<ReceiptSignature> signature;
};
BOOST_DESCRIBE_STRUCT(Receipt, (),
                      (job_id, state, machine_rate_micro_per_hour, platform_fee_bps,
                       accepted_runtime_ms, charge_micro, fee_micro, host_micro,
                       funded_budget_micro, refunded_micro, credit_micro, supplier, operator_,
                       entries, refunds, uncarried_ms, carried_bytes, as_of, evidence_head,
                       signature))
constexpr auto wire_docs(const Receipt*) {
    return std::to_array<wire::Doc>({
        {"state", "Of the job.", "CLOSED"},
        {"machine_rate_micro_per_hour", "The rate of the quote.", "2000000"},
        {"platform_fee_bps",
         "The share of the charge that is the fee, in hundredths of a per "
         "cent.",
         "1000"},
        {"accepted_runtime_ms", "What is billed, in milliseconds.", "3600000"},
        {"charge_micro", "fee_micro and host_micro together.", "2000000"},
        {"fee_micro", "Out of the charge, never on top of it.", "200000"},
        {"host_micro", "What the host receives.", "1800000"},
        {"funded_budget_micro", "What was held for the job.", "5000000"},
        {"refunded_micro",
         "What was given back of the charge; the charge and its parts stay what they were.", "0"},
        {"credit_micro", "What of the charge a promotional credit pays.", "0"},
        {"supplier", "Who rented the machine out."},
        {"operator", "Who runs the service."},
        {"entries", "The movements behind the charge."},
        {"refunds", "What was given back, oldest first."},
        {"uncarried_ms",
         "Only of a rental by a gate: for how long it was not billed because the gate did not "
         "carry it.",
         "0"},
        {"carried_bytes", "Only of a rental by a gate: what went through it, both ways.",
         "1048576"},
        {"as_of", "Only of a signed receipt: when it was signed."},
        {"evidence_head",
         "Only of a signed receipt: the hash of the newest record of evidence of the job."},
        {"signature", "Only of a signed receipt."},
    });
}

struct JobPath {
    JobId job;
};
BOOST_DESCRIBE_STRUCT(JobPath, (), (job))

// Earnings

struct EarningsDay {
    std::string day;  // YYYY-MM-DD in UTC
    wire::SignedMicro earned_micro;
    wire::SignedMicro fee_micro;
    Micro paid_micro;
    Count rental_count;
};
BOOST_DESCRIBE_STRUCT(EarningsDay, (), (day, earned_micro, fee_micro, paid_micro, rental_count))
constexpr auto wire_docs(const EarningsDay*) {
    return std::to_array<wire::Doc>({
        {"day", "In UTC.", "2026-01-15"},
        {"earned_micro", "After the fee; below zero when refunds were larger.", "1800000"},
        {"fee_micro", "Kept by the service; below zero when refunds were larger.", "200000"},
        {"paid_micro", "Paid out on that day.", "0"},
        {"rental_count", "", "2"},
    });
}

struct Earnings {
    Micro earned_micro;
    Micro disputed_micro;
    Micro maturing_micro;
    Micro payable_micro;
    Micro requested_micro;
    Micro settled_micro;
    Micro gross_micro;
    Micro fee_micro;
    Micro repaid_micro;
    Micro debt_micro;
    wire::Nullable<Time> next_payable_at;
    Count payout_delay_hours;
    Count fee_bps;
    Count window_days;
    Time from;
    Time to;
    std::vector<EarningsDay> days;
};
BOOST_DESCRIBE_STRUCT(Earnings, (),
                      (earned_micro, disputed_micro, maturing_micro, payable_micro, requested_micro,
                       settled_micro, gross_micro, fee_micro, repaid_micro, debt_micro,
                       next_payable_at, payout_delay_hours, fee_bps, window_days, from, to, days))
constexpr auto wire_docs(const Earnings*) {
    return std::to_array<wire::Doc>({
        {"earned_micro", "After the fee.", "18000000"},
        {"disputed_micro", "Held back while disputes are open.", "0"},
        {"maturing_micro", "Too young to be paid out; it becomes payable by itself.", "3000000"},
        {"payable_micro",
         "What can be paid out now: what was earned or repaid and is nowhere else.", "5000000"},
        {"requested_micro", "Asked for and on its way.", "0"},
        {"settled_micro", "Paid out.", "10000000"},
        {"gross_micro", "What renters were charged.", "20000000"},
        {"fee_micro", "Kept by the service.", "2000000"},
        {"repaid_micro",
         "What was paid of debts after refunds, from your balance or by the service.", "0"},
        {"debt_micro", "What refunds took beyond your earnings and you still owe.", "0"},
        {"next_payable_at", "When the next of what matures can be paid out.", "null"},
        {"payout_delay_hours",
         "How long the earnings of new rentals mature, counted from each posting.", "24"},
        {"fee_bps", "The fee of new rentals, in hundredths of a per cent.", "1000"},
        {"window_days", "How many days follow.", "30"},
        {"from", "", "2025-12-16T00:00:00Z"},
        {"to", "", "2026-01-15T00:00:00Z"},
        {"days", "Every day of the window, also those without earnings."},
    });
}

struct MachinePath {
    MachineId id;
};
BOOST_DESCRIBE_STRUCT(MachinePath, (), (id))

struct WindowQuery {
    std::optional<std::string> window;  // "30d"
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(WindowQuery, (), (window, asset))
constexpr auto wire_docs(const WindowQuery*) {
    return std::to_array<wire::Doc>({
        {"window", "How many days back: 1d to 365d.", "7d", "30d",
         "^([1-9]|[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-5])d$"},
        {"asset", "", "USDC", "USDC"},
    });
}

struct MachineEarnings {
    wire::Integer<1, 365> window_days;
    Time from;
    Time to;
    Count payout_delay_hours;
    std::vector<EarningsDay> days;
};
BOOST_DESCRIBE_STRUCT(MachineEarnings, (), (window_days, from, to, payout_delay_hours, days))
constexpr auto wire_docs(const MachineEarnings*) {
    return std::to_array<wire::Doc>({
        {"window_days", "How many days follow.", "30"},
        {"from", "", "2025-12-16T00:00:00Z"},
        {"to", "", "2026-01-15T00:00:00Z"},
        {"payout_delay_hours",
         "How long the earnings of new rentals mature before they can be paid out.", "24"},
        {"days", "Every day of the window, also those without earnings."},
    });
}

}  // namespace berth::billing
