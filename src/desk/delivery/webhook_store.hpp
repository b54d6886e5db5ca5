// All SQL of webhooks.
#pragma once

#include "crypto/seal.hpp"
#include "db/migrate.hpp"
#include "delivery/webhook_types.hpp"
#include "events/reading.hpp"

namespace berth::delivery {

using LeaseId = Id<struct WebhookLeaseTag>;

struct WebhookRow {
    WebhookId webhook_id;
    AccountId account_id;
    std::optional<Uuid> key_id = {};  // of the API key that made it
    bool renter = true;               // what it hears
    bool host = true;
    std::string url;
    std::string types;  // separated by commas; empty: all
    bool enabled = true;
    std::optional<DisabledCause> disabled_cause = {};
    Bytes sealed_secret;
    std::optional<Bytes> sealed_previous = {};  // the secret before, which signs until then
    std::optional<Time> previous_until = {};
    std::int64_t sent_through = 0;
    std::int64_t place = 0;     // counts how often its owner has put it elsewhere in the stream
    std::int64_t attempts = 0;  // that failed for the event after sent_through
    std::int64_t refusals = 0;  // those of them that were answered, and with a no
    std::optional<Time> failing_since = {};
    bool warned = false;               // its owner was told that it fails
    std::optional<Time> next_at = {};  // nothing is sent before; none: whenever there is something
    Time lease_until;
    std::int64_t revision = 0;  // counts its owner's changes
    Time created_at;
    Time updated_at;

    std::vector<std::string> type_list() const;
    events::Filter filter() const { return {.hearing = {renter, host}, .types = type_list()}; }
};
BOOST_DESCRIBE_STRUCT(WebhookRow, (),
                      (webhook_id, account_id, key_id, renter, host, url, types, enabled,
                       disabled_cause, sealed_secret, sealed_previous, previous_until, sent_through,
                       place, attempts, refusals, failing_since, warned, next_at, lease_until,
                       revision, created_at, updated_at))

void add_webhook(db::Transaction& tx, const WebhookRow& row);
std::optional<WebhookRow> find_webhook(db::Transaction& tx, WebhookId id);
std::int64_t count_webhooks(db::Transaction& tx, AccountId account);
// Oldest first; of one key, or all of the account.
std::vector<WebhookRow> list_webhooks(db::Transaction& tx, AccountId account,
                                      const std::optional<Uuid>& key,
                                      const std::optional<WebhookId>& after, std::int64_t rows_max);
// What its owner may change: target, types, place, whether it is enabled. One that is enabled by
// this begins without its past failures.
void change_webhook(db::Transaction& tx, const WebhookRow& row, bool begins_anew);
void put_secret(db::Transaction& tx, const WebhookRow& row);
bool delete_webhook(db::Transaction& tx, WebhookId id);
void forget_webhooks(db::Transaction& tx, AccountId account);
// When all numbers of events have risen: their places, and what was asked for and waits.
void move_webhooks(db::Transaction& tx, std::int64_t by);

// By whom a webhook is held. The time is of his clock and says nothing to others but that it is
// another one whenever he renews the lease.
struct Lease {
    LeaseId lease_id;
    Time lease_until;

    friend bool operator==(const Lease&, const Lease&) = default;
};

// For the couriers: webhooks that have something to send, or were asked to.
struct DueWebhook {
    WebhookId webhook_id;
    AccountId account_id;
    std::string url;
    std::optional<LeaseId> lease_id = {};  // of whoever had it last
    Time lease_until;                      // 0: nobody is at it

