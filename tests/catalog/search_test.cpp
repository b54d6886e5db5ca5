// The index against the plain way to do it: look at every listing, keep what passes, sort.
#include "catalog/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/letters.hpp"
#include "catalog/sample.hpp"
#include "wire/wire.hpp"

namespace berth::catalog {
namespace {

constexpr Time now = SampleListings::now;

// Two shards, and every listing of them as it is.
struct Sample {
    explicit Sample(std::size_t large, std::size_t small, std::uint64_t seed = 1)
        : listings(pulses, seed) {
        const std::vector<Listing> base = listings.some(large);
        const std::vector<Listing> recent = listings.some(small);
        all = recent;
        all.insert(all.end(), base.begin(), base.end());
        snapshot.shards = {
            make_shard(std::make_shared<const Index>(base), nullptr, pulses, {now, {}}),
            make_shard(std::make_shared<const Index>(recent), nullptr, pulses, {now, {}})};
    }

    std::vector<OfferId> page(const OffersQuery& query, std::size_t limit,
                              const std::optional<Mark>& after = {}) const {
        std::vector<OfferId> out;
        for (const Found& each : Search(snapshot, pulses, query, now).page(after, limit))
            out.push_back(each.mark.place.offer_id);
        return out;
    }
    // All pages of `limit` items, one after the other.
    std::vector<OfferId> pages(const OffersQuery& query, std::size_t limit) const {
        std::vector<OfferId> out;
        std::optional<Mark> after;
        for (;;) {
            const auto found = Search(snapshot, pulses, query, now).page(after, limit);
            for (const Found& each : found) out.push_back(each.mark.place.offer_id);
            if (found.size() < limit) return out;
            after = mark_from_key(to_key(found.back().mark));
        }
    }

    // Where a page ends whose last offer is this one.
    Mark mark_of(const OffersQuery& query, OfferId id) const;

    Pulses pulses;
    SampleListings listings;
    std::vector<Listing> all;
    Snapshot snapshot;
};

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    return text;
}

bool is_on(const Listing& listing, ContinentFilter filter) {
    if (!listing.continent) return false;
    const auto name = enum_name(filter);
    if (name.size() == 2) return enum_name(*listing.continent) == name;
    switch (*listing.continent) {
        case Continent::AF: return name == "africa";
        case Continent::AN: return name == "antarctica";
        case Continent::AS: return name == "asia";
        case Continent::EU: return name == "europe";
        case Continent::OC: return name == "oceania";
        case Continent::NA:
        case Continent::SA: return name == "americas";
    }
    return false;
}

Mark Sample::mark_of(const OffersQuery& query, OfferId id) const {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Listing& each) { return each.offer_id == id; });
    return {query.near && !is_on(*found, *query.near),
            {sort_keys(*found)[order_of(sort_of(query))], id}};
}

bool passes(const Listing& listing, const OffersQuery& query) {
    if (!query.include_unverified.value_or(false) && !listing.admitted) return false;
    if (query.verification_level && listing.verification_level != *query.verification_level)
        return false;
    if (query.min_bandwidth_mbps &&
        (!listing.download_mbps_milli ||
         *listing.download_mbps_milli < query.min_bandwidth_mbps->value * 1000))
        return false;
    if (query.max_rate_micro_per_hour &&
        listing.rate_micro_per_hour > query.max_rate_micro_per_hour->value)
        return false;
    if (query.gpu_count && listing.fit.gpu_count < query.gpu_count->value) return false;
    if (query.model && lower(listing.model).find(lower(query.model->value)) == std::string::npos)
        return false;
    if (query.tier && listing.tier != *query.tier) return false;
    if (query.backend && (listing.fit.backends & offers::bit_of(*query.backend)) == 0) return false;
    return !query.continent || is_on(listing, *query.continent);
}

