// Requests and responses of offers: what a host sells, and whether it is on sale.
#pragma once

#include <boost/describe.hpp>

#include "api/sibling.hpp"
#include "machines/types.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::offers {

using machines::AvailabilityClass;
using machines::OfferId;
using machines::OfferState;

// Market price

enum class PriceBasis { amplerun, reference, throughput };
BOOST_DESCRIBE_ENUM(PriceBasis, amplerun, reference, throughput)

struct PriceSource {
    std::string label;
    std::string url;
    std::string accessed;
};
BOOST_DESCRIBE_STRUCT(PriceSource, (), (label, url, accessed))
constexpr auto wire_docs(const PriceSource*) {
    return std::to_array<wire::Doc>({
        {"label", "Who asks the price.", "RunPod Community Cloud"},
        {"url", "Where it was read.", "https://www.runpod.io/pricing"},
        {"accessed", "The day it was read.", "2026-09-25"},
    });
}

struct PriceEstimate {
    double tok_s_8b = 0;
    Micro micro_per_million_tokens;
    wire::Count fits_up_to_b_params;
};
BOOST_DESCRIBE_STRUCT(PriceEstimate, (), (tok_s_8b, micro_per_million_tokens, fits_up_to_b_params))
constexpr auto wire_docs(const PriceEstimate*) {
    return std::to_array<wire::Doc>({
        {"tok_s_8b", "Tokens a second of a model with eight billion parameters.", "126"},
        {"micro_per_million_tokens", "At the suggested price.", "881834"},
        {"fits_up_to_b_params", "Billions of parameters whose weights fit.", "38"},
    });
}

struct MarketPrice {
    std::string gpu_model;
    PriceBasis basis = PriceBasis::reference;
    Micro median_micro_per_gpu_hour;
    wire::Count sample_size;
    std::vector<PriceSource> sources;
    wire::Nullable<PriceEstimate> estimate;
};
BOOST_DESCRIBE_STRUCT(MarketPrice, (),
                      (gpu_model, basis, median_micro_per_gpu_hour, sample_size, sources, estimate))
constexpr auto wire_docs(const MarketPrice*) {
    return std::to_array<wire::Doc>({
        {"gpu_model", "The canonical name that was matched.", "RTX 4090"},
        {"basis",
         "amplerun: listed offers of this service, three at least; reference: public list prices "
         "of the model; throughput: public list prices by memory bandwidth.",
         "reference"},
        {"median_micro_per_gpu_hour", "What is suggested for one GPU and one hour.", "390000"},
        {"sample_size", "How many listings or list prices stand behind it.", "4"},
        {"sources", "Of list prices; none for listings of this service."},
        {"estimate", "From memory bandwidth, not measured; null when that is unknown."},
    });
}

// Offers

struct MachinePath {
    MachineId id;
};
BOOST_DESCRIBE_STRUCT(MachinePath, (), (id))
constexpr auto wire_docs(const MachinePath*) {
    return std::to_array<wire::Doc>({{"id", "Of the machine."}});
}

using NoticeSeconds = wire::Integer<0, 3600>;

struct OfferEdit {
    wire::Decimal expected_version;
    Micro rate_micro_per_hour;
    wire::Count included_disk_gib;
    wire::Count included_egress_gib;
    Time available_from;
    Time available_until;
    std::optional<Time> listing_expires_at;
    std::optional<wire::Count> min_duration_s;
    std::optional<wire::Count> max_duration_s;
    std::optional<AvailabilityClass> availability_class;
    std::optional<NoticeSeconds> preemption_notice_s;
};
BOOST_DESCRIBE_STRUCT(OfferEdit, (),
                      (expected_version, rate_micro_per_hour, included_disk_gib,
                       included_egress_gib, available_from, available_until, listing_expires_at,
                       min_duration_s, max_duration_s, availability_class, preemption_notice_s))
constexpr std::string_view wire_rules(const OfferEdit*) {
    return R"({"if":{"properties":{"availability_class":{"const":"dedicated"}},)"
           R"("required":["availability_class"]},)"
           R"("then":{"not":{"required":["preemption_notice_s"]}}})";
}
constexpr auto wire_docs(const OfferEdit*) {
    return std::to_array<wire::Doc>({
        {"expected_version", "The offer's version as you know it; 0 for the first.", "0"},
        {"rate_micro_per_hour", "For the whole machine.", "400000"},
        {"included_disk_gib", "Disk that the price includes.", "100"},
        {"included_egress_gib", "Outgoing traffic that the price includes.", "1000"},
        {"available_from", "Not rented before."},
        {"available_until", "Rentals end then at the latest; later than available_from.",
         "2030-12-31T00:00:00Z"},
        {"listing_expires_at",
         "The earlier of this and available_until counts; later than available_from.",
         wire::left_out},
        {"min_duration_s", "Taken and not kept.", "3600"},
        {"max_duration_s", "Taken and not kept.", "86400"},
        {"availability_class", "Left out, it stays as it is.", "dedicated"},
        {"preemption_notice_s",
         "Needed for interruptible, refused for dedicated. Left out, it stays as it is.",
         wire::left_out},
    });
}

