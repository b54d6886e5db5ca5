// Webhooks as their owners see them: made, changed, asked for a test or for an event once more, and
// the log of their deliveries. The couriers carry (couriers.hpp).
#pragma once

#include <mutex>
#include <set>

#include "api/router.hpp"
#include "crypto/seal.hpp"
#include "delivery/targets.hpp"
#include "delivery/webhook_store.hpp"
#include "events/registry.hpp"

namespace berth::delivery {

inline constexpr Duration previous_secret_signs = std::chrono::hours(24);

class Webhooks {
public:
    Webhooks(const events::Registry& registry, const crypto::Sealer& sealer,
             const TargetRules& rules)
        : registry_(registry), sealer_(sealer), rules_(rules) {}

    void add_routes(api::Router& router) const;

private:
    // What a name leads to is asked before the transaction.
    using Inquiry = std::function<Judged()>;
    Inquiry prepare_create(api::Call& call, const NewWebhook& wish) const;
    Inquiry prepare_change(api::Call& call, const WebhookPath& path,
                           const ChangedWebhook& wish) const;
    IssuedWebhook create(api::Call& call, const Judged& judged, const NewWebhook& wish) const;
    Webhook change(api::Call& call, const Judged& judged, const WebhookPath& path,
                   const ChangedWebhook& wish) const;
    api::Page<Webhook> list(api::Call& call, const api::PageQuery& query) const;
    Webhook show(api::Call& call, const WebhookPath& path) const;
    void remove(api::Call& call, const WebhookPath& path) const;
    IssuedWebhook rotate(api::Call& call, const WebhookPath& path) const;
    WebhookDelivery test(api::Call& call, const WebhookPath& path) const;
    WebhookDelivery redeliver(api::Call& call, const WebhookPath& path,
                              const Redelivery& wish) const;
    api::Page<WebhookDelivery> deliveries(api::Call& call, const WebhookPath& path,
                                          const api::PageQuery& query) const;

    Inquiry inquiry(api::Call& call, const TargetUrl& url) const;
    Judged judge_in_turn(AccountId account, const Target& target, const TargetRules& rules) const;
    std::string types_of(const WantedTypes& wanted) const;
    Bytes make_secret(api::Call& call, WebhookRow& row) const;
    WebhookDelivery ask_for(api::Call& call, const WebhookRow& webhook, DeliveryRow row) const;

    const events::Registry& registry_;
    const crypto::Sealer& sealer_;
    const TargetRules& rules_;
    mutable std::mutex mutex_;
    mutable std::multiset<AccountId> judging_;  // whose targets are looked up just now
};

}  // namespace berth::delivery