// The plain way to say what one page of everything would have.
std::vector<OfferId> expected(const Sample& sample, const OffersQuery& query) {
    struct Row {
        bool far;
        std::uint64_t key;
        OfferId id;
        auto operator<=>(const Row&) const = default;
    };
    std::vector<Row> rows;
    for (const Listing& listing : sample.all)
        if (passes(listing, query))
            rows.push_back({query.near && !is_on(listing, *query.near),
                            sort_keys(listing)[order_of(sort_of(query))], listing.offer_id});
    std::sort(rows.begin(), rows.end());
    std::vector<OfferId> ids;
    for (const Row& row : rows) ids.push_back(row.id);
    return ids;
}

OffersQuery any_query(SampleListings& random) {
    constexpr std::array<std::string_view, 7> models{"rtx",  "RTX 4090", "%", "_",
                                                     "h100", "none",     ""};
    const auto sometimes = [&] { return random.up_to(4) == 0; };
    OffersQuery query;
    query.sort = std::string(enum_name(static_cast<Sort>(random.up_to(10))));
    query.include_unverified = random.up_to(2) == 0;
    if (sometimes()) query.verification_level = static_cast<VerificationLevel>(random.up_to(3));
    if (sometimes()) query.min_bandwidth_mbps = wire::Count{random.up_to(1100)};
    if (sometimes()) query.max_rate_micro_per_hour = Micro{random.up_to(500'000)};
    if (sometimes()) query.gpu_count = wire::Count{random.up_to(10)};
    if (sometimes())
        query.model = {std::string(models[static_cast<std::size_t>(random.up_to(models.size()))])};
    if (sometimes()) query.tier = static_cast<Tier>(random.up_to(2));
    if (sometimes()) query.backend = static_cast<offers::Backend>(random.up_to(5));
    if (sometimes()) query.continent = static_cast<ContinentFilter>(random.up_to(13));
    if (sometimes()) query.near = static_cast<ContinentFilter>(random.up_to(13));
    return query;
}

TEST(CatalogSearch, FindsWhatLookingAtEveryListingFinds) {
    for (const auto& [large, small] : {std::pair<std::size_t, std::size_t>{0, 0},
                                       {1, 0},
                                       {0, 3},
                                       {63, 1},
                                       {64, 65},
                                       {2000, 100}}) {
        Sample sample(large, small, large + 7);
        for (int i = 0; i < 150; ++i) {
            const OffersQuery query = any_query(sample.listings);
            const auto all = expected(sample, query);
            const auto limit = static_cast<std::size_t>(1 + sample.listings.up_to(30));
            const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(limit, all.size()));
            const std::vector<OfferId> first(all.begin(), end);
            ASSERT_EQ(sample.page(query, limit), first) << wire::encode(query) << " of " << large;
            ASSERT_EQ(sample.pages(query, limit), all) << wire::encode(query) << " of " << large;
        }
    }
}

// Enough offers that a page is found along the whole order, along the orders of cells, or by
// collecting what a range keeps; from the beginning and from a place in the middle.
TEST(CatalogSearch, EveryWayToAPageFindsTheSame) {
    Sample sample(6'000, 300, 3);
    for (int i = 0; i < 120; ++i) {
        OffersQuery query = any_query(sample.listings);
        if (i % 2 == 0) query.model = {"rtx 4090"};
        if (i % 3 == 0) query.continent = ContinentFilter::europe;
        if (i % 4 == 0) query.max_rate_micro_per_hour = Micro{50'000 + 1000 * (i / 2)};
        if (i % 5 == 0) query.min_bandwidth_mbps = wire::Count{900 + i};
        const auto all = expected(sample, query);
        const auto limit = static_cast<std::size_t>(1 + sample.listings.up_to(5));
        const auto some = [&](std::size_t from) {
            const auto end = std::min(from + limit, all.size());
            return std::vector<OfferId>(all.begin() + static_cast<std::ptrdiff_t>(from),
                                        all.begin() + static_cast<std::ptrdiff_t>(end));
        };
        ASSERT_EQ(sample.page(query, limit), some(0)) << wire::encode(query);
        if (all.empty()) continue;
        const auto at = static_cast<std::size_t>(sample.listings.up_to(all.size()));
        const auto found = sample.page(query, limit, sample.mark_of(query, all[at]));
        ASSERT_EQ(found, some(at + 1)) << wire::encode(query) << " after " << at;
    }
}

TEST(CatalogSearch, AFilterIsExactAtItsBorderAndAtEveryMark) {
    Sample sample(1000, 0);
    std::set<std::int64_t> rates;
    for (const Listing& listing : sample.all)
        for (const std::int64_t off : {-1, 0, 1}) rates.insert(listing.rate_micro_per_hour + off);
    for (const std::int64_t rate : rates) {
        OffersQuery query;
        query.max_rate_micro_per_hour = Micro{rate};
        ASSERT_EQ(sample.page(query, 2000), expected(sample, query)) << rate;
    }
}

TEST(CatalogSearch, WhatWasNotMeasuredComesLastInEveryOrder) {
    Sample sample(500, 20);
    std::map<OfferId, Listing> by_id;
    for (const Listing& listing : sample.all) by_id[listing.offer_id] = listing;
    for (const Sort sort : {Sort::vram_desc, Sort::reliability_desc, Sort::uptime_desc,
                            Sort::net_desc, Sort::tflops_desc, Sort::ai_speed_desc}) {
        OffersQuery query;
        query.sort = std::string(enum_name(sort));
        bool over = false;
        for (const OfferId id : sample.page(query, 1000)) {
            const bool measured = sort_keys(by_id.at(id))[order_of(sort)] != unmeasured;
            ASSERT_FALSE(over && measured) << enum_name(sort);
            over = over || !measured;
        }
        EXPECT_TRUE(over);
    }
}

TEST(CatalogSearch, AnUnknownSortIsByPrice) {
    OffersQuery query;
    for (const std::string sort : {"", "PRICE_ASC", "price", "price_asc;--", "newest "}) {
        query.sort = sort;
        EXPECT_EQ(sort_of(query), Sort::price_asc) << sort;
    }
}

TEST(CatalogSearch, WhatFellSilentEndedOrHasNotBegunIsNotShown) {
    Pulses pulses;
    SampleListings listings(pulses);
    std::vector<Listing> some = listings.some(4);
    for (Listing& listing : some) {
        listing.admitted = true;
        pulses.set(listing.pulse, now);
    }
    some[0].available_until = now + std::chrono::seconds(69);
    some[1].available_from = now + std::chrono::seconds(2);
    some[2].available_from = now + std::chrono::hours(2);
    std::map<OfferId, int> names;
    for (int i = 0; i < 4; ++i) names[some[static_cast<std::size_t>(i)].offer_id] = i;
    Snapshot snapshot;
    snapshot.shards[0] =
        make_shard(std::make_shared<const Index>(some), nullptr, pulses, {now, {}});
    const auto shown = [&](Duration later) {
        std::set<int> out;
        const OffersQuery query;
        for (const Found& found : Search(snapshot, pulses, query, now + later).page({}, 10))
            out.insert(names.at(found.mark.place.offer_id));
        return out;
    };
    EXPECT_EQ(shown({}), (std::set{0, 3}));
    EXPECT_EQ(shown(std::chrono::seconds(2)), (std::set{0, 1, 3})) << "begins without a new look";
    EXPECT_EQ(shown(std::chrono::seconds(10)), (std::set{1, 3})) << "a minute before the end";
    EXPECT_EQ(shown(std::chrono::seconds(90)), (std::set{1, 3}));
    EXPECT_EQ(shown(std::chrono::seconds(91)), std::set<int>{});
    pulses.set(some[3].pulse, now + std::chrono::seconds(91));
    EXPECT_EQ(shown(std::chrono::seconds(91)), (std::set{3})) << "a heartbeat needs no new index";
}

TEST(CatalogSearch, PagesNeitherRepeatNorLoseAnOfferWhileOthersChange) {
    Pulses pulses;
    SampleListings listings(pulses, 5);
    const std::vector<Listing> kept = listings.some(300);
    for (int round = 0; round < 40; ++round) {
        OffersQuery query = round < 10 ? OffersQuery{} : any_query(listings);
        query.sort = std::string(enum_name(static_cast<Sort>(round % 10)));
        std::multiset<OfferId> seen;
        std::optional<Mark> after;
        for (;;) {
            std::vector<Listing> all = listings.some(100);  // others, at every page
            all.insert(all.end(), kept.begin(), kept.end());
            Snapshot snapshot;
            snapshot.shards[listings.up_to(2) == 0 ? 0 : 1] =
                make_shard(std::make_shared<const Index>(all), nullptr, pulses, {now, {}});
            const std::size_t limit = round % 2 == 0 ? 20 : 3;
            const auto found = Search(snapshot, pulses, query, now).page(after, limit);
            for (const Found& each : found) seen.insert(each.mark.place.offer_id);
            if (found.size() < limit) break;
            after = found.back().mark;
        }
        for (const Listing& listing : kept)
            ASSERT_EQ(seen.count(listing.offer_id), passes(listing, query) ? 1U : 0U)
                << wire::encode(query);
    }
}

// The query with this filter and no other.
OffersQuery alone(const OffersQuery& query, Filter filter) {
    OffersQuery out;
    out.include_unverified = filter != Filter::include_unverified;
    if (filter == Filter::verification_level) out.verification_level = query.verification_level;
    if (filter == Filter::min_bandwidth_mbps) out.min_bandwidth_mbps = query.min_bandwidth_mbps;
    if (filter == Filter::max_rate_micro_per_hour)
        out.max_rate_micro_per_hour = query.max_rate_micro_per_hour;
    if (filter == Filter::gpu_count) out.gpu_count = query.gpu_count;
    if (filter == Filter::model) out.model = query.model;
    if (filter == Filter::tier) out.tier = query.tier;
    if (filter == Filter::backend) out.backend = query.backend;
    if (filter == Filter::continent) out.continent = query.continent;
    return out;
}

bool passes(const Listing& listing, const Beyond& beyond) {
    constexpr std::int64_t gib = 1 << 30;
    if (beyond.sold_as && listing.availability_class != *beyond.sold_as) return false;
    if (beyond.min_vram_gib && (!listing.fit.vram_bytes ||
                                (*listing.fit.vram_bytes + gib - 1) / gib < *beyond.min_vram_gib))
        return false;
    return beyond.must_fit == nullptr || offers::fit(listing.fit, *beyond.must_fit).fits();
}

// The filters that /offers does not have, in every order, page by page, and the figures of all.
TEST(CatalogSearch, FindsAndCountsWhatPassesTheFiltersBeyondThoseOfOffers) {
    Sample sample(3000, 150, 11);
    const offers::FitNeeds needs{.min_gpu_count = 2, .min_vram_bytes = 24'000'000'000};
    for (int i = 0; i < 150; ++i) {
        const OffersQuery query = any_query(sample.listings);
        Beyond beyond;
        if (i % 2 == 0)
            beyond.sold_as = static_cast<machines::AvailabilityClass>(sample.listings.up_to(2));
        if (i % 3 != 0) beyond.min_vram_gib = sample.listings.up_to(90);
        if (i % 5 == 0) beyond.must_fit = &needs;
        std::map<OfferId, const Listing*> by_id;
        for (const Listing& listing : sample.all) by_id[listing.offer_id] = &listing;
        std::vector<OfferId> wanted = expected(sample, query);
        std::erase_if(wanted, [&](OfferId id) { return !passes(*by_id.at(id), beyond); });

        const Search search(sample.snapshot, sample.pulses, query, now, beyond);
        std::vector<OfferId> found;
        std::optional<Mark> after;
        for (;;) {
            const auto page = search.page(after, 7);
            for (const Found& each : page) found.push_back(each.mark.place.offer_id);
            if (page.size() < 7) break;
            after = page.back().mark;
        }
        ASSERT_EQ(found, wanted) << wire::encode(query) << i;
        const auto overview = search.overview();
        EXPECT_EQ(overview.all.count, wanted.size()) << wire::encode(query) << i;
        EXPECT_EQ(overview.listed, sample.all.size());
        EXPECT_EQ(search.reasons(3).matching, wanted.size());
    }
}

TEST(CatalogSearch, AModelHasAPriceOnceThreeOffersOfItCanBeRented) {
    Pulses pulses;
    SampleListings listings(pulses);
    std::vector<Listing> some = listings.some(5);
    for (Listing& listing : some) {
        listing.admitted = true;
        listing.fit.gpu_count = 2;
        listing.model = "NVIDIA H100 80GB HBM3";
    }
    some[0].rate_micro_per_hour = 200;
    some[1].rate_micro_per_hour = 400;
    some[2].rate_micro_per_hour = 600;
    some[2].model = "nvidia h100 80gb hbm3";
    some[3].rate_micro_per_hour = 2;
    some[3].admitted = false;
    some[4].rate_micro_per_hour = 5;
    some[4].model = "Something else";
    const auto median = [&](std::size_t large) {
        Snapshot snapshot;
        const auto middle = some.begin() + static_cast<std::ptrdiff_t>(large);
        snapshot.shards = {
            make_shard(std::make_shared<const Index>(std::vector(some.begin(), middle)), nullptr,
                       pulses, {now, {}}),
            make_shard(std::make_shared<const Index>(std::vector(middle, some.end())), nullptr,
                       pulses, {now, {}})};
        std::map<std::string, std::optional<Micro>> medians;
        for (const ModelPrice& each : snapshot.prices().models())
            medians[lower(each.model.name)] = each.median;
        return medians;
    };
    for (const std::size_t large : {0U, 1U, 3U, 5U}) {
        const auto medians = median(large);
        EXPECT_EQ(medians.size(), 2U);
        EXPECT_EQ(medians.at("nvidia h100 80gb hbm3"), Micro{200}) << large;
        EXPECT_EQ(medians.at("something else"), std::nullopt) << "one offer is no market";
    }
    some[1].model = "Something else";
    EXPECT_EQ(median(2).at("nvidia h100 80gb hbm3"), std::nullopt);
    for (std::size_t i = 0; i < 4; ++i) some[i].model_key = "h100-sxm";
    EXPECT_EQ(median(2).at("nvidia h100 80gb hbm3"), Micro{200}) << "whatever drivers call it";
}

TEST(CatalogSearch, TellsWhatEachFilterRemovesAndWhatComesNearest) {
    Sample sample(900, 40);
    std::map<OfferId, Listing> by_id;
    for (const Listing& listing : sample.all) by_id[listing.offer_id] = listing;
    for (int i = 0; i < 100; ++i) {
        const OffersQuery query = any_query(sample.listings);
        const auto reasons = Search(sample.snapshot, sample.pulses, query, now).reasons(3);
        EXPECT_EQ(reasons.listed, sample.all.size());
        EXPECT_EQ(reasons.matching, expected(sample, query).size()) << wire::encode(query);
        std::vector<Filter> active;
        for (const auto& [filter, removed] : reasons.removed_by) {
            active.push_back(filter);
            EXPECT_EQ(removed, sample.all.size() - expected(sample, alone(query, filter)).size())
                << enum_name(filter) << " in " << wire::encode(query);
        }
        EXPECT_LE(reasons.nearest.size(), 3U);
        for (const auto& [missed, found] : reasons.nearest)
            for (const Filter filter : active)
                EXPECT_EQ(passes(by_id.at(found.mark.place.offer_id), alone(query, filter)),
                          filter != missed)
                    << enum_name(filter) << " in " << wire::encode(query);
    }
}

}  // namespace
}  // namespace berth::catalog
