// An event as every reader gets it: the same bytes in a page, in a stream and in a webhook.
#pragma once

#include <boost/describe.hpp>
#include <string>

#include "base/ids.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::events {

using EventId = Id<struct EventTag>;

// What an event is about, by the names of the API: a rental, a machine, a withdrawal.
struct Subject {
    std::string kind;
    std::string id;
};
BOOST_DESCRIBE_STRUCT(Subject, (), (kind, id))
constexpr auto wire_docs(const Subject*) {
    return std::to_array<wire::Doc>({
        {"kind", "What it is.", "rental"},
        {"id", "Its id, as in the routes that read it.", "0198f2a0-6f3e-7c1a-9d43-2f5b8c7e1a90"},
    });
}

struct Event {
    EventId event_id;
    wire::Decimal sequence;
    std::string type;
    Time timestamp;
    Subject subject;
    wire::Object data;
};
BOOST_DESCRIBE_STRUCT(Event, (), (event_id, sequence, type, timestamp, subject, data))
constexpr auto wire_docs(const Event*) {
    return std::to_array<wire::Doc>({
        {"event_id", "The same wherever and however often this event is delivered."},
        {"sequence",
         "Its number in the account's stream: 1, 2, 3 without gaps, in the order in "
         "which things happened.",
         "42"},
        {"type", "What happened; docs/events.md has every type.", "rental.running"},
        {"timestamp", "When it happened, by the service's clock."},
        {"subject", "What it is about."},
        {"data", "The facts of this change, by type.", "{}"},
    });
}

// Whose part of an account an event belongs to: a key of scope renter hears the first, one of scope
// host the second, every credential of the account the third.
enum class Audience { renter, host, both, operators };
BOOST_DESCRIBE_ENUM(Audience, renter, host, both, operators)

// What becomes of an event by mail while its account has chosen nothing. `apart`: its feature
// writes to the owner by itself, in words that no event has, and nobody turns that off.
enum class Mail { off, digest, now, apart };
BOOST_DESCRIBE_ENUM(Mail, off, digest, now, apart)

}  // namespace berth::events
