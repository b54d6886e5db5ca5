// Requests and responses of readers of events.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/page.hpp"
#include "api/sibling.hpp"
#include "events/types.hpp"
#include "wire/rules.hpp"

namespace berth::delivery {

using wire::Decimal;

// The longest that a request waits for the next event.
using WaitSeconds = wire::Integer<0, 30>;
using TypesWanted = wire::Text<1, 1000>;
using SubjectWanted = wire::Text<1, 100>;

struct EventsQuery {
    std::optional<Decimal> after;
    std::optional<TypesWanted> types;
    std::optional<SubjectWanted> subject;
    std::optional<WaitSeconds> wait_s;
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
};
BOOST_DESCRIBE_STRUCT(EventsQuery, (), (after, types, subject, wait_s, cursor, limit))
constexpr auto wire_docs(const EventsQuery*) {
    return std::to_array<wire::Doc>({
        {"after",
         "Events that follow this number: `through` of the answer before. Left out for all that "
         "are kept.",
         "41"},
        {"types", "Types of events, separated by commas; `rental.*` means all that begin so.",
         "rental.*,machine.silent"},
        {"subject", "The id of what the events are about.", "0198f2a0-6f3e-7c1a-9d43-2f5b8c7e1a90"},
        {"wait_s", "How long to wait for the next event where there is none yet.", "30", "0"},
        {"cursor", "Where to go on: next_cursor of the page before; not together with `after`."},
        {"limit", "How many items at most.", "50", "20"},
    });
}

struct EventPage {
    std::vector<events::Event> items;
    wire::Nullable<std::string> next_cursor;
    Decimal through;
    Decimal oldest;
    Decimal newest;
};
BOOST_DESCRIBE_STRUCT(EventPage, (), (items, next_cursor, through, oldest, newest))
constexpr auto wire_docs(const EventPage*) {
    return std::to_array<wire::Doc>({
        {"items", "Oldest first."},
        {"next_cursor", "Where the next page begins; null when there is no more by now.", "null"},
        {"through",
         "Up to this number nothing is missing, whatever the filter left out: go on with "
         "after=through.",
         "42"},
        {"oldest", "The oldest number that is kept.", "1"},
        {"newest", "The newest number that there is.", "42"},
    });
}

struct StreamQuery {
    std::optional<Decimal> after;
    std::optional<TypesWanted> types;
    std::optional<SubjectWanted> subject;
};
BOOST_DESCRIBE_STRUCT(StreamQuery, (), (after, types, subject))
constexpr auto wire_docs(const StreamQuery*) {
    return std::to_array<wire::Doc>({
        {"after",
         "Events that follow this number. The header Last-Event-ID wins over it; without both the "
         "stream begins now.",
         "41"},
        {"types", "Types of events, separated by commas; `rental.*` means all that begin so.",
         "rental.*,machine.silent"},
        {"subject", "The id of what the events are about.", "0198f2a0-6f3e-7c1a-9d43-2f5b8c7e1a90"},
    });
}

// What there is, for who asks for what is not.
struct CurrentEvents {
    Decimal oldest;
    Decimal newest;
};
BOOST_DESCRIBE_STRUCT(CurrentEvents, (), (oldest, newest))
constexpr auto wire_docs(const CurrentEvents*) {
    return std::to_array<wire::Doc>({
        {"oldest", "The oldest number that is kept.", "1000"},
        {"newest", "The newest number that there is.", "1041"},
    });
}
inline constexpr api::Sibling<CurrentEvents> current_events{Code::events_expired, "current"};

}  // namespace berth::delivery
