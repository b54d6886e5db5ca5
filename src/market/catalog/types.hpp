// Requests and responses of the catalog.
#pragma once

#include "api/page.hpp"
#include "catalog/listing.hpp"
#include "offers/template_types.hpp"

namespace berth::catalog {

// A continent by its name or its two letters; americas are two of them.
enum class ContinentFilter {
    africa,
    americas,
    antarctica,
    asia,
    europe,
    oceania,
    AF,
    AN,
    AS,
    EU,
    NA,
    OC,
    SA,
};
BOOST_DESCRIBE_ENUM(ContinentFilter, africa, americas, antarctica, asia, europe, oceania, AF, AN,
                    AS, EU, NA, OC, SA)

struct OffersQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<offers::TemplateId> template_id;
    std::optional<wire::Literal<"all">> fits_for;
    std::optional<std::string> sort;
    std::optional<VerificationLevel> verification_level;
    std::optional<bool> include_unverified;
    std::optional<wire::Count> min_bandwidth_mbps;
    std::optional<Micro> max_rate_micro_per_hour;
    std::optional<wire::Count> gpu_count;
    std::optional<wire::Text<0, 200>> model;
    std::optional<Tier> tier;
    std::optional<offers::Backend> backend;
    std::optional<ContinentFilter> continent;
    std::optional<ContinentFilter> near;
};
BOOST_DESCRIBE_STRUCT(OffersQuery, (),
                      (cursor, limit, template_id, fits_for, sort, verification_level,
                       include_unverified, min_bandwidth_mbps, max_rate_micro_per_hour, gpu_count,
                       model, tier, backend, continent, near))
constexpr auto wire_docs(const OffersQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor", "Where to go on: next_cursor of the page before. Left out for the first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"template_id",
         "The id of a published template, not its slug: every item then says by `fit` whether it "
         "can run it. Removes nothing."},
        {"fits_for",
         "`all`: every item carries the ids of all published templates that it can run.", "all"},
        {"sort",
         "price_asc, price_desc, vram_desc, reliability_desc, uptime_desc, newest, verification, "
         "net_desc, tflops_desc or ai_speed_desc; anything else is price_asc. What was not "
         "measured comes last.",
         "price_asc", "price_asc"},
        {"verification_level", "Exactly this level.", "auto_verified"},
        {"include_unverified",
         "Also machines that have not passed their test; they cannot be rented yet.", "false",
         "false"},
        {"min_bandwidth_mbps", "The measured download rate is at least this.", "500"},
        {"max_rate_micro_per_hour", "The whole machine costs at most this.", "500000"},
        {"gpu_count", "The machine has at least this many GPUs.", "1"},
        {"model", "A part of the name of the first GPU, in any case.", "rtx 4090"},
        {"tier", "Renters' containers, or models that the host serves.", "container"},
        {"backend", "One of its devices serves this.", "cuda"},
        {"continent", "Only machines there; those of unknown place are left out.", "europe"},
        {"near", "Machines there come first, all others after them.", "EU"},
    });
}

struct OfferPath {
    OfferId id;
};
BOOST_DESCRIBE_STRUCT(OfferPath, (), (id))

// What may be asked of one offer.
struct OneOfferQuery {
    std::optional<offers::TemplateId> template_id;
    std::optional<wire::Literal<"all">> fits_for;
};
BOOST_DESCRIBE_STRUCT(OneOfferQuery, (), (template_id, fits_for))
constexpr auto wire_docs(const OneOfferQuery*) {
    return std::to_array<wire::Doc>({
        {"template_id", "The id of a published template: `fit` says whether it can run it."},
        {"fits_for", "`all`: with the ids of all published templates that it can run.", "all"},
    });
}

enum class OfferReadiness { ready, unverified };
BOOST_DESCRIBE_ENUM(OfferReadiness, ready, unverified)

struct IncludedQuotas {
    wire::Count included_disk_gib;
    wire::Count included_egress_gib;
};
BOOST_DESCRIBE_STRUCT(IncludedQuotas, (), (included_disk_gib, included_egress_gib))
constexpr auto wire_docs(const IncludedQuotas*) {
    return std::to_array<wire::Doc>({
        {"included_disk_gib", "Disk that the price includes.", "100"},
        {"included_egress_gib", "Outgoing traffic that the price includes.", "1000"},
    });
}

struct Interruption {
    wire::Count runs;
    wire::Count uninterrupted;
    wire::Count horizon_h;
    Time computed_at;
    std::string summary;
};
BOOST_DESCRIBE_STRUCT(Interruption, (), (runs, uninterrupted, horizon_h, computed_at, summary))
constexpr auto wire_docs(const Interruption*) {
    return std::to_array<wire::Doc>({
        {"runs", "Interruptible rentals of this machine in the last 90 days.", "12"},
        {"uninterrupted", "Those of them that ran to the horizon.", "11"},
        {"horizon_h", "Hours of a run that count.", "24"},
        {"computed_at", "When it was counted."},
        {"summary", "The counts as a sentence.",
         "11 of 12 runs reached 24 hours without interruption."},
    });
}

