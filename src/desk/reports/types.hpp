// Reports: what is asked for and what is answered. Each has one list of flat rows, which is the
// table that whoever accepts CSV gets.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "ledger/journal.hpp"

namespace berth::reports {

using ledger::Asset;
using wire::Count;
using wire::SignedMicro;

using Day = wire::Text<10, 10>;  // YYYY-MM-DD in UTC
inline constexpr std::string_view day_pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";

enum class By { day, month };
BOOST_DESCRIBE_ENUM(By, day, month)

// Figures of the service

struct FiguresQuery {
    Day first_day;
    Day last_day;
    std::optional<By> by;
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(FiguresQuery, (), (first_day, last_day, by, asset))
constexpr auto wire_docs(const FiguresQuery*) {
    return std::to_array<wire::Doc>({
        {"first_day", "In UTC.", "2026-01-01", "", day_pattern},
        {"last_day", "It is counted, too; not before first_day.", "2026-01-31", "", day_pattern},
        {"by", "Whether a row is a day or a month.", "month", "day"},
        {"asset", "Left out: both, a row each.", "USDC"},
    });
}

struct FiguresRow {
    std::string period;
    Asset asset{};
    Micro charged_micro;
    Micro refunded_micro;
    SignedMicro fees_micro;
    SignedMicro host_earnings_micro;
    Micro received_micro;
    Count received_count;
    Micro withdrawn_micro;
    Count withdrawn_count;
    Micro paid_out_micro;
    Count paid_out_count;
    Micro returned_micro;
    Micro gas_micro;
    Micro fees_taken_out_micro;
    Micro debts_covered_micro;
    SignedMicro credits_spent_micro;
    SignedMicro campaigns_micro;
};
BOOST_DESCRIBE_STRUCT(FiguresRow, (),
                      (period, asset, charged_micro, refunded_micro, fees_micro,
                       host_earnings_micro, received_micro, received_count, withdrawn_micro,
                       withdrawn_count, paid_out_micro, paid_out_count, returned_micro, gas_micro,
                       fees_taken_out_micro, debts_covered_micro, credits_spent_micro,
                       campaigns_micro))
constexpr auto wire_docs(const FiguresRow*) {
    return std::to_array<wire::Doc>({
        {"period", "A day, or a month.", "2026-01"},
        {"charged_micro", "The volume: what rentals cost, paid by balances and by credits.",
         "20000000"},
        {"refunded_micro", "Of that and of earlier charges, to balances and to credits.", "0"},
        {"fees_micro", "The service's part of the charges, less what refunds took back.",
         "2000000"},
        {"host_earnings_micro", "The hosts' part, likewise.", "18000000"},
        {"received_micro", "What came in on chain, claimed or not.", "25000000"},
        {"received_count", "In so many transfers.", "3"},
        {"withdrawn_micro", "Withdrawals that were paid.", "5000000"},
        {"withdrawn_count", "How many these are.", "1"},
        {"paid_out_micro", "Payouts to hosts that were paid.", "9000000"},
        {"paid_out_count", "How many these are.", "1"},
        {"returned_micro", "Sent back out of suspense.", "0"},
        {"gas_micro", "Booked for gas.", "100000"},
        {"fees_taken_out_micro", "Fee income that the operator took out.", "0"},
        {"debts_covered_micro", "Refunds that the service bore for hosts.", "0"},
        {"credits_spent_micro",
         "What promotional credits paid for rentals or are held for them, less what came back.",
         "0"},
        {"campaigns_micro", "Capital that was set aside for credits, less what went back.", "0"},
    });
}

struct ServiceFigures {
    Time from;
    Time to;
    By by{};
    std::vector<FiguresRow> rows;
};
BOOST_DESCRIBE_STRUCT(ServiceFigures, (), (from, to, by, rows))
constexpr auto wire_docs(const ServiceFigures*) {
    return std::to_array<wire::Doc>({
        {"from", "The first moment of the period.", "2026-01-01T00:00:00Z"},
        {"to", "The first moment after the period.", "2026-02-01T00:00:00Z"},
        {"by", "What a row is.", "month"},
        {"rows", "Every day or month of the period, also those on which nothing moved."},
    });
}

// Trial balance

struct TrialQuery {
    std::optional<Time> at;
};
BOOST_DESCRIBE_STRUCT(TrialQuery, (), (at))
constexpr auto wire_docs(const TrialQuery*) {
    return std::to_array<wire::Doc>({
        {"at", "Of everything before this moment. Left out: of everything.",
         "2026-02-01T00:00:00Z"},
    });
}

struct TrialRow {
    Asset asset{};
    ledger::Pocket pocket{};
    Micro debit_micro;
    Micro credit_micro;
    SignedMicro balance_micro;
};
BOOST_DESCRIBE_STRUCT(TrialRow, (), (asset, pocket, debit_micro, credit_micro, balance_micro))
constexpr auto wire_docs(const TrialRow*) {
    return std::to_array<wire::Doc>({
        {"pocket", "The account of the books.", "fee_income"},
        {"debit_micro", "All debits.", "0"},
        {"credit_micro", "All credits.", "2000000"},
        {"balance_micro", "Credits less debits.", "2000000"},
    });
}

struct TrialBalance {
    Time at;
    bool balanced = false;
    std::vector<TrialRow> rows;
};
BOOST_DESCRIBE_STRUCT(TrialBalance, (), (at, balanced, rows))
constexpr auto wire_docs(const TrialBalance*) {
    return std::to_array<wire::Doc>({
        {"at", "Of everything before this moment.", "2026-02-01T00:00:00Z"},
        {"balanced", "Whether debits and credits of each asset are the same. They always are.",
         "true"},
        {"rows", "Every pocket that was ever used."},
    });
}

// Statements of one account

struct StatementQuery {
    Time since;
    Time until;
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(StatementQuery, (), (since, until, asset))
constexpr auto wire_docs(const StatementQuery*) {
    return std::to_array<wire::Doc>({
        {"since", "The first moment of the statement.", "2026-01-01T00:00:00Z"},
        {"until", "The first moment after it.", "2026-02-01T00:00:00Z"},
        {"asset", "", "USDC", "USDC"},
    });
}

struct StatementBalance {
    Micro available_micro;
    Micro held_micro;
    SignedMicro payable_micro;
    Micro escrow_micro;
    Micro reserved_micro;
};
BOOST_DESCRIBE_STRUCT(StatementBalance, (),
                      (available_micro, held_micro, payable_micro, escrow_micro, reserved_micro))
constexpr auto wire_docs(const StatementBalance*) {
    return std::to_array<wire::Doc>({
        {"available_micro", "What could be spent or withdrawn.", "25000000"},
        {"held_micro", "Promised to rentals.", "0"},
        {"payable_micro", "Earnings; below zero where they were owed.", "0"},
        {"escrow_micro", "Earnings under dispute.", "0"},
        {"reserved_micro", "On the way out.", "0"},
    });
}

struct StatementRow {
    Time at;
    ledger::TransactionId transaction_id;
    ledger::Kind kind{};
    ledger::Pocket pocket{};
    ledger::Side direction{};
    Micro amount_micro;
    SignedMicro balance_micro;
    wire::Nullable<JobId> job_id;
    std::string external_ref;
};
BOOST_DESCRIBE_STRUCT(StatementRow, (),
                      (at, transaction_id, kind, pocket, direction, amount_micro, balance_micro,
                       job_id, external_ref))
constexpr auto wire_docs(const StatementRow*) {
    return std::to_array<wire::Doc>({
        {"kind", "What the movement was.", "deposit"},
        {"pocket", "Which part of the balance it moved.", "available"},
        {"direction", "A credit adds to the pocket, a debit takes from it.", "credit"},
        {"balance_micro", "What is in that pocket after it.", "25000000"},
        {"job_id", "Null when no job was involved.", "null"},
        {"external_ref", "What it is called outside the ledger; it never changes.",
         "deposit:8453:0x9fc7…6d8b:3"},
    });
}

struct AccountStatement {
    AccountId account_id;
    Asset asset{};
    Time from;
    Time to;
    StatementBalance opening;
    StatementBalance closing;
    std::vector<StatementRow> entries;
};
BOOST_DESCRIBE_STRUCT(AccountStatement, (),
                      (account_id, asset, from, to, opening, closing, entries))
constexpr auto wire_docs(const AccountStatement*) {
    return std::to_array<wire::Doc>({
        {"from", "Its first moment.", "2026-01-01T00:00:00Z"},
        {"to", "The first moment after it.", "2026-02-01T00:00:00Z"},
        {"opening", "What there was at its beginning."},
        {"closing", "What there was at its end: the opening balance and every entry."},
        {"entries", "Oldest first, all of them."},
    });
}

struct AccountPath {
    std::string id;
};
BOOST_DESCRIBE_STRUCT(AccountPath, (), (id))
constexpr auto wire_docs(const AccountPath*) {
    return std::to_array<wire::Doc>({
        {"id", "The account.", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
    });
}

// A year of earnings

using Year = wire::Integer<1970, 9998>;

struct YearPath {
    Year year;
};
BOOST_DESCRIBE_STRUCT(YearPath, (), (year))
constexpr auto wire_docs(const YearPath*) {
    return std::to_array<wire::Doc>({
        {"year", "In UTC.", "2026"},
    });
}

struct YearQuery {
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(YearQuery, (), (asset))
constexpr auto wire_docs(const YearQuery*) {
    return std::to_array<wire::Doc>({
        {"asset", "", "USDC", "USDC"},
    });
}

struct EarningsMonth {
    std::string month;
    SignedMicro gross_micro;
    SignedMicro fee_micro;
    SignedMicro earned_micro;
    Micro paid_micro;
};
BOOST_DESCRIBE_STRUCT(EarningsMonth, (), (month, gross_micro, fee_micro, earned_micro, paid_micro))
constexpr auto wire_docs(const EarningsMonth*) {
    return std::to_array<wire::Doc>({
        {"month", "In UTC.", "2026-01"},
        {"gross_micro", "What renters were charged, less refunds.", "20000000"},
        {"fee_micro", "Kept by the service.", "2000000"},
        {"earned_micro", "The rest, which is the host's.", "18000000"},
        {"paid_micro", "Paid out in that month, whenever it was earned.", "10000000"},
    });
}

struct EarningsYear {
    AccountId account_id;
    Year year;
    Asset asset{};
    SignedMicro gross_micro;
    SignedMicro fee_micro;
    SignedMicro earned_micro;
    Micro paid_micro;
    std::vector<EarningsMonth> months;
};
BOOST_DESCRIBE_STRUCT(EarningsYear, (),
                      (account_id, year, asset, gross_micro, fee_micro, earned_micro, paid_micro,
                       months))
constexpr auto wire_docs(const EarningsYear*) {
    return std::to_array<wire::Doc>({
        {"year", "In UTC.", "2026"},
        {"gross_micro", "What renters were charged in that year, less refunds.", "20000000"},
        {"fee_micro", "Kept by the service.", "2000000"},
        {"earned_micro", "The rest, which is the host's.", "18000000"},
        {"paid_micro", "Paid out in that year, whenever it was earned.", "10000000"},
        {"months", "January to December, also those without earnings."},
    });
}

struct HostsQuery {
    Year year;
    std::optional<Asset> asset;
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
};
BOOST_DESCRIBE_STRUCT(HostsQuery, (), (year, asset, cursor, limit))
constexpr auto wire_docs(const HostsQuery*) {
    return std::to_array<wire::Doc>({
        {"year", "In UTC.", "2026"},
        {"asset", "", "USDC", "USDC"},
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
    });
}

struct HostYear {
    AccountId account_id;
    wire::Nullable<std::string> email;
    SignedMicro gross_micro;
    SignedMicro fee_micro;
    SignedMicro earned_micro;
    Micro paid_micro;
};
BOOST_DESCRIBE_STRUCT(HostYear, (),
                      (account_id, email, gross_micro, fee_micro, earned_micro, paid_micro))
constexpr auto wire_docs(const HostYear*) {
    return std::to_array<wire::Doc>({
        {"email", "Null of an agent.", "host@example.org"},
        {"gross_micro", "What renters were charged, less refunds.", "20000000"},
        {"fee_micro", "Kept by the service.", "2000000"},
        {"earned_micro", "The rest, which is the host's.", "18000000"},
        {"paid_micro", "Paid out in that year, whenever it was earned.", "10000000"},
    });
}

}  // namespace berth::reports
