// What people read of their money: responses and queries.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "funding/types.hpp"

namespace berth::billing {

using funding::AssetQuery;
using ledger::Asset;
using wire::Count;

// Balances and statements

struct Billing {
    Asset asset = Asset::usdc;
    Micro spendable_micro;
    Micro held_micro;      // promised to jobs
    Micro pending_micro;   // on the way out
    Micro disputed_micro;
    Micro withdrawable_micro;
    Micro spent_30d_micro;
    Time as_of;
};
BOOST_DESCRIBE_STRUCT(Billing, (), (asset, spendable_micro, held_micro, pending_micro, disputed_micro,
                                    withdrawable_micro, spent_30d_micro, as_of))

struct EntriesQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<AccountId> account_id;  // an admin's choice; everybody else reads their own
};
BOOST_DESCRIBE_STRUCT(EntriesQuery, (), (cursor, limit, account_id))

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
BOOST_DESCRIBE_STRUCT(StatementEntry, (), (entry_id, transaction_id, kind, direction, amount_micro,
                                           asset, pocket, job_id, external_ref, evidence_links, at))

struct Supplier {
    std::string account_id;
};
BOOST_DESCRIBE_STRUCT(Supplier, (), (account_id))

struct Operator {
    std::optional<std::string> name;
    std::optional<std::string> support_email;
};
BOOST_DESCRIBE_STRUCT(Operator, (), (name, support_email))

struct ReceiptEntry {
    std::string transaction_id;
    ledger::Kind kind{};
    std::string external_ref;
    Time at;
};
BOOST_DESCRIBE_STRUCT(ReceiptEntry, (), (transaction_id, kind, external_ref, at))

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
    Supplier supplier;
    Operator operator_;
    std::vector<ReceiptEntry> entries;
};
BOOST_DESCRIBE_STRUCT(Receipt, (), (job_id, state, machine_rate_micro_per_hour, platform_fee_bps,
                                    accepted_runtime_ms, charge_micro, fee_micro, host_micro,
                                    funded_budget_micro, supplier, operator_, entries))

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

struct Earnings {
    Micro earned_micro;
    Micro disputed_micro;
    Micro payable_micro;
    Micro requested_micro;
    Micro settled_micro;
    Micro gross_micro;
    Micro fee_micro;
    Count fee_bps;
    Count window_days;
    Time from;
    Time to;
    std::vector<EarningsDay> days;
};
BOOST_DESCRIBE_STRUCT(Earnings, (), (earned_micro, disputed_micro, payable_micro, requested_micro,
                                     settled_micro, gross_micro, fee_micro, fee_bps, window_days,
                                     from, to, days))

struct MachinePath {
    MachineId id;
};
BOOST_DESCRIBE_STRUCT(MachinePath, (), (id))

struct WindowQuery {
    std::optional<std::string> window;  // "30d"
    std::optional<Asset> asset;
};
BOOST_DESCRIBE_STRUCT(WindowQuery, (), (window, asset))

struct MachineEarnings {
    wire::Integer<1, 365> window_days;
    Time from;
    Time to;
    std::vector<EarningsDay> days;
};
BOOST_DESCRIBE_STRUCT(MachineEarnings, (), (window_days, from, to, days))

}  // namespace berth::billing
