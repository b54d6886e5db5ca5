#include "delivery/webhooks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "accounts/credentials.hpp"
#include "accounts/notices.hpp"
#include "base/money.hpp"
#include "delivery/couriers.hpp"
#include "delivery/delivery.hpp"
#include "delivery/settings.hpp"
#include "delivery/signing.hpp"
#include "delivery/told.hpp"

namespace berth::delivery {
namespace {

constexpr std::size_t judged_at_once_max = 8;
constexpr std::size_t judged_at_once_of_account_max = 2;

Webhook shown(const WebhookRow& row) {
    Webhook out;
    out.webhook_id = row.webhook_id;
    out.url = row.url;
    out.types = row.type_list();
    out.enabled = row.enabled;
    out.disabled_cause = row.disabled_cause;
    out.key_id = row.key_id;
    out.sent_through = {row.sent_through};
    out.failing_since = row.failing_since;
    out.next_attempt_at = row.next_at;
    out.previous_secret_until = row.previous_until;
    out.created_at = row.created_at;
    out.updated_at = row.updated_at;
    return out;
}

IssuedWebhook shown_once(const WebhookRow& row, const Bytes& secret) {
    IssuedWebhook out;
    out.webhook_id = row.webhook_id;
    out.url = row.url;
    out.types = row.type_list();
    out.enabled = row.enabled;
    out.sent_through = {row.sent_through};
    out.secret = {shown_secret(secret)};
    out.previous_secret_until = row.previous_until;
    out.created_at = row.created_at;
    return out;
}

wire::Nullable<wire::Count> counted(const std::optional<std::int64_t>& number) {
    return number ? wire::Nullable<wire::Count>(wire::Count{*number}) : std::nullopt;
}

WebhookDelivery shown_delivery(const DeliveryRow& row) {
    WebhookDelivery out;
    out.delivery_id = row.delivery_id;
    out.kind = row.kind;
    out.state = row.state;
    out.event_id = row.event_id;
    out.sequence = {row.sequence};
    out.type = row.type;
    out.attempt = {row.attempt};
    out.status = counted(row.status);
    out.fault = row.fault;
    out.answer = row.answer;
    if (row.took_ms) out.took_ms = wire::Decimal{*row.took_ms};
    out.at = row.at;
    return out;
}

bool is_key(const api::Call& call) { return call.caller.credential == api::Credential::api_key; }

// A key has the webhooks that it made: by those of others it could hear what it may not.
std::optional<Uuid> key_of(const api::Call& call) {
    return is_key(call) ? std::optional(call.caller.credential_id) : std::nullopt;
}

WebhookRow require_webhook(api::Call& call, WebhookId id) {
    auto row = find_webhook(call.tx(), id);
    const bool is_own = row && row->account_id == call.caller.account &&
                        (!is_key(call) || row->key_id == key_of(call));
    if (!is_own) throw Problem(Code::not_found, "no such webhook");
    return std::move(*row);
}

// Whoever holds a stolen session is not to send everything that happens elsewhere. A key is held by
// a program, which can prove no presence and hears no more than it could read.
void require_presence(api::Call& call) {
    if (!is_key(call)) call.require_step_up(api::StepUp::account_sensitive);
}

void require_dialled(const Judged& judged) {
    if (judged.is_ours)
        throw Problem(
            Code::unavailable,
            fmt::format("body.url: the target could not be looked at: {}; try again later",
                        judged.reason));
    if (!judged.reason.empty())
        throw Problem(Code::invalid_input,
                      fmt::format("body.url: the target is refused: {}", judged.reason));
}

// The place that a reader names; throws where what follows is not there.
std::int64_t place_of(api::Call& call, const std::string& from) {
    const events::Head head = events::head_of(call.tx(), call.caller.account);
    if (from == "now") return head.newest;
    const auto number = parse_decimal(from);
    if (!number)
        throw Problem(Code::invalid_input, "body.from: must be `now` or the number of an event");
    require_reached(head, *number);
    return *number;
}

void wake_couriers(api::Call& call, WebhookId id) {
    call.tx().wake_after_commit({webhook_topic, to_string(id)});
}

}  // namespace

std::string Webhooks::types_of(const WantedTypes& wanted) const {
    std::set<std::string> types;
    for (std::size_t i = 0; i < wanted.value.size(); ++i) {
        const WantedType& each = wanted.value[i];
        if (!registry_.means_any(each.value))
            throw Problem(Code::invalid_input,
                          fmt::format("body.types[{}]: is no type of event", i));
        types.insert(each.value);
    }
    return fmt::format("{}", fmt::join(types, ","));
}

Bytes Webhooks::make_secret(api::Call& call, WebhookRow& row) const {
    Bytes secret = call.random.bytes(secret_bytes);
    row.sealed_secret = sealer_.seal({secret, secret_context(row.webhook_id)}, call.random);
    return secret;
}

Webhooks::Inquiry Webhooks::prepare_create(api::Call& call, const NewWebhook& wish) const {
    require_presence(call);
    return inquiry(call, wish.url);
}

Webhooks::Inquiry Webhooks::inquiry(api::Call& call, const TargetUrl& url) const {
    TargetRules rules = rules_.as_of(call.tx());
    Target target = target_of(url.value, rules, "body.url");
    return [this, account = call.caller.account, target = std::move(target),
            rules = std::move(rules)] { return judge_in_turn(account, target, rules); };
}

// To look a name up may take seconds, and everybody's changes wait for the same threads.
Judged Webhooks::judge_in_turn(AccountId account, const Target& target,
                               const TargetRules& rules) const {
    {
        const std::lock_guard lock(mutex_);
        if (judging_.size() >= judged_at_once_max ||
            judging_.count(account) >= judged_at_once_of_account_max)
            return {{}, "too many names are being looked up", true};
        judging_.insert(account);
    }
    const auto leave = [&] {
        const std::lock_guard lock(mutex_);
        judging_.erase(judging_.find(account));
    };
    try {
        Judged judged = judge(target, rules);
        leave();
        return judged;
    } catch (...) {
        leave();
        throw;
    }
}

IssuedWebhook Webhooks::create(api::Call& call, const Judged& judged,
                               const NewWebhook& wish) const {
    require_presence(call);
    require_dialled(judged);
    const AccountId account = call.caller.account;
    WebhookRow row;
    row.webhook_id = call.make_id<WebhookId>();
    row.account_id = account;
    row.key_id = key_of(call);
    const events::Hearing hearing = hearing_of(call.caller);
    row.renter = hearing.renter;
    row.host = hearing.host;
    row.url = wish.url.value;
    if (wish.types) row.types = types_of(*wish.types);
    row.enabled = wish.enabled.value_or(true);
    row.sent_through = place_of(call, wish.from ? wish.from->value : "now");
    row.created_at = row.updated_at = call.now;
    accounts::take_turn(call.tx(), account);
    if (count_webhooks(call.tx(), account) >= *call.settings<Settings>().webhooks_per_account)
        throw Problem(Code::conflict, "the account has as many webhooks as it can");
    const Bytes secret = make_secret(call, row);
    add_webhook(call.tx(), row);
    wake_couriers(call, row.webhook_id);
    return shown_once(row, secret);
}

Webhooks::Inquiry Webhooks::prepare_change(api::Call& call, const WebhookPath& path,
                                           const ChangedWebhook& wish) const {
    static_cast<void>(require_webhook(call, path.id));
    if (!wish.url) return [] { return Judged{}; };
    require_presence(call);
    return inquiry(call, *wish.url);
}

Webhook Webhooks::change(api::Call& call, const Judged& judged, const WebhookPath& path,
                         const ChangedWebhook& wish) const {
    WebhookRow row = require_webhook(call, path.id);
    if (wish.url) {
        require_presence(call);
        require_dialled(judged);
        row.url = wish.url->value;
    }
    if (wish.types) row.types = types_of(*wish.types);
    if (wish.from) {
        row.sent_through = place_of(call, wish.from->value);
        ++row.place;
    }
    const bool begins_anew = wish.enabled.value_or(false) || wish.url || wish.from;
    if (wish.enabled) {
        row.enabled = *wish.enabled;
        row.disabled_cause.reset();
        const bool key_ended =
            row.key_id &&
            !accounts::find_good(call.tx(), {{api::Credential::api_key, *row.key_id}}, call.now)
                 .front();
        if (row.enabled && key_ended)
            throw Problem(Code::conflict, "the API key that made it has ended; make another one");
    }
    // What was pruned while nobody listened cannot be sent: its owner says where to go on.
    if (row.enabled) require_reached(events::head_of(call.tx(), row.account_id), row.sent_through);
    row.updated_at = call.now;
    change_webhook(call.tx(), row, begins_anew);
    wake_couriers(call, row.webhook_id);
    return shown(find_webhook(call.tx(), row.webhook_id).value());
}

api::Page<Webhook> Webhooks::list(api::Call& call, const api::PageQuery& query) const {
    const std::optional<Uuid> key = key_of(call);
    const api::Pager pager(call.cursors, {"webhooks", key ? to_string(*key) : "all"}, query);
    return pager.page(list_webhooks(call.tx(), call.caller.account, key,
                                    pager.after_id<WebhookId>(), pager.rows_wanted()),
                      &WebhookRow::webhook_id, shown);
}

Webhook Webhooks::show(api::Call& call, const WebhookPath& path) const {
    return shown(require_webhook(call, path.id));
}

void Webhooks::remove(api::Call& call, const WebhookPath& path) const {
    const WebhookRow row = require_webhook(call, path.id);
    static_cast<void>(delete_webhook(call.tx(), row.webhook_id));
}

IssuedWebhook Webhooks::rotate(api::Call& call, const WebhookPath& path) const {
    WebhookRow row = require_webhook(call, path.id);
    require_presence(call);
    // Receivers may still have the one before, and the one before that would sign no more.
    if (row.previous_until && *row.previous_until > call.now)
        throw Problem(Code::conflict,
                      fmt::format("two secrets sign until {}; until then this one cannot be "
                                  "rotated, or receivers that have the older one hear nothing",
                                  to_rfc3339(*row.previous_until)));
    row.sealed_previous = std::move(row.sealed_secret);
    row.previous_until = call.now + previous_secret_signs;
    row.updated_at = call.now;
    const Bytes secret = make_secret(call, row);
    put_secret(call.tx(), row);
    return shown_once(row, secret);
}

WebhookDelivery Webhooks::test(api::Call& call, const WebhookPath& path) const {
    const WebhookRow webhook = require_webhook(call, path.id);
    DeliveryRow row;
    row.kind = DeliveryKind::test;
    row.event_id = call.make_id<events::EventId>();
    row.type = webhook_test.type;
    return ask_for(call, webhook, std::move(row));
}

WebhookDelivery Webhooks::redeliver(api::Call& call, const WebhookPath& path,
                                    const Redelivery& wish) const {
    const WebhookRow webhook = require_webhook(call, path.id);
    const auto kept = events::find_event(call.tx(), webhook.account_id, wish.sequence.value);
    const events::Hearing hearing{webhook.renter, webhook.host};
    if (!kept || !hearing.hears(kept->audience))
        throw Problem(Code::not_found, "no such event is kept for this webhook");
    // Its turn has not come: in order it is sent by itself.
    if (wish.sequence.value > webhook.sent_through)
        throw Problem(Code::conflict, "the event was not sent yet; it is sent in its turn");
    DeliveryRow row;
    row.kind = DeliveryKind::redelivery;
    row.event_id = kept->event.event_id;
    row.sequence = wish.sequence.value;
    row.type = kept->event.type;
    return ask_for(call, webhook, std::move(row));
}

WebhookDelivery Webhooks::ask_for(api::Call& call, const WebhookRow& webhook,
                                  DeliveryRow row) const {
    if (!webhook.enabled) throw Problem(Code::conflict, "the webhook is disabled; enable it first");
    accounts::take_turn(call.tx(), webhook.account_id);
    if (std::ssize(list_asked(call.tx(), webhook.webhook_id)) >= asked_max)
        throw Problem(Code::conflict, "as many deliveries as may be wait to be sent already");
    row.delivery_id = call.make_id<DeliveryId>();
    row.webhook_id = webhook.webhook_id;
    row.at = call.now;
    add_delivery(call.tx(), row);
    wake_couriers(call, webhook.webhook_id);
    return shown_delivery(row);
}

api::Page<WebhookDelivery> Webhooks::deliveries(api::Call& call, const WebhookPath& path,
                                                const api::PageQuery& query) const {
    const WebhookRow webhook = require_webhook(call, path.id);
    const api::Pager pager(call.cursors, {"deliveries", to_string(webhook.webhook_id)}, query);
    return pager.page(list_deliveries(call.tx(), webhook.webhook_id, pager.after_id<DeliveryId>(),
                                      pager.rows_wanted()),
                      &DeliveryRow::delivery_id, shown_delivery);
}

}  // namespace berth::delivery
