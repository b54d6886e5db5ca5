// What accounts are told of their own webhooks.
#pragma once

#include <vector>

#include "delivery/webhook_types.hpp"
#include "events/events.hpp"

namespace berth::delivery {

struct WebhookFacts {
    std::string host;
    wire::Nullable<DisabledCause> cause;
    wire::Nullable<Time> failing_since;
};
BOOST_DESCRIBE_STRUCT(WebhookFacts, (), (host, cause, failing_since))
constexpr auto wire_docs(const WebhookFacts*) {
    return std::to_array<wire::Doc>({
        {"host", "Where it sends to, without the rest of the address.", "hooks.example.org"},
        {"cause", "Why it was disabled; null while it is not.", "unreachable"},
        {"failing_since", "Since when nothing got through; null when it was told to stop."},
    });
}

inline constexpr events::Kind<WebhookFacts> webhook_failing{
    "webhook.failing",      "webhook",
    events::Audience::both, "Nothing got through to a webhook for an hour; its events wait.",
    R"({"cause":null})",    events::Mail::now};
inline constexpr events::Kind<WebhookFacts> webhook_disabled{
    "webhook.disabled",
    "webhook",
    events::Audience::both,
    "A webhook was disabled: its target is gone, or was away for three days, or its key ended, or "
    "events that it had yet to send are not kept any more.",
    R"({"cause":"unreachable","failing_since":"2026-01-12T12:00:00Z"})",
    events::Mail::now};
inline constexpr events::Kind<WebhookFacts> webhook_test{
    "webhook.test", "webhook", events::Audience::both,
    "Somebody asked for a test. It goes to that webhook alone, is in no stream, and has the "
    "number 0.",
    R"({"cause":null,"failing_since":null})"};

inline std::vector<events::DeclaredKind> event_kinds() {
    return {webhook_failing, webhook_disabled, webhook_test};
}

}  // namespace berth::delivery
