// What hosts are told of the versions of their offers; of their states machines tell.
#pragma once

#include <vector>

#include "events/events.hpp"
#include "offers/offers.hpp"

namespace berth::offers {

struct OfferPublishedFacts {
    MachineId machine_id;
    wire::Decimal offer_version;
    Micro rate_micro_per_hour;
    Time available_from;
    Time available_until;
    AvailabilityClass availability_class = AvailabilityClass::dedicated;
};
BOOST_DESCRIBE_STRUCT(OfferPublishedFacts, (),
                      (machine_id, offer_version, rate_micro_per_hour, available_from,
                       available_until, availability_class))
constexpr auto wire_docs(const OfferPublishedFacts*) {
    return std::to_array<wire::Doc>({
        {"offer_version", "The new one.", "3"},
        {"rate_micro_per_hour", "For the whole machine.", "2000000"},
        {"available_from", "Since when it can be rented."},
        {"available_until", "Until when."},
        {"availability_class", "An interruptible machine may be taken back after a notice.",
         "dedicated"},
    });
}

inline constexpr events::Kind<OfferPublishedFacts> offer_published{
    "offer.published", "offer", events::Audience::host, "A version of the offer was published.",
    R"({"available_until":"2026-02-15T12:00:00Z"})"};

inline std::vector<events::DeclaredKind> event_kinds() { return {offer_published}; }

}  // namespace berth::offers
