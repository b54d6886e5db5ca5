// What operators do with transfers: look at those of all accounts, and call off, hold back or
// release one that nobody has signed yet. What was signed is the chain's.
#pragma once

#include "api/router.hpp"
#include "transfers/operator_types.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

// A transfer that nothing holds up is signed and final sooner than this.
inline constexpr Duration late_after = std::chrono::minutes(15);

class Operators {
public:
    void add_routes(api::Router& router) const;

    api::Page<AdminTransfer> list(api::Call& call, const AdminTransfersQuery& query) const;
    TransferDecided cancel(api::Call& call, const TransferPath& path,
                           const TransferDecision& decision) const;
    TransferDecided hold(api::Call& call, const TransferPath& path,
                         const TransferDecision& decision) const;
    TransferDecided release(api::Call& call, const TransferPath& path,
                            const TransferDecision& decision) const;
};

// Those that are held back, or were asked for longer ago than `late_after` and are not over; oldest
// first.
std::vector<AdminTransfer> list_stuck(api::Call& call, const std::optional<TransferId>& after,
                                      std::int64_t rows_max);
// How many those are, up to `rows_max`, and when the oldest of them was asked for.
LateCount count_stuck(api::Call& call, std::int64_t rows_max);
// The newest of one account.
std::vector<AdminTransfer> list_newest(api::Call& call, AccountId account, std::int64_t rows_max);

}  // namespace berth::transfers