struct Reliability {
    double score = 0;
    wire::Count sample_jobs;
};
BOOST_DESCRIBE_STRUCT(Reliability, (), (score, sample_jobs))
constexpr auto wire_docs(const Reliability*) {
    return std::to_array<wire::Doc>({
        {"score", "Share of rentals that ended without a fault of the host, in 90 days.", "0.98"},
        {"sample_jobs", "How many rentals that share is of.", "41"},
    });
}

struct OfferFit {
    bool fits = false;
    wire::Nullable<offers::FitReason> reason;
    wire::Decimal headroom_bytes;
};
BOOST_DESCRIBE_STRUCT(OfferFit, (), (fits, reason, headroom_bytes))
constexpr auto wire_docs(const OfferFit*) {
    return std::to_array<wire::Doc>({
        {"fits", "Whether the machine can run the template that was asked for."},
        {"reason", "The first check that fails; null when it fits.", "null"},
        {"headroom_bytes", "GPU memory that would stay free; 0 where it does not fit.",
         "5618987820"},
    });
}

struct OfferStart {
    bool is_warm = false;
    wire::Nullable<wire::Decimal> expected_ms;
};
BOOST_DESCRIBE_STRUCT(OfferStart, (), (is_warm, expected_ms))
constexpr auto wire_docs(const OfferStart*) {
    return std::to_array<wire::Doc>({
        {"is_warm", "Whether the template's image is on the machine already.", "true"},
        {"expected_ms",
         "From the reservation until the workload answers, by the medians of the template's last "
         "30 "
         "days, without fetching the image where it is there; null until five were measured.",
         "43000"},
    });
}

// The last six are not the same in every answer: see render.hpp.
struct OfferSummary {
    OfferId offer_id;
    wire::Decimal offer_version;
    wire::Nullable<std::string> model;
    wire::Nullable<std::string> gpu_model_key;
    wire::Nullable<wire::Count> gpu_count;
    Micro total_rate_micro_per_hour;
    Micro rate_micro_per_gpu_hour;
    OfferReadiness readiness = OfferReadiness::ready;
    VerificationLevel verification_level = VerificationLevel::unverified;
    IncludedQuotas included_quotas;
    Time available_from;
    Time available_until;
    Tier tier = Tier::container;
    std::vector<offers::Backend> backends;
    machines::AvailabilityClass availability_class = machines::AvailabilityClass::dedicated;
    std::optional<wire::Integer<0, 3600>> preemption_notice_s;
    std::optional<Interruption> interruption;
    std::optional<Continent> continent;
    bool accepts_custom_images = false;
    machines::RuntimeKind runtime = machines::RuntimeKind::container;
    Time listed_at;
    std::optional<wire::Decimal> vram_bytes;
    std::optional<wire::Decimal> ram_bytes;
    std::optional<wire::Decimal> disk_bytes;
    std::optional<wire::Count> cpu_cores;
    std::optional<double> download_mbps;
    std::optional<double> upload_mbps;
    std::optional<double> gpu_mem_bw_gbps;
    std::optional<double> tflops;
    std::optional<double> ai_speed_tok_s;
    std::optional<std::string> driver_version;
    std::optional<std::string> cuda_max;
    std::optional<Reliability> reliability;
    std::optional<wire::Integer<0, 10'000>> uptime_bps;
    wire::Integer<0, 10'000> platform_fee_bps;
    wire::Count last_seen_age_s;
    std::optional<OfferFit> fit;
    std::optional<OfferStart> time_to_ready;
    std::optional<std::vector<offers::TemplateId>> fits_template_ids;
    std::optional<wire::Nullable<Micro>> market_price_micro_per_gpu_hour;
};
BOOST_DESCRIBE_STRUCT(OfferSummary, (),
                      (offer_id, offer_version, model, gpu_model_key, gpu_count,
                       total_rate_micro_per_hour, rate_micro_per_gpu_hour, readiness,
                       verification_level, included_quotas, available_from, available_until, tier,
                       backends, availability_class, preemption_notice_s, interruption, continent,
                       accepts_custom_images, runtime, listed_at, vram_bytes, ram_bytes, disk_bytes,
                       cpu_cores, download_mbps, upload_mbps, gpu_mem_bw_gbps, tflops,
                       ai_speed_tok_s, driver_version, cuda_max, reliability, uptime_bps,
                       platform_fee_bps, last_seen_age_s, fit, time_to_ready, fits_template_ids,
                       market_price_micro_per_gpu_hour))
