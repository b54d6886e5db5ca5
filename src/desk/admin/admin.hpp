// The operators' feature put together. Every route is for an admin's session with its second
// factor; whatever changes something wants a fresh step-up and writes an audit event.
#pragma once

#include "admin/adjustments.hpp"
#include "admin/block_desk.hpp"
#include "admin/campaigns.hpp"
#include "admin/cases.hpp"
#include "admin/lists.hpp"
#include "admin/overview.hpp"
#include "admin/records.hpp"
#include "admin/search.hpp"
#include "admin/settings_desk.hpp"
#include "admin/treasury_desk.hpp"
#include "admin/users.hpp"

namespace berth::admin {

class Admin {
public:
    // `start` is what the process was started with; `chain` may be null. `watched` is what this
    // process saw of the chain.
    Admin(const settings::Snapshot& start, const mail::Outbox& outbox,
          const ledger::Treasury& treasury, chain::Chain* chain,
          std::shared_ptr<const funding::WatcherVitals> watched)
        : users_(outbox),
          adjustments_(outbox),
          campaigns_(outbox),
          settings_(start, outbox),
          treasury_(treasury, chain, outbox),
          blocked_(outbox),
          overview_(std::move(watched)) {}

    void add_routes(api::Router& router) const {
        users_.add_routes(router);
        adjustments_.add_routes(router);
        cases_.add_routes(router);
        campaigns_.add_routes(router);
        settings_.add_routes(router);
        records_.add_routes(router);
        treasury_.add_routes(router);
        lists_.add_routes(router);
        search_.add_routes(router);
        blocked_.add_routes(router);
        overview_.add_routes(router);
    }

private:
    Users users_;
    Adjustments adjustments_;
    Cases cases_;
    Campaigns campaigns_;
    SettingsDesk settings_;
    Records records_;
    TreasuryDesk treasury_;
    Lists lists_;
    Search search_;
    BlockDesk blocked_;
    OverviewDesk overview_;
};

}  // namespace berth::admin
