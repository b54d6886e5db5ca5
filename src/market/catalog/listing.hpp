// One offer as the catalog keeps it: what is filtered and sorted by, and the text that is sent.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines/types.hpp"
#include "offers/fit.hpp"

namespace berth::catalog {

using machines::Continent;
using machines::OfferId;
using machines::Tier;
using machines::VerificationLevel;

// Digests of images, each by its first eight bytes, ascending: enough to know one again.
using WarmImages = std::vector<std::uint64_t>;
// Of "sha256:…" or of an image's whole name; 0 of anything else.
std::uint64_t image_number(std::string_view image);

struct Listing {
    OfferId offer_id;
    std::int64_t version = 0;  // of its machine
    std::uint32_t pulse = 0;   // where Pulses has the last heartbeat of its machine
    Time available_from;
    Time available_until;
    bool admitted = false;  // its machine has passed, so that it can be rented
    Tier tier = Tier::container;
    VerificationLevel verification_level = VerificationLevel::unverified;
    std::optional<Continent> continent;
    std::string model;      // of the first device; empty when it has none
    std::string model_key;  // of the known model that it is; empty of others
    machines::AvailabilityClass availability_class = machines::AvailabilityClass::dedicated;
    Time listed_at;
    std::int64_t rate_micro_per_hour = 0;
    std::optional<std::int64_t> download_mbps_milli;
    std::optional<std::int64_t> tflops_milli;
    std::optional<std::int64_t> ai_speed_tok_s_milli;
    std::optional<double> reliability;  // 0 to 1
    std::optional<std::int64_t> uptime_bps;
    offers::FitMachine fit;  // with backends, GPUs and memory
    WarmImages warm;         // images that are on the host already
    std::string text;        // the item's JSON but for its end; see render.hpp
};

// The orders of the contract.
enum class Sort {
    price_asc,
    price_desc,
    vram_desc,
    reliability_desc,
    uptime_desc,
    newest,
    verification,
    net_desc,
    tflops_desc,
    ai_speed_desc,
};
BOOST_DESCRIBE_ENUM(Sort, price_asc, price_desc, vram_desc, reliability_desc, uptime_desc, newest,
                    verification, net_desc, tflops_desc, ai_speed_desc)

// An order that an index keeps: those of Sort, by the same numbers, and one more that a filter
// needs.
inline constexpr std::size_t gpus_desc = 10;
inline constexpr std::size_t orders = 11;
constexpr std::size_t order_of(Sort sort) { return static_cast<std::size_t>(sort); }

// What an order compares, ascending; offers with the same key follow by their id. What was not
// measured comes last, whatever the direction.
inline constexpr std::uint64_t unmeasured = ~std::uint64_t{0};
std::array<std::uint64_t, orders> sort_keys(const Listing& listing);

// The key of a quantity where more comes first.
std::uint64_t descending(std::optional<std::int64_t> value);

}  // namespace berth::catalog
