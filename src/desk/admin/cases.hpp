// Reading disputes and refunds. What decides over them is in adjustments.
#pragma once

#include "admin/case_types.hpp"
#include "api/router.hpp"

namespace berth::admin {

class Cases {
public:
    void add_routes(api::Router& router) const;

    DisputeDetail show(api::Call& call, const DisputePath& path) const;
    api::Page<RefundRecord> refunds(api::Call& call, const RefundsQuery& query) const;
    // Of the caller, as a renter.
    api::Page<OwnDispute> own(api::Call& call, const OwnDisputesQuery& query) const;
};

}  // namespace berth::admin
