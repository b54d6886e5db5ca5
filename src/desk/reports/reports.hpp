// Reports for those who keep the books and for those whose money is in them: figures by day and
// month, the trial balance, statements, a year's earnings. All of it is summed up from the ledger
// when it is asked for.
#pragma once

#include "api/router.hpp"
#include "reports/types.hpp"

namespace berth::reports {

inline constexpr std::int64_t figures_days_max = 366;
inline constexpr std::int64_t figures_months_max = 120;
inline constexpr std::int64_t statement_rows_max = 10'000;

class Reports {
public:
    void add_routes(api::Router& router) const;

    ServiceFigures figures(api::Call& call, const FiguresQuery& query) const;
    TrialBalance trial_balance(api::Call& call, const TrialQuery& query) const;
    api::Page<HostYear> hosts(api::Call& call, const HostsQuery& query) const;
    AccountStatement statement(api::Call& call, AccountId account,
                               const StatementQuery& query) const;
    AccountStatement statement_of(api::Call& call, const AccountPath& path,
                                  const StatementQuery& query) const;
    EarningsYear year(api::Call& call, const YearPath& path, const YearQuery& query) const;
};

}  // namespace berth::reports
