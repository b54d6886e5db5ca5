// The interface by which machines passes on what an owner wished when it asked for a token; offers
// implements it. Who asks for a token may say a price: it is published when the machine has passed
// its first test, and nobody has published another one meanwhile.
#pragma once

#include "machines/listing.hpp"

namespace berth::machines {

struct OfferWish {
    Micro rate_micro_per_hour;
    std::optional<std::int64_t> included_disk_gib;
    std::optional<std::int64_t> included_egress_gib;
    std::optional<std::int64_t> available_days;
    bool wants_listing = false;
};
BOOST_DESCRIBE_STRUCT(OfferWish, (),
                      (rate_micro_per_hour, included_disk_gib, included_egress_gib, available_days,
                       wants_listing))
// Of the token that this machine came in by; none when no price was said.
std::optional<OfferWish> find_offer_wish(db::Transaction& tx, MachineId id);
void withdraw_wish_to_list(const db::Context& context, MachineId id);

class OfferSide {
public:
    virtual ~OfferSide() = default;

    // The machine has passed its test, and is held by this transaction.
    virtual void carry_out_wish(const db::Context& context, Machine& machine,
                                const ListingRules& rules) const = 0;
};

}  // namespace berth::machines
