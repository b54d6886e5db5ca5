// What an account has, earned and spent, read from the ledger and nowhere else.
#pragma once

#include "accounts/site.hpp"
#include "api/router.hpp"
#include "billing/types.hpp"
#include "ledger/treasury.hpp"

namespace berth::billing {

inline constexpr std::int64_t earnings_window_days = 30;
inline constexpr std::int64_t window_days_max = 365;
inline constexpr std::int64_t receipt_entries_max = 10'000;

// What the operator has set about what people read.
struct Imprint {
    std::string explorer_url;  // where a transaction can be looked at
    std::string operator_name;
    std::string support_email;  // empty: not shown
};

class BillingDesk {
public:
    BillingDesk(const accounts::Site& site, const Imprint& imprint, const ledger::PlatformFee& fee)
        : site_(site), imprint_(imprint), fee_(fee) {}

    void add_routes(api::Router& router, const api::RateRules& rates) const;

    Billing balances(api::Call& call, const AssetQuery& query) const;
    api::Page<StatementEntry> entries(api::Call& call, const EntriesQuery& query) const;
    Receipt receipt(api::Call& call, const JobPath& path) const;
    Earnings earnings(api::Call& call, const AssetQuery& query) const;
    MachineEarnings machine_earnings(api::Call& call, const MachinePath& path,
                                     const WindowQuery& query) const;

private:
    std::vector<std::string> evidence_of(const std::string& reference,
                                         const std::optional<JobId>& job) const;

    const accounts::Site& site_;
    const Imprint& imprint_;
    const ledger::PlatformFee& fee_;
};

}  // namespace berth::billing
