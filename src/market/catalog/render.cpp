#include "catalog/render.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.hpp"
#include "base/enum_names.hpp"
#include "wire/wire.hpp"

namespace berth::catalog {
namespace {

// What item_text() leaves out, as it is written for an offer that says 0 there.
constexpr std::string_view blank_end = R"(,"platform_fee_bps":0,"last_seen_age_s":0})";

void append_number(std::string& out, std::int64_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// An OfferFit as wire::encode() would write it: there is one in each item of a page.
void append_fit(std::string& out, const offers::FitMachine& machine, const Measure& measure) {
    const offers::Fit fit = offers::fit(machine, measure.needs);
    if (fit.reason) {
        out += R"(,"fit":{"fits":false,"reason":")";
        out += enum_name(*fit.reason);
        out += '"';
    } else {
        out += R"(,"fit":{"fits":true,"reason":null)";
    }
    out += R"(,"headroom_bytes":")";
    append_number(out, fit.headroom_bytes);
    out += R"("})";
}

// An OfferStart, likewise.
void append_start(std::string& out, const WarmImages& warm, const Measure& measure) {
    const bool is_warm = std::binary_search(warm.begin(), warm.end(), measure.image);
    out += is_warm ? R"(,"time_to_ready":{"is_warm":true,"expected_ms":)"
                   : R"(,"time_to_ready":{"is_warm":false,"expected_ms":)";
    if (!measure.usual_start) {
        out += "null}";
        return;
    }
    const offers::TimeToReady& usual = *measure.usual_start;
    // The first answer is counted from the same moment as the loading, which it comes after.
    const std::int64_t answers_ms = std::max(usual.load_ms.value, usual.probe_ms.value);
    out += '"';
    append_number(out, (is_warm ? 0 : usual.pull_ms.value) + answers_ms);
    out += R"("})";
}

void append_fitting(std::string& out, const offers::FitMachine& machine,
                    const std::vector<Measure>& measures) {
    out += R"(,"fits_template_ids":[)";
    bool first = true;
    for (const Measure& measure : measures) {
        if (!offers::fit(machine, measure.needs).fits()) continue;
        out += first ? "\"" : ",\"";
        out += to_string(measure.template_id);
        out += '"';
        first = false;
    }
    out += ']';
}

void append_market_price(std::string& out, const Found& found, const Snapshot& snapshot) {
    const std::size_t shard = snapshot.shards[0].index.get() == found.index ? 0 : 1;
    const Prices& prices = snapshot.prices();
    const auto model = prices.number(shard, found.index->model(found.slot));
    const auto median = model ? prices.models()[*model].median : std::nullopt;
    out += R"(,"market_price_micro_per_gpu_hour":)";
    if (!median) {
        out += "null";
        return;
    }
    out += '"';
    append_number(out, median->value);
    out += '"';
}

}  // namespace

std::string item_text(const OfferSummary& offer) {
    std::string text = wire::encode(offer);
    require(text.ends_with(blank_end), "an offer is rendered before its end is known");
    text.resize(text.size() - blank_end.size());
    return text;
}

void append_item(std::string& out, const Found& found, const Pulses& pulses, const Ending& ending) {
    constexpr std::int64_t micros_per_second = 1'000'000;
    const Index& index = *found.index;
    const Duration age = ending.now - pulses.get(index.pulse(found.slot));
    out += index.text(found.slot);
    out += R"(,"platform_fee_bps":)";
    append_number(out, ending.platform_fee_bps);
    out += R"(,"last_seen_age_s":)";
    append_number(out, std::max(age.count(), std::int64_t{0}) / micros_per_second);
    if (ending.template_asked != nullptr) {
        append_fit(out, index.fit(found.slot), *ending.template_asked);
        append_start(out, index.warm(found.slot), *ending.template_asked);
    }
    if (ending.templates != nullptr) append_fitting(out, index.fit(found.slot), *ending.templates);
    if (ending.market != nullptr) append_market_price(out, found, *ending.market);
    out += '}';
}

}  // namespace berth::catalog
