// Requests and responses of webhooks.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/page.hpp"
#include "events/types.hpp"
#include "wire/rules.hpp"

namespace berth::delivery {

using WebhookId = Id<struct WebhookTag>;
using DeliveryId = Id<struct DeliveryTag>;

using TargetUrl = wire::Text<1, 1000>;
using WantedType = wire::Text<1, 100>;
using WantedTypes = wire::List<WantedType, 0, 20>;  // as many as a filter has

// Why nothing is sent any more, where the owner did not say so.
enum class DisabledCause { gone, unreachable, key_ended, events_expired };
BOOST_DESCRIBE_ENUM(DisabledCause, gone, unreachable, key_ended, events_expired)

struct NewWebhook {
    TargetUrl url;
    std::optional<WantedTypes> types;
    std::optional<bool> enabled;
    std::optional<wire::Text<1, 20>> from;
};
BOOST_DESCRIBE_STRUCT(NewWebhook, (), (url, types, enabled, from))
constexpr auto wire_docs(const NewWebhook*) {
    return std::to_array<wire::Doc>({
        {"url", "Where events are posted to: https, port 443 or above 1023, no user or password.",
         "https://example.org/hooks/berth"},
        {"types", "Types of events, `rental.*` for all that begin so; empty for all.", "rental.*"},
        {"enabled", "False: made, but nothing is sent yet.", "true", "true"},
        {"from",
         "`now`, or the number after which it begins: `through` of a page, the last `id` of a "
         "stream.",
         "now", "now"},
    });
}

struct ChangedWebhook {
    std::optional<TargetUrl> url;
    std::optional<WantedTypes> types;
    std::optional<bool> enabled;
    std::optional<wire::Text<1, 20>> from;
};
BOOST_DESCRIBE_STRUCT(ChangedWebhook, (), (url, types, enabled, from))
constexpr auto wire_docs(const ChangedWebhook*) {
    return std::to_array<wire::Doc>({
        {"url", "Another target.", "https://example.org/hooks/berth"},
        {"types", "Other types; empty for all.", "rental.*"},
        {"enabled", "True lets it go on where it stopped, at once.", "true"},
        {"from", "Another place to go on: `now`, or the number after which it goes on.", "41"},
    });
}

struct Webhook {
    WebhookId webhook_id;
    std::string url;
    std::vector<std::string> types;
    bool enabled = false;
    wire::Nullable<DisabledCause> disabled_cause;
    wire::Nullable<Uuid> key_id;
    wire::Decimal sent_through;
    wire::Nullable<Time> failing_since;
    wire::Nullable<Time> next_attempt_at;
    wire::Nullable<Time> previous_secret_until;
    Time created_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(Webhook, (),
                      (webhook_id, url, types, enabled, disabled_cause, key_id, sent_through,
                       failing_since, next_attempt_at, previous_secret_until, created_at,
                       updated_at))
constexpr auto wire_docs(const Webhook*) {
    return std::to_array<wire::Doc>({
        {"url", "Where deliveries are sent.", "https://example.org/hooks/berth"},
        {"types", "Those that are sent; empty: all.", "rental.*"},
        {"enabled", "Whether anything is sent."},
        {"disabled_cause",
         "Why the service disabled it: the target answered 410, or nothing got through for 72 "
         "hours, or its key ended, or what follows `sent_through` is not kept any more; null when "
         "the service did not.",
         "null"},
        {"key_id",
         "The API key that made it, whose events it hears and with which it ends; null: a session "
         "made it, and it hears all of the account.",
         "null"},
        {"sent_through", "Up to this number nothing is left to send.", "41"},
        {"failing_since", "Since when nothing gets through; null while all is well.", "null"},
        {"next_attempt_at", "When the event that did not get through is tried again.", "null"},
        {"previous_secret_until", "Until when the secret before this one signs, too.", "null"},
        {"updated_at", "When its owner last changed it."},
    });
}

struct IssuedWebhook {
    WebhookId webhook_id;
    std::string url;
    std::vector<std::string> types;
    bool enabled = false;
    wire::Decimal sent_through;
    wire::Secret secret;
    wire::Nullable<Time> previous_secret_until;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(IssuedWebhook, (),
                      (webhook_id, url, types, enabled, sent_through, secret, previous_secret_until,
                       created_at))
constexpr auto wire_docs(const IssuedWebhook*) {
    return std::to_array<wire::Doc>({
        {"url", "Where deliveries are sent.", "https://example.org/hooks/berth"},
        {"types", "Those that are sent; empty: all.", "rental.*"},
        {"enabled", "Whether anything is sent."},
        {"sent_through", "Up to this number nothing is left to send.", "41"},
        {"secret",
         "What deliveries are signed with, as Standard Webhooks has it; shown in this answer only.",
         "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0kj3LDvs6kc="},
        {"previous_secret_until", "Until when the secret before this one signs, too.", "null"},
    });
}

struct WebhookPath {
    WebhookId id;
};
BOOST_DESCRIBE_STRUCT(WebhookPath, (), (id))

struct Redelivery {
    wire::Decimal sequence;
};
BOOST_DESCRIBE_STRUCT(Redelivery, (), (sequence))
constexpr auto wire_docs(const Redelivery*) {
    return std::to_array<wire::Doc>({
        {"sequence", "The number of the event that is sent once more.", "41"},
    });
}

// What an attempt was made for.
enum class DeliveryKind { event, redelivery, test };
BOOST_DESCRIBE_ENUM(DeliveryKind, event, redelivery, test)

enum class DeliveryState { waiting, delivered, retrying, failed };
BOOST_DESCRIBE_ENUM(DeliveryState, waiting, delivered, retrying, failed)

// One attempt, or one that was asked for and was not made yet.
struct WebhookDelivery {
    DeliveryId delivery_id;
    DeliveryKind kind = DeliveryKind::event;
    DeliveryState state = DeliveryState::waiting;
    events::EventId event_id;
    wire::Decimal sequence;
    std::string type;
    wire::Count attempt;
    wire::Nullable<wire::Count> status;
    wire::Nullable<std::string> fault;
    wire::Nullable<std::string> answer;
    wire::Nullable<wire::Decimal> took_ms;
    Time at;
};
BOOST_DESCRIBE_STRUCT(WebhookDelivery, (),
                      (delivery_id, kind, state, event_id, sequence, type, attempt, status, fault,
                       answer, took_ms, at))
constexpr auto wire_docs(const WebhookDelivery*) {
    return std::to_array<wire::Doc>({
        {"kind", "Sent in its turn, once more because somebody asked, or as a test."},
        {"state",
         "waiting: asked for and not sent yet. retrying: this attempt failed, and there will be "
         "another. failed: there will be none.",
         "delivered"},
        {"event_id", "The header webhook-id, the same in all attempts."},
        {"sequence", "The number of the event; 0 of a test.", "41"},
        {"type", "Of the event.", "rental.running"},
        {"attempt", "Which one for this event, from 1; 0 of one that was not made yet.", "1"},
        {"status", "What the target answered; null when no answer came.", "204"},
        {"fault", "Why no answer came; null when one did.", "null"},
        {"answer", "The beginning of what the target answered, at most 1 KiB of text.", ""},
        {"took_ms", "How long it took; null of one that was not made yet.", "37"},
        {"at", "When it began, or was asked for."},
    });
}

}  // namespace berth::delivery
