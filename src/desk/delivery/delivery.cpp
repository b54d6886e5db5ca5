#include "delivery/delivery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/money.hpp"
#include "delivery/event_stream.hpp"
#include "delivery/settings.hpp"
#include "events/events.hpp"
#include "events/reading.hpp"

namespace berth::delivery {
namespace {

// A page that waits reads again from its beginning whenever its account is told something: beyond
// this many events that its filter left out it is answered, and the client goes on from there.
constexpr std::int64_t passed_over_max = 100;

// How often an account is named for the same event. More than once, because a page that has looked
// and does not wait yet is not woken.
constexpr int times_named = 3;

// Which accounts others have told something, each a few times and not for as long as it is recent.
class Namer {
public:
    std::vector<std::string> names_of(const std::vector<events::Told>& lately) {
        std::vector<std::string> names;
        std::map<AccountId, Named> now;
        for (const events::Told& told : lately) {
            const auto before = named_.find(told.account_id);
            const bool is_same = before != named_.end() && before->second.newest == told.newest;
            const int times = is_same ? before->second.times : 0;
            if (times < times_named) names.push_back(to_string(told.account_id));
            now[told.account_id] = {told.newest, std::min(times + 1, times_named)};
        }
        named_ = std::move(now);
        return names;
    }

private:
    struct Named {
        std::int64_t newest = 0;
        int times = 0;
    };
    std::map<AccountId, Named> named_;
};

// The place that a client was told last, by its header.
std::optional<std::int64_t> last_event_id(const http::Request& request) {
    const auto header = request.headers.find("Last-Event-ID");
    if (!header || header->empty()) return std::nullopt;
    const auto number = parse_decimal(*header);
    if (!number)
        throw Problem(Code::invalid_input, "header.Last-Event-ID: must be the number of an event");
    return *number;
}

}  // namespace

void require_reached(const events::Head& head, std::int64_t after) {
    if (head.reaches(after)) return;
    throw current_events.problem(
        fmt::format("there are events {} to {}; read what things are now, and go on from there",
                    head.oldest, head.newest),
        {{head.oldest}, {head.newest}});
}

void forget_readers(db::Transaction& tx, AccountId account) {
    forget_webhooks(tx, account);
    forget_mail(tx, account);
}

void move_readers(db::Transaction& tx, std::int64_t by) {
    move_webhooks(tx, by);
    move_mail(tx, by);
}

events::Hearing hearing_of(const api::Caller& caller) {
    if (caller.credential != api::Credential::api_key) return {true, true};
    return {caller.renter, caller.host};
}

std::vector<std::string> types_of(const events::Registry& registry, std::string_view text,
                                  std::string_view place) {
    std::vector<std::string> types;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view word = text.substr(0, comma);
        if (!registry.means_any(word))
            throw Problem(Code::invalid_input,
                          fmt::format("{}: the {}. is no type of event", place, types.size() + 1));
        types.emplace_back(word);
        if (types.size() > events::Filter::types_max)
            throw Problem(Code::invalid_input, fmt::format("{}: must be at most {} types", place,
                                                           events::Filter::types_max));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    std::sort(types.begin(), types.end());
    return types;
}

events::Filter Delivery::filter_of(const api::Caller& caller,
                                   const std::optional<TypesWanted>& types,
                                   const std::optional<SubjectWanted>& subject) const {
    events::Filter filter{.hearing = hearing_of(caller)};
    if (types) filter.types = types_of(registry_, types->value, "query.types");
    if (subject) filter.subject_id = subject->value;
    return filter;
}

EventPage Delivery::page(api::Call& call, AccountId stream, const EventsQuery& query) const {
    const events::Filter filter = filter_of(call.caller, query.types, query.subject);
    if (query.cursor && query.after)
        throw Problem(Code::invalid_input, "query.after: must not be given with a cursor");
    const api::Cursors::Scope scope{
        "events " + to_string(stream),
        fmt::format("{};{}", fmt::join(filter.types, ","), filter.subject_id.value_or(""))};
    const events::Head head = events::head_of(call.tx(), stream);
    std::int64_t after = head.oldest - 1;
    if (query.cursor)
        after = parse_decimal(call.cursors.open(scope, *query.cursor)).value();
    else if (query.after)
        after = query.after->value;
    require_reached(head, after);
    const std::int64_t limit = query.limit ? query.limit->value : api::page_items_default;
    events::Stretch found = events::read_stretch(call.tx(), stream, after, filter, limit);
    const bool is_at_end = found.through >= found.head.newest;
    const bool may_wait = is_at_end && found.through - after < passed_over_max;
    if (found.items.empty() && may_wait && query.wait_s && query.wait_s->value > 0)
        call.wait_for(events::wake_key(stream), std::chrono::seconds(query.wait_s->value));
    EventPage page;
    page.items = std::move(found.items);
    if (!is_at_end) page.next_cursor = call.cursors.seal(scope, std::to_string(found.through));
    page.through = {found.through};
    page.oldest = {found.head.oldest};
    page.newest = {found.head.newest};
    return page;
}

api::Streamed Delivery::open(api::Call& call, AccountId stream, const StreamQuery& query) {
    const api::Caller& caller = call.caller;
    Hub::Listener listener{.owner = caller.account,
                           .stream = stream,
                           .credential = {caller.credential, caller.credential_id},
                           .ends_at = caller.ends_at,
                           .filter = filter_of(caller, query.types, query.subject)};
    const events::Head head = events::head_of(call.tx(), stream);
    std::optional<std::int64_t> after = last_event_id(call.request);
    if (!after && query.after) after = query.after->value;
    listener.through = after.value_or(head.newest);
    require_reached(head, listener.through);
    const auto& settings = call.settings<Settings>();
    auto place = hub_.enter(caller.account,
                            {*settings.event_streams_per_account, *settings.event_streams_max});
    return {std::make_shared<EventStream>(hub_, std::move(place), std::move(listener))};
}

api::Topic events_topic(const db::Database& database, const Clock& clock) {
    return {std::string(events::wake_topic),
            [&database, &clock, namer = std::make_shared<Namer>()](db::Transaction& tx) {
                // What is told by this process wakes by itself, and nobody else writes to SQLite.
                // What commits late does not show: its page goes on when its time is over.
                if (database.engine() == db::Engine::sqlite) return std::vector<std::string>();
                return namer->names_of(events::told_since(tx, clock.now() - Hub::told_lately));
            }};
}

}  // namespace berth::delivery