constexpr auto wire_docs(const OfferSummary*) {
    return std::to_array<wire::Doc>({
        {"offer_version", "Grows with every edit of the offer.", "3"},
        {"model", "Of the first GPU, as its driver names it.", "NVIDIA GeForce RTX 4090"},
        {"gpu_model_key", "The same in one spelling; null where it is unknown.", "rtx-4090"},
        {"gpu_count", "GPUs of the machine, all of which are rented together.", "2"},
        {"total_rate_micro_per_hour", "Of the whole machine.", "800000"},
        {"rate_micro_per_gpu_hour", "The same for one GPU, rounded down; for display.", "400000"},
        {"readiness", "Only what is ready can be rented."},
        {"verification_level", "By its own test, by an operator, or not yet.", "auto_verified"},
        {"included_quotas", "What the price includes."},
        {"available_from", "When it can be rented from."},
        {"available_until", "When every rental of it ends at the latest."},
        {"tier", "Renters' containers, or models that the host serves.", "container"},
        {"backends", "What its devices can be programmed with.", "cuda"},
        {"availability_class", "An interruptible machine may be taken back after a notice."},
        {"preemption_notice_s",
         "Of an interruptible offer: how long before the host takes the "
         "machine back it says so.",
         "300"},
        {"interruption", "Of an interruptible offer, once there were runs to count."},
        {"continent", "Of the address it enrolled from; left out where that is unknown.", "EU"},
        {"accepts_custom_images", "Whether it runs images of the renter's own."},
        {"runtime", "What carries out the rental on the host.", "container"},
        {"listed_at", "When it last became listed."},
        {"vram_bytes", "Of one GPU, measured, as all that follow are.", "25757220864"},
        {"ram_bytes", "Memory of the machine.", "134217728000"},
        {"disk_bytes", "Disk that was free.", "1000204886016"},
        {"cpu_cores", "Cores of the machine.", "32"},
        {"download_mbps", "Megabits a second, to the machine.", "940"},
        {"upload_mbps", "Megabits a second, from the machine.", "870"},
        {"gpu_mem_bw_gbps", "Memory bandwidth of a GPU in gigabytes a second.", "936"},
        {"tflops", "Of a GPU, in 32-bit floating point.", "82.6"},
        {"ai_speed_tok_s", "Tokens a second in the benchmark of the machine's test.", "112"},
        {"driver_version", "Of the GPU's driver, as the machine says.", "570.86.15"},
        {"cuda_max", "The highest CUDA version that the driver runs.", "12.8"},
        {"reliability", "Left out until there were rentals to judge by."},
        {"uptime_bps", "Share of the last 30 days in which it was heard from.", "9990"},
        {"platform_fee_bps", "Taken out of each charge, not added to it.", "1000"},
        {"last_seen_age_s", "Seconds since its last heartbeat.", "7"},
        {"fit", "With template_id alone."},
        {"time_to_ready", "With template_id alone: how soon it would answer."},
        {"fits_template_ids", "With fits_for alone."},
        {"market_price_micro_per_gpu_hour",
         "In the catalog alone: the median of what listed offers of this GPU model ask; null where "
         "there are fewer than three.",
         "390000"},
    });
}

// What can keep an offer from a page.
enum class Filter {
    include_unverified,
    verification_level,
    min_bandwidth_mbps,
    max_rate_micro_per_hour,
    gpu_count,
    model,
    tier,
    backend,
    continent,
    class_,
    min_vram_gib,
    fits_only,
};
BOOST_DESCRIBE_ENUM(Filter, include_unverified, verification_level, min_bandwidth_mbps,
                    max_rate_micro_per_hour, gpu_count, model, tier, backend, continent, class_,
                    min_vram_gib, fits_only)

struct RemovedBy {
    Filter filter = Filter::include_unverified;
    wire::Count count;
};
BOOST_DESCRIBE_STRUCT(RemovedBy, (), (filter, count))
constexpr auto wire_docs(const RemovedBy*) {
    return std::to_array<wire::Doc>({
        {"filter", "The parameter; include_unverified stands for not having asked for those.",
         "max_rate_micro_per_hour"},
        {"count", "Listed offers that this filter alone removes.", "17"},
    });
}

struct NearMiss {
    Filter filter = Filter::include_unverified;
    wire::Rendered<OfferSummary> offer;
};
BOOST_DESCRIBE_STRUCT(NearMiss, (), (filter, offer))
constexpr auto wire_docs(const NearMiss*) {
    return std::to_array<wire::Doc>({
        {"filter", "The one filter that it misses.", "max_rate_micro_per_hour"},
        {"offer", "As the catalog shows it."},
    });
}

struct Explanation {
    wire::Count listed;
    wire::Count matching;
    std::vector<RemovedBy> removed_by;
    std::vector<NearMiss> nearest;
};
BOOST_DESCRIBE_STRUCT(Explanation, (), (listed, matching, removed_by, nearest))
constexpr auto wire_docs(const Explanation*) {
    return std::to_array<wire::Doc>({
        {"listed", "Offers that are listed now, before any filter.", "40"},
        {"matching", "Those that pass every filter.", "0"},
        {"removed_by", "Each filter of the query, alone."},
        {"nearest", "Up to three offers that miss exactly one filter, in the order of the sort."},
    });
}

}  // namespace berth::catalog
