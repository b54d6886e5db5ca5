// Items as text. Nearly all of an item is rendered once, when its offer is read; what differs from
// answer to answer is its end, and is written with the page.
#pragma once

#include "catalog/search.hpp"

namespace berth::catalog {

// All of the item up to platform_fee_bps.
std::string item_text(const OfferSummary& offer);

// What ends the items of one answer.
struct Ending {
    Time now;
    std::int64_t platform_fee_bps = 0;
    const Measure* template_asked = nullptr;          // adds `fit`, `time_to_ready`
    const std::vector<Measure>* templates = nullptr;  // adds `fits_template_ids`
    const Snapshot* market = nullptr;                 // adds `market_price_micro_per_gpu_hour`
};

void append_item(std::string& out, const Found& found, const Pulses& pulses, const Ending& ending);

}  // namespace berth::catalog
