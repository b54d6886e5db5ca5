// An immutable index over offers. Offers that agree in everything that has few values (model,
// continent, tier, level, class, whether they passed) make a cell. Every order of the catalog is
// kept over all offers and once more within each cell, and a step of an order carries what filters
// ask, so that a walk reads memory in a row. The texts that are sent lie in one block. Nothing here
// knows time, heartbeats or requests.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "catalog/listing.hpp"

namespace berth::catalog {

// A place in an order: the page goes on after it.
struct Place {
    std::uint64_t key = 0;
    OfferId offer_id;

    friend auto operator<=>(const Place&, const Place&) = default;
};

// The orders that a filter cuts: what it keeps is a beginning of one.
inline constexpr std::size_t ranges = 3;
inline constexpr std::size_t rates = 0;
inline constexpr std::size_t downloads = 1;
inline constexpr std::size_t gpus = 2;
inline constexpr std::array<std::size_t, ranges> range_orders{order_of(Sort::price_asc),
                                                              order_of(Sort::net_desc), gpus_desc};

// What filters ask of an offer beside its cell: in which of 256 parts of each range it lies, and
// what it can be programmed with.
struct Traits {
    std::array<std::uint8_t, ranges> parts{};
    offers::BackendBits backends = 0;
};

struct Step {
    std::uint32_t slot = 0;
    std::uint32_t cell = 0;
    Traits traits;
};

// What the offers of a cell have in common, as one bit for each value.
using Kind = std::uint32_t;
inline constexpr Kind kind_admitted = 1;
constexpr Kind kind_of(VerificationLevel level) { return Kind{2} << static_cast<Kind>(level); }
constexpr Kind kind_of(Tier tier) { return Kind{16} << static_cast<Kind>(tier); }
constexpr Kind kind_of(Continent continent) { return Kind{64} << static_cast<Kind>(continent); }
constexpr Kind kind_of(machines::AvailabilityClass sold_as) {
    return Kind{8192} << static_cast<Kind>(sold_as);
}

struct GpuModel {
    std::string name;  // as a driver spells it
    std::string key;   // of the known model that it is; empty of others
};

struct Cell {
    std::uint32_t model = 0;
    Kind kind = 0;
    std::uint32_t begin = 0;  // of its slots, which follow each other by id
    std::uint32_t end = 0;
};

class Index {
public:
    Index() = default;
    // No two listings are of one offer.
    explicit Index(std::vector<Listing> listings);

    std::size_t size() const { return ids_.size(); }
    std::optional<std::uint32_t> find(OfferId id) const;

    OfferId id(std::uint32_t slot) const { return ids_[slot]; }
    std::int64_t version(std::uint32_t slot) const { return versions_[slot]; }
    std::uint32_t pulse(std::uint32_t slot) const { return times_[slot].pulse; }
    Time available_from(std::uint32_t slot) const { return times_[slot].from; }
    Time available_until(std::uint32_t slot) const { return times_[slot].until; }
    const offers::FitMachine& fit(std::uint32_t slot) const { return fits_[slot]; }
    const WarmImages& warm(std::uint32_t slot) const { return warm_[slot]; }
    std::string_view text(std::uint32_t slot) const {
        return std::string_view(texts_).substr(text_ends_[slot],
                                               text_ends_[slot + 1] - text_ends_[slot]);
    }
    std::uint64_t key(std::size_t order, std::uint32_t slot) const { return keys_[slot][order]; }
    Place place(std::size_t order, std::uint32_t slot) const {
        return {key(order, slot), ids_[slot]};
    }

    std::span<const Cell> cells() const { return cells_; }
    std::span<const std::string> models() const { return models_; }       // in lower case
    std::span<const GpuModel> gpu_models() const { return gpu_models_; }  // the same, as they are
    // Its place among the models.
    std::uint32_t model(std::uint32_t slot) const;
    std::int64_t rate_micro_per_gpu_hour(std::uint32_t slot) const;
    std::span<const Step> all(std::size_t order) const { return of_all_[order]; }
    std::span<const Step> within(const Cell& cell, std::size_t order) const {
        return std::span(of_cells_[order]).subspan(cell.begin, cell.end - cell.begin);
    }
    // The part of a range in which a key lies: a greater key never lies in a lower part.
    std::uint8_t part(std::size_t range, std::uint64_t key) const;

private:
    struct Times {
        Time from;
        Time until;
        std::uint32_t pulse = 0;
    };
    // A listing on the way to its slot.
    struct Entry {
        std::uint32_t model = 0;
        Kind kind = 0;
        OfferId offer_id;
        std::uint32_t listing = 0;

        friend auto operator<=>(const Entry&, const Entry&) = default;
    };

    std::vector<Entry> sort_into_cells(const std::vector<Listing>& listings);
    void add(const Listing& listing);
    void sort_ids();
    void cut_ranges();
    void sort_orders();

    std::vector<OfferId> ids_;
    std::vector<std::uint32_t> by_id_;
    std::vector<std::int64_t> versions_;
    std::vector<Times> times_;
    std::vector<offers::FitMachine> fits_;
    std::vector<WarmImages> warm_;
    std::vector<std::array<std::uint64_t, orders>> keys_;
    std::vector<Cell> cells_;
    std::vector<std::string> models_;
    std::vector<GpuModel> gpu_models_;
    std::array<std::vector<Step>, orders> of_all_;
    std::array<std::vector<Step>, orders> of_cells_;
    std::array<std::vector<std::uint64_t>, ranges> part_begins_;  // of all parts but the first
    std::string texts_;
    std::vector<std::uint64_t> text_ends_{0};
};

}  // namespace berth::catalog
