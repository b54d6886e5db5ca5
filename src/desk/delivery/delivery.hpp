// Readers of events: pages, which may wait for the next event, streams, webhooks and mail. Each
// account reads its own, a key what its scope hears; operators have a stream of their own besides.
#pragma once

#include "api/notifier.hpp"
#include "api/router.hpp"
#include "delivery/couriers.hpp"
#include "delivery/hub.hpp"
#include "delivery/mail_reader.hpp"
#include "delivery/types.hpp"
#include "delivery/webhooks.hpp"
#include "events/registry.hpp"

namespace berth::delivery {

class Delivery {
public:
    struct Parts {
        const events::Registry& registry;
        const crypto::Sealer& sealer;
        http::Client& client;
        TargetRules target_rules;
        std::string ca_file;  // of whom webhooks trust; empty: the system's
        const mail::Outbox& outbox;
        const accounts::Site& site;
    };
    explicit Delivery(Parts parts)
        : registry_(parts.registry),
          target_rules_(std::move(parts.target_rules)),
          webhooks_(parts.registry, parts.sealer, target_rules_),
          couriers_({parts.sealer, target_rules_, parts.client, std::move(parts.ca_file)}),
          mail_({parts.registry, parts.outbox, parts.site}) {}

    void add_routes(api::Router& router);
    void connect(db::Database& database, const Clock& clock, Random& random) {  // before any call
        hub_.connect(database, clock);
        couriers_.connect(database, clock, random);
    }
    Hub& hub() { return hub_; }
    Couriers& couriers() { return couriers_; }
    const MailReader& mail_reader() const { return mail_; }
    // For tests: who looks names up in the place of the system, from now on.
    void resolve_by(std::function<http::Resolved(const std::string&, http::Reach)> resolve) {
        target_rules_.resolve = std::move(resolve);
    }

private:
    EventPage page(api::Call& call, AccountId stream, const EventsQuery& query) const;
    api::Streamed open(api::Call& call, AccountId stream, const StreamQuery& query);
    events::Filter filter_of(const api::Caller& caller, const std::optional<TypesWanted>& types,
                             const std::optional<SubjectWanted>& subject) const;

    const events::Registry& registry_;
    Hub hub_;
    TargetRules target_rules_;
    Webhooks webhooks_;
    Couriers couriers_;
    MailReader mail_;
};

// Throws 409 EVENTS_EXPIRED, with what there is, when what follows the number is not kept or not
// there yet.
void require_reached(const events::Head& head, std::int64_t after);

// Of an account whose owner leaves: nothing is sent any more, and nothing is known of where it was.
void forget_readers(db::Transaction& tx, AccountId account);

// After the numbers of all streams have risen (events::renumber): whoever reads here goes on where
// it was.
void move_readers(db::Transaction& tx, std::int64_t by);

// What a credential hears of its account.
events::Hearing hearing_of(const api::Caller& caller);
// The words of a filter; throws a Problem that names `place` for one that means no type.
std::vector<std::string> types_of(const events::Registry& registry, std::string_view text,
                                  std::string_view place);

// For requests that wait for events.
api::Topic events_topic(const db::Database& database, const Clock& clock);

}  // namespace berth::delivery
