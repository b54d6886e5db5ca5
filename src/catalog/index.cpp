#include "catalog/index.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "base/check.hpp"
#include "base/letters.hpp"

namespace berth::catalog {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), to_lower);
    return out;
}

// Doubles that are not negative compare as their bits do.
std::uint64_t descending_share(std::optional<double> value) {
    return value ? ~std::bit_cast<std::uint64_t>(std::max(*value, 0.0)) - 1 : unmeasured;
}

template <class T>
std::size_t bytes_of(const std::vector<T>& values) {
    return values.capacity() * sizeof(T);
}

}  // namespace

std::uint64_t descending(std::optional<std::int64_t> value) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (!value) return unmeasured;
    return most - static_cast<std::uint64_t>(std::max(*value, std::int64_t{0}));
}

std::array<std::uint64_t, orders> sort_keys(const Listing& listing) {
    const auto level = static_cast<std::int64_t>(listing.verification_level);
    std::array<std::uint64_t, orders> keys{};
    keys[order_of(Sort::price_asc)] = static_cast<std::uint64_t>(listing.rate_micro_per_hour);
    keys[order_of(Sort::price_desc)] = descending(listing.rate_micro_per_hour);
    keys[order_of(Sort::vram_desc)] = descending(listing.fit.vram_bytes);
    keys[order_of(Sort::reliability_desc)] = descending_share(listing.reliability);
    keys[order_of(Sort::uptime_desc)] = descending(listing.uptime_bps);
    keys[order_of(Sort::newest)] = descending(listing.listed_at.micros);
    keys[order_of(Sort::verification)] = descending(level);
    keys[order_of(Sort::net_desc)] = descending(listing.download_mbps);
    keys[order_of(Sort::tflops_desc)] = descending(listing.tflops);
    keys[order_of(Sort::ai_speed_desc)] = descending(listing.ai_speed_tok_s);
    keys[gpus_desc] = descending(listing.fit.gpu_count);
    return keys;
}

Index::Index(std::vector<Listing> listings) {
    const std::size_t size = listings.size();
    check(size < std::numeric_limits<std::uint32_t>::max(), "slots have 32 bits");
    std::sort(listings.begin(), listings.end(),
              [](const Listing& a, const Listing& b) { return a.offer_id < b.offer_id; });
    ids_.reserve(size);
    versions_.reserve(size);
    times_.reserve(size);
    fits_.reserve(size);
    text_ends_.reserve(size + 1);
    for (auto& keys : keys_) keys.resize(size);
    texts_.reserve(std::accumulate(
        listings.begin(), listings.end(), std::size_t{0},
        [](std::size_t sum, const Listing& listing) { return sum + listing.text.size(); }));
    admitted_ = Bitmap(size);
    tiers_.fill(Bitmap(size));
    backends_.fill(Bitmap(size));
    levels_.fill(Bitmap(size));
    continents_.fill(Bitmap(size));
    for (std::uint32_t slot = 0; slot < size; ++slot) {
        add_columns(listings[slot], slot);
        listings[slot].text = {};
    }
    add_models(listings);
    sort_orders();
    mark_orders();
}

void Index::add_columns(const Listing& listing, std::uint32_t slot) {
    ids_.push_back(listing.offer_id);
    versions_.push_back(listing.version);
    times_.push_back({listing.available_from, listing.available_until, listing.pulse});
    fits_.push_back(listing.fit);
    texts_ += listing.text;
    text_ends_.push_back(texts_.size());
    const auto keys = sort_keys(listing);
    for (std::size_t order = 0; order < orders; ++order) keys_[order][slot] = keys[order];
    if (listing.admitted) admitted_.set(slot);
    tiers_[static_cast<std::size_t>(listing.tier)].set(slot);
    levels_[static_cast<std::size_t>(listing.verification_level)].set(slot);
    if (listing.continent) continents_[static_cast<std::size_t>(*listing.continent)].set(slot);
    for (std::size_t backend = 0; backend < backends_.size(); ++backend)
        if (listing.fit.backends & (1U << backend)) backends_[backend].set(slot);
}

void Index::add_models(const std::vector<Listing>& listings) {
    std::unordered_map<std::string, std::size_t> numbers;
    for (std::uint32_t slot = 0; slot < listings.size(); ++slot) {
        if (listings[slot].model.empty()) continue;
        const auto [found, added] = numbers.emplace(lower(listings[slot].model), models_.size());
        if (added) models_.push_back({found->first, {}, {}});
        models_[found->second].slots.push_back(slot);
    }
    for (Model& model : models_) {
        if (model.slots.size() <= size() / marks) {
            model.slots.shrink_to_fit();
            continue;
        }
        model.bits = Bitmap(size());
        for (const std::uint32_t slot : model.slots) model.bits.set(slot);
        model.slots = {};
    }
}

