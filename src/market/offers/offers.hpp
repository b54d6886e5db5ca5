// What hosts sell: versions of offers that are only ever added, whether they are listed, and what a
// machine might cost. The offer's state is on the machine's row, which decides what is sold.
#pragma once

#include "api/page.hpp"
#include "api/router.hpp"
#include "db/migrate.hpp"
#include "machines/listing.hpp"
#include "machines/offer_side.hpp"
#include "machines/states.hpp"
#include "offers/live_jobs.hpp"
#include "offers/types.hpp"
#include "worker/worker.hpp"

namespace berth::offers {

// A version as it is stored. For the catalog, quotes and jobs.
struct VersionRow {
    OfferId offer_id;
    std::int64_t offer_version = 1;
    MachineId machine_id;
    Micro rate_micro_per_hour;
    std::int64_t included_disk_gib = 0;
    std::int64_t included_egress_gib = 0;
    Time available_from;
    Time available_until;
    AvailabilityClass availability_class = AvailabilityClass::dedicated;
    std::optional<std::int64_t> preemption_notice_s;  // of interruptible
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(VersionRow, (),
                      (offer_id, offer_version, machine_id, rate_micro_per_hour, included_disk_gib,
                       included_egress_gib, available_from, available_until, availability_class,
                       preemption_notice_s, created_at))
// The one that counts; none when nothing was published.
std::optional<VersionRow> find_current_version(db::Transaction& tx,
                                               const machines::Machine& machine);
// What decides a listing, with what of it only offers know.
machines::ListingFacts find_offer_facts(db::Transaction& tx, Time now,
                                        const machines::Machine& machine,
                                        const machines::ListingRules& rules);

class Offers final : public machines::OfferSide {
public:
    explicit Offers(const LiveJobs& jobs) : jobs_(jobs) {}

    void add_routes(api::Router& router) const;

    void carry_out_wish(const db::Context& context, machines::Machine& machine,
                        const machines::ListingRules& rules) const override;

private:
    OfferVersion edit(api::Call& call, MachineId id, const OfferEdit& edit) const;
    ListingOutcome list(api::Call& call, MachineId id) const;
    // unlist or drain
    ListingOutcome take_back(api::Call& call, MachineId id, machines::MachineEvent event) const;
    CustomImages set_custom_images(api::Call& call, MachineId id,
                                   const CustomImagesWish& wish) const;
    api::Page<PastVersion> versions(api::Call& call, MachineId id,
                                    const api::PageQuery& query) const;

    void refuse_retraction(api::Call& call, const machines::Machine& machine,
                           const VersionRow& next) const;

    const LiveJobs& jobs_;
};

// Takes offers off the market whose available_until has passed, up to rows_max; says how many.
std::int64_t expire_offers(const db::Context& context, std::int64_t rows_max);
worker::Kind expire_offers_kind(db::Database& database, const Clock& clock, Random& random);

// A suggestion for the machine's owner; none when its GPU is not known.
std::optional<MarketPrice> market_price(db::Transaction& tx, const machines::Machine& machine);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::offers
