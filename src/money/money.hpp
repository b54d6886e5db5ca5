// The money feature put together, and its routes.
#pragma once

#include "money/billing.hpp"
#include "money/funding.hpp"
#include "money/transfers.hpp"

namespace berth::money {

class Money {
public:
    struct Parts {
        const accounts::Site& site;
        const Terms& terms;
        const accounts::Accounts& accounts;
        const mail::Outbox& outbox;
        chain::Chain* chain;  // null: nothing comes in
    };
    explicit Money(const Parts& parts)
        : billing_(parts.site, parts.terms),
          funding_(parts.terms, parts.chain),
          transfers_(parts.site, parts.terms, parts.accounts, parts.outbox) {}

    void add_routes(api::Router& router, const api::RateRules& rates) const;

private:
    void add_billing_routes(api::Router& router, const api::RateRules& rates) const;
    void add_funding_routes(api::Router& router, const api::RateRules& rates) const;
    void add_transfer_routes(api::Router& router, const api::RateRules& rates) const;
    void add_address_routes(api::Router& router, const api::RateRules& rates) const;

    BillingDesk billing_;
    Funding funding_;
    Transfers transfers_;
};

}  // namespace berth::money
