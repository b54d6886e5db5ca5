#include "catalog/index.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
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
    keys[order_of(Sort::net_desc)] = descending(listing.download_mbps_milli);
    keys[order_of(Sort::tflops_desc)] = descending(listing.tflops_milli);
    keys[order_of(Sort::ai_speed_desc)] = descending(listing.ai_speed_tok_s_milli);
    keys[gpus_desc] = descending(listing.fit.gpu_count);
    return keys;
}

std::uint64_t image_number(std::string_view image) {
    constexpr std::string_view mark = "sha256:";
    constexpr std::size_t digits = 16;
    const std::size_t at = image.rfind(mark);
    if (at == std::string_view::npos) return 0;
    const std::string_view hex = image.substr(at + mark.size(), digits);
    std::uint64_t number = 0;
    const auto read = std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
    return read.ec == std::errc() && hex.size() == digits ? number : 0;
}

Index::Index(std::vector<Listing> listings) {
    const std::size_t size = listings.size();
    check(size < std::numeric_limits<std::uint32_t>::max(), "slots have 32 bits");
    ids_.reserve(size);
    versions_.reserve(size);
    times_.reserve(size);
    fits_.reserve(size);
    warm_.reserve(size);
    keys_.reserve(size);
    text_ends_.reserve(size + 1);
    texts_.reserve(std::accumulate(
        listings.begin(), listings.end(), std::size_t{0},
        [](std::size_t sum, const Listing& listing) { return sum + listing.text.size(); }));
    for (const Entry& entry : sort_into_cells(listings)) {
        const auto slot = static_cast<std::uint32_t>(ids_.size());
        if (cells_.empty() || cells_.back().model != entry.model ||
            cells_.back().kind != entry.kind)
            cells_.push_back({entry.model, entry.kind, slot, slot});
        cells_.back().end = slot + 1;
        add(listings[entry.listing]);
        listings[entry.listing] = {};
    }
    sort_ids();
    cut_ranges();
    sort_orders();
}

std::vector<Index::Entry> Index::sort_into_cells(const std::vector<Listing>& listings) {
    std::unordered_map<std::string, std::uint32_t> numbers;
    std::vector<Entry> entries;
    entries.reserve(listings.size());
    for (std::uint32_t i = 0; i < listings.size(); ++i) {
        const Listing& listing = listings[i];
        const std::string model = lower(listing.model);
        const auto [found, added] = numbers.emplace(model + '\n' + listing.model_key,
                                                    static_cast<std::uint32_t>(models_.size()));
        if (added) {
            models_.push_back(model);
            gpu_models_.push_back({listing.model, listing.model_key});
        }
        Kind kind = kind_of(listing.verification_level) | kind_of(listing.tier) |
                    kind_of(listing.availability_class);
        if (listing.admitted) kind |= kind_admitted;
        if (listing.continent) kind |= kind_of(*listing.continent);
        entries.push_back({found->second, kind, listing.offer_id, i});
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

void Index::add(const Listing& listing) {
    ids_.push_back(listing.offer_id);
    versions_.push_back(listing.version);
    times_.push_back({listing.available_from, listing.available_until, listing.pulse});
    fits_.push_back(listing.fit);
    warm_.push_back(listing.warm);
    keys_.push_back(sort_keys(listing));
    texts_ += listing.text;
    text_ends_.push_back(texts_.size());
}

void Index::sort_ids() {
    by_id_.resize(size());
    std::iota(by_id_.begin(), by_id_.end(), 0U);
    std::sort(by_id_.begin(), by_id_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return ids_[a] < ids_[b]; });
}

void Index::cut_ranges() {
    constexpr std::size_t parts = 256;
    std::vector<std::uint64_t> sorted(size());
    for (std::size_t range = 0; range < ranges && size() > 0; ++range) {
        for (std::size_t slot = 0; slot < size(); ++slot)
            sorted[slot] = keys_[slot][range_orders[range]];
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t part = 1; part < parts; ++part)
            part_begins_[range].push_back(sorted[size() * part / parts]);
    }
}

std::uint8_t Index::part(std::size_t range, std::uint64_t key) const {
    const auto& begins = part_begins_[range];
    return static_cast<std::uint8_t>(std::upper_bound(begins.begin(), begins.end(), key) -
                                     begins.begin());
}

void Index::sort_orders() {
    struct Ranked {
        std::uint64_t key = 0;
        std::uint32_t rank = 0;  // by id
        auto operator<=>(const Ranked&) const = default;
    };
    std::vector<Step> steps(size());
    for (std::uint32_t cell = 0; cell < cells_.size(); ++cell)
        for (std::uint32_t slot = cells_[cell].begin; slot < cells_[cell].end; ++slot) {
            steps[slot] = {slot, cell, {{}, fits_[slot].backends}};
            for (std::size_t range = 0; range < ranges; ++range)
                steps[slot].traits.parts[range] = part(range, keys_[slot][range_orders[range]]);
        }
    std::vector<Ranked> sorted(size());
    std::vector<std::uint32_t> next(cells_.size());
    for (std::size_t order = 0; order < orders; ++order) {
        for (std::uint32_t rank = 0; rank < sorted.size(); ++rank)
            sorted[rank] = {keys_[by_id_[rank]][order], rank};
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t cell = 0; cell < cells_.size(); ++cell) next[cell] = cells_[cell].begin;
        of_all_[order].reserve(size());
        of_cells_[order].resize(size());
        for (const Ranked& each : sorted) {
            const Step& step = steps[by_id_[each.rank]];
            of_all_[order].push_back(step);
            of_cells_[order][next[step.cell]++] = step;
        }
    }
}

std::uint32_t Index::model(std::uint32_t slot) const {
    const auto after =
        std::upper_bound(cells_.begin(), cells_.end(), slot,
                         [](std::uint32_t than, const Cell& cell) { return than < cell.begin; });
    return std::prev(after)->model;
}

std::int64_t Index::rate_micro_per_gpu_hour(std::uint32_t slot) const {
    return static_cast<std::int64_t>(key(order_of(Sort::price_asc), slot)) /
           std::max(fits_[slot].gpu_count, std::int64_t{1});
}

std::optional<std::uint32_t> Index::find(OfferId id) const {
    const auto found = std::lower_bound(
        by_id_.begin(), by_id_.end(), id,
        [&](std::uint32_t slot, const OfferId& than) { return ids_[slot] < than; });
    if (found == by_id_.end() || ids_[*found] != id) return std::nullopt;
    return *found;
}

}  // namespace berth::catalog
