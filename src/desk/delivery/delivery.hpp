// Readers of events over HTTP: pages, which may wait for the next event, and streams. Each account
// reads its own, a key what its scope hears; operators have a stream of their own besides.
#pragma once

#include "api/notifier.hpp"
#include "api/router.hpp"
#include "delivery/hub.hpp"
#include "delivery/types.hpp"
#include "events/registry.hpp"

namespace berth::delivery {

class Delivery {
public:
    explicit Delivery(const events::Registry& registry) : registry_(registry) {}

    void add_routes(api::Router& router);
    void connect(db::Database& database, const Clock& clock) {  // before any call
        hub_.connect(database, clock);
    }
    Hub& hub() { return hub_; }

private:
    EventPage page(api::Call& call, AccountId stream, const EventsQuery& query) const;
    api::Streamed open(api::Call& call, AccountId stream, const StreamQuery& query);
    events::Filter filter_of(const api::Caller& caller, const std::optional<TypesWanted>& types,
                             const std::optional<SubjectWanted>& subject) const;

    const events::Registry& registry_;
    Hub hub_;
};

// What a credential hears of its account.
events::Hearing hearing_of(const api::Caller& caller);
// The words of a filter; throws a Problem that names `place` for one that means no type.
std::vector<std::string> types_of(const events::Registry& registry, std::string_view text,
                                  std::string_view place);

// For requests that wait for events.
api::Topic events_topic(const db::Database& database, const Clock& clock);

}  // namespace berth::delivery