    std::optional<Lease> lease() const {
        const bool is_held = lease_id && lease_until != Time{};
        return is_held ? std::optional(Lease{*lease_id, lease_until}) : std::nullopt;
    }
};
BOOST_DESCRIBE_STRUCT(DueWebhook, (), (webhook_id, account_id, url, lease_id, lease_until))
inline constexpr std::int64_t due_rows_max = 1000;
std::vector<DueWebhook> due_of_account(db::Transaction& tx, AccountId account, Time now);
// Of all accounts, those behind an id: as many as there may be at once, and then who looks goes on
// behind the last of them.
std::vector<DueWebhook> due_asked(db::Transaction& tx, WebhookId after);  // a test, a redelivery
std::vector<DueWebhook> due_of_all(db::Transaction& tx, WebhookId after, Time now);
std::vector<AccountId> accounts_with_webhooks(db::Transaction& tx);  // that are enabled
// When the oldest event happened that was not sent yet.
std::optional<Time> oldest_unsent(db::Transaction& tx);

// From nobody, or from somebody who does not renew his lease. False when somebody else has it.
bool take_webhook(db::Transaction& tx, WebhookId id, const Lease& lease,
                  const std::optional<Lease>& from);
void keep_webhook(db::Transaction& tx, WebhookId id, LeaseId lease, Time until);
// A webhook as it was taken: by this lease, and as its owner had it then.
struct Hold {
    WebhookId webhook_id;
    LeaseId lease_id;
    std::int64_t revision = 0;
};
// Whether it is ours still, and as it was.
bool is_held(db::Transaction& tx, const Hold& hold);
// Of a file that no other process can have: whoever held one is gone.
void end_leases(db::Transaction& tx);

struct Progress {
    std::int64_t sent_through = 0;
    std::int64_t attempts = 0;
    std::int64_t refusals = 0;
    std::optional<Time> failing_since = {};
    bool warned = false;
    std::optional<Time> next_at = {};
    Time lease_until;
};
// False, and nothing happens, when the lease is not ours any more, or its owner has changed it.
bool note_progress(db::Transaction& tx, const Hold& hold, const Progress& progress);
// The same with its answer to come: one row affected, or none.
db::Transaction::Ticket start_noting_progress(db::Transaction& tx, const Hold& hold,
                                              const Progress& progress);
// What was taken was taken, whatever its owner has changed but its place in the stream; what failed
// is not noted. The lease ends.
bool note_place(db::Transaction& tx, const WebhookRow& row, LeaseId lease,
                const Progress& progress);
void give_lease_back(db::Transaction& tx, WebhookId id, LeaseId lease);
// True for the one caller that disables it.
bool disable_webhook(db::Transaction& tx, WebhookId id, DisabledCause cause, Time now);

// The log of attempts.
struct DeliveryRow {
    DeliveryId delivery_id;
    WebhookId webhook_id;
    DeliveryKind kind = DeliveryKind::event;
    DeliveryState state = DeliveryState::waiting;
    events::EventId event_id;
    std::int64_t sequence = 0;
    std::string type;
    std::int64_t attempt = 0;
    std::optional<std::int64_t> status = {};
    std::optional<std::string> fault = {};
    std::optional<std::string> answer = {};
    std::optional<std::int64_t> took_ms = {};
    Time at;
};
BOOST_DESCRIBE_STRUCT(DeliveryRow, (),
                      (delivery_id, webhook_id, kind, state, event_id, sequence, type, attempt,
                       status, fault, answer, took_ms, at))
void add_delivery(db::Transaction& tx, const DeliveryRow& row);
// An attempt that was made: a row of its own, or the end of one that was asked for and waited.
db::Transaction::Ticket start_logging(db::Transaction& tx, const DeliveryRow& row);
// Newest first.
std::vector<DeliveryRow> list_deliveries(db::Transaction& tx, WebhookId webhook,
                                         const std::optional<DeliveryId>& before,
                                         std::int64_t rows_max);
inline constexpr std::int64_t asked_max = 20;  // of a webhook, waiting
// In the order in which they were asked for.
std::vector<DeliveryRow> list_asked(db::Transaction& tx, WebhookId webhook);
std::int64_t prune_deliveries(db::Transaction& tx, Time before, std::int64_t rows_max);
// The newest of a webhook are kept, however many there were in the last days.
inline constexpr std::int64_t deliveries_kept_max = 2'000;
void bound_deliveries(db::Transaction& tx, WebhookId webhook);

// Brings all secrets under the present key.
void reseal(db::Database& database, crypto::Resealing& resealing);
std::string secret_context(WebhookId id);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::delivery
