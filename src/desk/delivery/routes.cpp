#include "delivery/delivery.hpp"
#include "events/events.hpp"
#include "wire/schema.hpp"

namespace berth::delivery {

using api::Access;
using api::Body;
using api::Call;
using api::Query;
using api::Work;

namespace {

const api::Media streamed_events{
    "text/event-stream",
    "One for each event as it happens: `id` is its number, `event` its type and `data` the event. "
    "An "
    "`id` alone says how far others have been passed over; `end` that the stream is closed, and "
    "why.",
    "id: 42\nevent: rental.running\ndata: {\"sequence\":\"42\",\"type\":\"rental.running\"}\n\n"};

}  // namespace

void Delivery::add_routes(api::Router& router) {
    for (const auto& [type, kind] : registry_.kinds())
        if (kind.audience != events::Audience::operators)
            router.add_pushed({.name = type,
                               .about = kind.about,
                               .envelope = &wire::type_of<events::Event>(),
                               .member = "data",
                               .content = kind.facts,
                               .example = [&kind = kind] { return events::example_of(kind); }});
    router.add({.method = "GET",
                .path = "/api/v1/events",
                .name = "list_events",
                .group = "events",
                .summary = "What happened to the account after a number, or the next that will.",
                .access = Access::participant,
                .errors = {Code::events_expired},
                .siblings = {current_events}},
               [this](Call& call, const Query<EventsQuery>& query) {
                   return page(call, call.caller.account, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/events/stream",
                .name = "stream_events",
                .group = "events",
                .summary = "What happens to the account, as server-sent events.",
                .access = Access::participant,
                .media = {streamed_events},
                .errors = {Code::events_expired,
                           {Code::unavailable, "the server holds as many streams as it can"}},
                .siblings = {current_events}},
               [this](Call& call, const Query<StreamQuery>& query) {
                   return open(call, call.caller.account, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/events",
                .name = "list_operator_events",
                .group = "events",
                .summary = "What operators should know of, after a number, or the next of it.",
                .access = Access::operator_,
                .errors = {Code::events_expired},
                .siblings = {current_events}},
               [this](Call& call, const Query<EventsQuery>& query) {
                   return page(call, events::operators_stream, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/events/stream",
                .name = "stream_operator_events",
                .group = "events",
                .summary = "What operators should know of, as server-sent events.",
                .access = Access::operator_,
                .media = {streamed_events},
                .errors = {Code::events_expired,
                           {Code::unavailable, "the server holds as many streams as it can"}},
                .siblings = {current_events}},
               [this](Call& call, const Query<StreamQuery>& query) {
                   return open(call, events::operators_stream, *query);
               });
    webhooks_.add_routes(router);
    router.add({.method = "GET",
                .path = "/api/v1/account/notices",
                .name = "show_mail_notices",
                .group = "events",
                .summary = "Which events the account gets by mail.",
                .access = Access::participant},
               [this](Call& call) { return mail_.show(call); });
    router.add(
        {.method = "PUT",
         .path = "/api/v1/account/notices",
         .name = "choose_mail_notices",
         .group = "events",
         .summary =
             "Chooses which events the account gets by mail: now, as a digest, or not. Fewer "
             "mails about withdrawals and payouts take a fresh step-up, account-sensitive.",
         .access = Access::session,
         .work = Work::write,
         .idempotent = true,
         .errors = {{Code::forbidden,
                     "fewer mails about withdrawals or payouts, and no fresh step-up"}}},
        [this](Call& call, const Body<MailNotices>& body) { return mail_.choose(call, *body); });
}

}  // namespace berth::delivery