struct OfferVersion {
    OfferId offer_id;
    wire::Decimal offer_version;
    OfferState state = OfferState::unlisted;
    Micro rate_micro_per_hour;
    wire::Count included_disk_gib;
    wire::Count included_egress_gib;
    Time available_from;
    Time available_until;
    std::optional<AvailabilityClass> availability_class;
    std::optional<wire::Nullable<NoticeSeconds>> preemption_notice_s;
    std::vector<std::string> ignored_fields;
};
BOOST_DESCRIBE_STRUCT(OfferVersion, (),
                      (offer_id, offer_version, state, rate_micro_per_hour, included_disk_gib,
                       included_egress_gib, available_from, available_until, availability_class,
                       preemption_notice_s, ignored_fields))
constexpr auto wire_docs(const OfferVersion*) {
    return std::to_array<wire::Doc>({
        {"offer_id", "Of the machine's offer, the same for all its versions."},
        {"offer_version", "One more than the version before.", "3"},
        {"rate_micro_per_hour", "For the whole machine.", "400000"},
        {"included_disk_gib", "Disk that the price includes.", "100"},
        {"included_egress_gib", "Outgoing traffic that the price includes.", "1000"},
        {"available_from", "Not rented before."},
        {"available_until", "The earlier of what was given and listing_expires_at."},
        {"availability_class", "Only interruptible rentals can be ended by the host.", "dedicated"},
        {"preemption_notice_s", "Null for dedicated.", "null"},
        {"ignored_fields", "What was given and not kept.", "min_duration_s"},
    });
}

// Null where nothing was published yet.
struct CurrentOffer {
    wire::Decimal offer_version;
    wire::Nullable<Micro> rate_micro_per_hour;
    wire::Nullable<Time> available_until;
};
BOOST_DESCRIBE_STRUCT(CurrentOffer, (), (offer_version, rate_micro_per_hour, available_until))
constexpr auto wire_docs(const CurrentOffer*) {
    return std::to_array<wire::Doc>({
        {"offer_version", "What expected_version should have been.", "3"},
        {"rate_micro_per_hour", "Of that version.", "400000"},
        {"available_until", "Of that version."},
    });
}
inline constexpr api::Sibling<CurrentOffer> current_offer{Code::version_conflict, "current"};

// One version of an offer, as its owner looks back at it.
struct PastVersion {
    OfferId offer_id;
    wire::Decimal offer_version;
    OfferState state = OfferState::unlisted;
    Micro rate_micro_per_hour;
    wire::Count included_disk_gib;
    wire::Count included_egress_gib;
    Time available_from;
    Time available_until;
    AvailabilityClass availability_class = AvailabilityClass::dedicated;
    wire::Nullable<NoticeSeconds> preemption_notice_s;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(PastVersion, (),
                      (offer_id, offer_version, state, rate_micro_per_hour, included_disk_gib,
                       included_egress_gib, available_from, available_until, availability_class,
                       preemption_notice_s, created_at))
constexpr auto wire_docs(const PastVersion*) {
    return std::to_array<wire::Doc>({
        {"offer_id", "Of the machine's offer, the same for all its versions."},
        {"offer_version", "1 for the first.", "3"},
        {"state", "Of the offer, for its current version; an older one is unlisted."},
        {"rate_micro_per_hour", "For the whole machine.", "400000"},
        {"included_disk_gib", "Disk that the price includes.", "100"},
        {"included_egress_gib", "Outgoing traffic that the price includes.", "1000"},
        {"available_from", "Not rented before."},
        {"available_until", "Rentals of this version end then at the latest."},
        {"availability_class", "Only interruptible rentals can be ended by the host.", "dedicated"},
        {"preemption_notice_s", "Null for dedicated.", "null"},
        {"created_at", "When it was published."},
    });
}

// Listing

using OperationId = Id<struct OperationTag>;

enum class Decision { admitted, rejected };
BOOST_DESCRIBE_ENUM(Decision, admitted, rejected)

struct ListingOutcome {
    OperationId operation_id;
    MachineId machine_id;
    Decision decision = Decision::admitted;
    machines::MachineState state = machines::MachineState::UNQUALIFIED;
    wire::Nullable<wire::Decimal> offer_version;
    std::vector<machines::Finding> findings;
};
BOOST_DESCRIBE_STRUCT(ListingOutcome, (),
                      (operation_id, machine_id, decision, state, offer_version, findings))
constexpr auto wire_docs(const ListingOutcome*) {
    return std::to_array<wire::Doc>({
        {"operation_id", "Of this request; the same for a repeated one."},
        {"machine_id", "Of the machine that was asked for."},
        {"decision",
         "rejected: the findings say what to do. Where they pass by themselves, the "
         "wish to be listed is kept."},
        {"state", "Of the machine, after this.", "AVAILABLE"},
        {"offer_version", "Null when nothing was published.", "3"},
        {"findings", "What is in the way, each with what to do; none when it is admitted."},
    });
}

struct CustomImagesWish {
    bool accept = false;
};
BOOST_DESCRIBE_STRUCT(CustomImagesWish, (), (accept))
constexpr auto wire_docs(const CustomImagesWish*) {
    return std::to_array<wire::Doc>({
        {"accept", "Whether renters may bring public images of their own.", "true"},
    });
}

struct CustomImages {
    MachineId machine_id;
    bool accepts_custom_images = false;
};
BOOST_DESCRIBE_STRUCT(CustomImages, (), (machine_id, accepts_custom_images))
constexpr auto wire_docs(const CustomImages*) {
    return std::to_array<wire::Doc>({
        {"machine_id", "Of the machine that was asked for."},
        {"accepts_custom_images", "As it now stands.", "true"},
    });
}

}  // namespace berth::offers
