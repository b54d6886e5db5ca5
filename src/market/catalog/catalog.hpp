// The public catalog: every listed offer in memory, kept as the database is within a second.
#pragma once

#include "api/router.hpp"
#include "catalog/follower.hpp"
#include "catalog/page_types.hpp"
#include "db/migrate.hpp"

namespace berth::catalog {

class Catalog {
public:
    explicit Catalog(const machines::Settings& settings)
        : published_(std::make_unique<const Snapshot>()),
          follower_(published_, pulses_, settings) {}

    void add_routes(api::Router& router) const;

    wire::Rendered<api::Page<OfferSummary>> list(const api::Call& call,
                                                 const OffersQuery& query) const;
    // The same with more filters, and figures of all that pass.
    CatalogPage browse(const api::Call& call, const CatalogQuery& query) const;
    Explanation explain(const api::Call& call, const CatalogQuery& query) const;
    // One that is on the market, also of a machine that has not passed its test.
    wire::Rendered<OfferSummary> show(const api::Call& call, OfferId id,
                                      const OneOfferQuery& query) const;

    // Takes up what changed, now.
    void refresh(db::Database& database, Time now) { follower_.look(database, now); }
    // From now on by itself; the first reading of a large database takes seconds.
    void follow(db::Database& database, const Clock& clock) { follower_.follow(database, clock); }
    void stop() { follower_.stop(); }
    double age_seconds() const { return follower_.age_seconds(); }
    Follower& follower() { return follower_; }

private:
    static constexpr std::size_t nearest_max = 3;

    Pulses pulses_;
    Published<Snapshot> published_;
    Follower follower_;
};

extern const std::span<const db::Migration> migrations;

}  // namespace berth::catalog