void Index::sort_orders() {
    std::vector<Hit> hits(size());
    for (std::size_t order = 0; order < orders; ++order) {
        for (std::uint32_t slot = 0; slot < hits.size(); ++slot)
            hits[slot] = {keys_[order][slot], slot};
        std::sort(hits.begin(), hits.end());
        orders_[order].reserve(size());
        for (const Hit& hit : hits) orders_[order].push_back(hit.slot);
    }
}

void Index::mark_orders() {
    marked_[marked_rates].order = order_of(Sort::price_asc);
    marked_[marked_downloads].order = order_of(Sort::net_desc);
    marked_[marked_gpus].order = gpus_desc;
    for (Marked& marked : marked_) {
        Bitmap bits(size());
        std::size_t at = 0;
        for (std::size_t mark = 1; mark < marks; ++mark) {
            for (; at < size() * mark / marks; ++at) bits.set(orders_[marked.order][at]);
            marked.beginnings.push_back(bits);
        }
    }
}

std::optional<std::uint32_t> Index::find(OfferId id) const {
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (found == ids_.end() || *found != id) return std::nullopt;
    return static_cast<std::uint32_t>(found - ids_.begin());
}

Bitmap Index::model_contains(std::string_view lower_case) const {
    Bitmap bits(size());
    for (const Model& model : models_) {
        if (model.name.find(lower_case) == model.name.npos) continue;
        for (const std::uint32_t slot : model.slots) bits.set(slot);
        if (model.bits.bytes() != 0) bits |= model.bits;
    }
    return bits;
}

Bitmap Index::rate_at_most(std::int64_t micro_per_hour) const {
    return beginning(marked_[marked_rates], static_cast<std::uint64_t>(micro_per_hour));
}

Bitmap Index::download_at_least(std::int64_t mbps) const {
    return beginning(marked_[marked_downloads], descending(mbps));
}

Bitmap Index::gpus_at_least(std::int64_t count) const {
    return beginning(marked_[marked_gpus], descending(count));
}

// The nearest mark before the end is copied; what lies between the two is added one by one.
Bitmap Index::beginning(const Marked& marked, std::uint64_t key_max) const {
    const std::size_t end = position_after(marked.order, {key_max, ~std::uint32_t{0}});
    const std::size_t mark = size() == 0 ? 0 : std::min(end * marks / size(), marks - 1);
    Bitmap bits = mark == 0 ? Bitmap(size()) : marked.beginnings[mark - 1];
    for (std::size_t at = size() * mark / marks; at < end; ++at)
        bits.set(orders_[marked.order][at]);
    return bits;
}

// The first position that is not before the hit.
std::size_t Index::position_after(std::size_t order, const Hit& hit) const {
    const auto& sorted = orders_[order];
    const auto found = std::lower_bound(
        sorted.begin(), sorted.end(), hit,
        [&](std::uint32_t slot, const Hit& than) { return Hit{keys_[order][slot], slot} < than; });
    return static_cast<std::size_t>(found - sorted.begin());
}

// The least hit that comes after the place, whether its offer is in this index or not.
Hit Index::hit_after(const Place& place) const {
    const auto after = std::upper_bound(ids_.begin(), ids_.end(), place.offer_id);
    return {place.key, static_cast<std::uint32_t>(after - ids_.begin())};
}

std::size_t Index::bytes() const {
    std::size_t sum = bytes_of(ids_) + bytes_of(versions_) + bytes_of(times_) + bytes_of(fits_) +
                      texts_.capacity() +
                      bytes_of(text_ends_) + admitted_.bytes() + bytes_of(models_);
    for (const auto& keys : keys_) sum += bytes_of(keys);
    for (const auto& order : orders_) sum += bytes_of(order);
    for (const Marked& marked : marked_)
        for (const Bitmap& bits : marked.beginnings) sum += bits.bytes();
    for (const Bitmap& bits : tiers_) sum += bits.bytes();
    for (const Bitmap& bits : backends_) sum += bits.bytes();
    for (const Bitmap& bits : levels_) sum += bits.bytes();
    for (const Bitmap& bits : continents_) sum += bits.bytes();
    for (const Model& model : models_)
        sum += model.name.capacity() + bytes_of(model.slots) + model.bits.bytes();
    return sum;
}

}  // namespace berth::catalog
