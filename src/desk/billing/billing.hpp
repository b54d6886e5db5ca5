// What an account has, earned and spent, read from the ledger and nowhere else.
#pragma once

#include "accounts/site.hpp"
#include "api/router.hpp"
#include "billing/types.hpp"
#include "ledger/statement.hpp"

namespace berth::billing {

inline constexpr std::int64_t earnings_window_days = 30;
inline constexpr std::int64_t window_days_max = 365;
inline constexpr std::int64_t receipt_entries_max = 10'000;

class BillingDesk {
public:
    // `key` signs receipts.
    BillingDesk(const accounts::Site& site, crypto::Ed25519Key key)
        : site_(site), key_(std::move(key)) {}

    void add_routes(api::Router& router) const;

    Billing balances(api::Call& call, const AssetQuery& query) const;
    api::Page<StatementEntry> entries(api::Call& call, const EntriesQuery& query) const;
    Receipt receipt(api::Call& call, const JobPath& path, const ReceiptQuery& query) const;
    Earnings earnings(api::Call& call, const AssetQuery& query) const;
    MachineEarnings machine_earnings(api::Call& call, const MachinePath& path,
                                     const WindowQuery& query) const;

private:
    // Where each of these can be seen by others.
    std::vector<std::vector<std::string>> evidence_of(
        api::Call& call, const std::vector<ledger::StatementLine>& lines) const;

    const accounts::Site& site_;
    const crypto::Ed25519Key key_;
};

}  // namespace berth::billing
