// The routes of webhooks, one declaration each.
#include "delivery/types.hpp"
#include "delivery/webhooks.hpp"

namespace berth::delivery {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::Query;
using api::Work;

void Webhooks::add_routes(api::Router& router) const {
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/webhooks",
         .name = "create_webhook",
         .group = "events",
         .summary = "Posts the account's events to an address, signed; a key's own to a key's. A "
                    "session needs a fresh step-up, account-sensitive.",
         .access = Access::participant,
         .work = Work::write,
         .idempotent = true,
         .status = 201,
         .errors = {Code::events_expired,
                    {Code::forbidden, "a session has no fresh step-up"},
                    {Code::conflict, "the account has as many webhooks as it can"},
                    {Code::unavailable, "the target's name cannot be looked up now"}},
         .siblings = {current_events}},
        [this](Call& call, const Body<NewWebhook>& body) { return prepare_create(call, *body); },
        [this](Call& call, const Judged& judged, const Body<NewWebhook>& body) {
            return create(call, judged, *body);
        });
    router.add(
        {.method = "GET",
         .path = "/api/v1/webhooks",
         .name = "list_webhooks",
         .group = "events",
         .summary = "The account's webhooks, oldest first; to a key those that it made.",
         .access = Access::participant},
        [this](Call& call, const Query<api::PageQuery>& query) { return list(call, *query); });
    router.add({.method = "GET",
                .path = "/api/v1/webhooks/{id}",
                .name = "show_webhook",
                .group = "events",
                .summary = "One webhook: how far it is, and since when it fails.",
                .access = Access::participant,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<WebhookPath>& path) { return show(call, *path); });
    router.add_asking(
        {.method = "PATCH",
         .path = "/api/v1/webhooks/{id}",
         .name = "change_webhook",
         .group = "events",
         .summary = "Changes a webhook, or lets it go on where it stopped.",
         .access = Access::participant,
         .work = Work::write,
         .idempotent = true,
         .errors = {Code::not_found,
                    Code::events_expired,
                    {Code::forbidden, "a session that changes the address has no fresh step-up"},
                    {Code::conflict, "the key that made it has ended"},
                    {Code::unavailable, "the target's name cannot be looked up now"}},
         .siblings = {current_events}},
        [this](Call& call, const Path<WebhookPath>& path, const Body<ChangedWebhook>& body) {
            return prepare_change(call, *path, *body);
        },
        [this](Call& call, const Judged& judged, const Path<WebhookPath>& path,
               const Body<ChangedWebhook>& body) { return change(call, judged, *path, *body); });
    router.add({.method = "DELETE",
                .path = "/api/v1/webhooks/{id}",
                .name = "delete_webhook",
                .group = "events",
                .summary = "Ends a webhook, and forgets what it sent.",
                .access = Access::participant,
                .work = Work::write,
                .idempotent = true,
                .status = 204,
                .errors = {Code::not_found}},
               [this](Call& call, const Path<WebhookPath>& path) { remove(call, *path); });
    router.add({.method = "POST",
                .path = "/api/v1/webhooks/{id}/rotate-secret",
                .name = "rotate_webhook_secret",
                .group = "events",
                .summary = "Another secret; the one before signs for another 24 hours, too. A "
                           "session needs a fresh step-up, account-sensitive.",
                .access = Access::participant,
                .work = Work::write,
                .idempotent = true,
                .errors = {Code::not_found,
                           {Code::forbidden, "a session has no fresh step-up"},
                           {Code::conflict, "it was rotated within the last 24 hours"}}},
               [this](Call& call, const Path<WebhookPath>& path) { return rotate(call, *path); });
    router.add({.method = "POST",
                .path = "/api/v1/webhooks/{id}/test",
                .name = "test_webhook",
                .group = "events",
                .summary = "Sends an event of the type webhook.test, once.",
                .access = Access::participant,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {Code::not_found,
                           {Code::conflict, "the webhook is disabled"},
                           {Code::conflict, "too many deliveries wait already"}}},
               [this](Call& call, const Path<WebhookPath>& path) { return test(call, *path); });
    router.add({.method = "POST",
                .path = "/api/v1/webhooks/{id}/redeliver",
                .name = "redeliver_event",
                .group = "events",
                .summary = "Sends an event once more, by the same id and with a new signature.",
                .access = Access::participant,
                .work = Work::write,
                .idempotent = true,
                .status = 202,
                .errors = {{Code::not_found, "there is no such webhook, or the event is not kept"},
                           {Code::conflict, "the webhook is disabled"},
                           {Code::conflict, "the event was not sent yet"},
                           {Code::conflict, "too many deliveries wait already"}}},
               [this](Call& call, const Path<WebhookPath>& path, const Body<Redelivery>& body) {
                   return redeliver(call, *path, *body);
               });
    router.add(
        {.method = "GET",
         .path = "/api/v1/webhooks/{id}/deliveries",
         .name = "list_webhook_deliveries",
         .group = "events",
         .summary = "The attempts of the last seven days, newest first.",
         .access = Access::participant,
         .errors = {Code::not_found}},
        [this](Call& call, const Path<WebhookPath>& path, const Query<api::PageQuery>& query) {
            return deliveries(call, *path, *query);
        });
}

}  // namespace berth::delivery
