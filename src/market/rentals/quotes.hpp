// The way into a rental: a quote, which is the only authority on its price, and the reservation
// that uses it up. A quote holds nothing; a reservation holds the budget, the machine and the quote
// in one transaction.
#pragma once

#include "accounts/integrations.hpp"
#include "api/router.hpp"
#include "offers/offers.hpp"
#include "offers/templates.hpp"
#include "rentals/lifecycle.hpp"

namespace berth::rentals {

inline constexpr Duration quote_lasts = std::chrono::seconds(60);

class Quotes {
public:
    struct Parts {
        const Lifecycle& lifecycle;
        const crypto::Sealer& sealer;
        const accounts::Integrations& integrations;
    };
    explicit Quotes(const Parts& parts) : parts_(parts) {}

    void add_routes(api::Router& router) const;

    // A dry run stores nothing and says which rules of the key's policy would refuse it.
    Quote create(api::Call& call, const NewQuote& request, bool dry_run = false) const;
    JobAccepted reserve(api::Call& call, const NewJob& request) const;

private:
    // What a quote says, before it has an id and anything but what it names was judged.
    struct Draft {
        QuoteRow quote;
        machines::Machine machine;
        Time available_from;
    };
    Draft draw_up(api::Call& call, const NewQuote& request) const;
    void queue_start(api::Call& call, const machines::Machine& machine, const JobRow& job,
                     const QuoteRow& quote, const std::optional<offers::TemplateRow>& form,
                     const NewJob& request, const std::string& endpoint_key) const;

    const Parts parts_;
};

}  // namespace berth::rentals
