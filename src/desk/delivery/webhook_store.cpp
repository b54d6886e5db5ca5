#include "delivery/webhook_store.hpp"

#include <algorithm>

namespace berth::delivery {
namespace {

// No key and no lease: a webhook's secrets are blobs, and its lease is nobody's yet.
constexpr std::string_view add_webhook_sql =
    "INSERT INTO webhooks (webhook_id, account_id, key_id, renter, host, url, types, enabled, "
    "sealed_secret, sent_through, place, attempts, warned, lease_until, revision, created_at, "
    "updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, 0, 0, $11, $11)";
const db::Query<WebhookRow> find_webhook_sql("SELECT {} FROM webhooks WHERE webhook_id = $1");
constexpr std::string_view count_webhooks_sql =
    "SELECT COUNT(*) FROM webhooks WHERE account_id = $1";
const db::Query<WebhookRow> list_webhooks_sql(
    "SELECT {} FROM webhooks WHERE account_id = $1 AND (key_id = $2 OR $2 IS NULL) "
    "AND (webhook_id > $3 OR $3 IS NULL) ORDER BY webhook_id LIMIT $4");
constexpr std::string_view change_webhook_sql =
    "UPDATE webhooks SET url = $2, types = $3, enabled = $4, disabled_cause = $5, "
    "sent_through = $6, place = $7, revision = revision + 1, updated_at = $8 "
    "WHERE webhook_id = $1";
// The place is the couriers' own, unless the owner names one.
constexpr std::string_view change_all_but_place_sql =
    "UPDATE webhooks SET url = $2, types = $3, enabled = $4, disabled_cause = $5, "
    "revision = revision + 1, updated_at = $6 WHERE webhook_id = $1";
constexpr std::string_view begin_anew_sql =
    "UPDATE webhooks SET attempts = 0, refusals = 0, failing_since = NULL, warned = 0, "
    "next_at = NULL WHERE webhook_id = $1";
constexpr std::string_view put_secret_sql =
    "UPDATE webhooks SET sealed_secret = $2, sealed_previous = $3, previous_until = $4, "
    "revision = revision + 1, updated_at = $5 WHERE webhook_id = $1";
constexpr std::string_view delete_deliveries_sql =
    "DELETE FROM webhook_deliveries WHERE webhook_id = $1";
constexpr std::string_view delete_webhook_sql = "DELETE FROM webhooks WHERE webhook_id = $1";
// An account that was told nothing yet begins at 1 all the same.
constexpr std::string_view move_webhooks_sql =
    "UPDATE webhooks SET sent_through = sent_through + $1 "
    "WHERE account_id IN (SELECT account_id FROM event_heads)";
constexpr std::string_view move_asked_sql =
    "UPDATE webhook_deliveries SET sequence = sequence + $1 "
    "WHERE state = 'waiting' AND kind = 'redelivery'";
constexpr std::string_view ids_of_account_sql =
    "SELECT webhook_id FROM webhooks WHERE account_id = $1 ORDER BY webhook_id";

const db::Query<DueWebhook> due_of_account_sql(
    "SELECT {w.} FROM webhooks w JOIN event_heads h ON h.account_id = w.account_id "
    "WHERE w.account_id = $1 AND w.enabled = 1 AND (w.next_at IS NULL OR w.next_at <= $2) "
    "AND h.newest > w.sent_through ORDER BY w.webhook_id LIMIT $3");
const db::Query<DueWebhook> due_asked_sql(
    "SELECT {} FROM webhooks WHERE webhook_id IN "
    "(SELECT webhook_id FROM webhook_deliveries WHERE state = 'waiting') "
    "AND enabled = 1 AND webhook_id > $1 ORDER BY webhook_id LIMIT $2");
const db::Query<DueWebhook> due_of_all_sql(
    "SELECT {w.} FROM webhooks w JOIN event_heads h ON h.account_id = w.account_id "
    "WHERE w.enabled = 1 AND (w.next_at IS NULL OR w.next_at <= $2) "
    "AND h.newest > w.sent_through AND w.webhook_id > $1 ORDER BY w.webhook_id LIMIT $3");
constexpr std::string_view accounts_with_webhooks_sql =
    "SELECT DISTINCT account_id FROM webhooks WHERE enabled = 1";
constexpr std::string_view oldest_unsent_sql =
    "SELECT e.at FROM webhooks w JOIN events e ON e.account_id = w.account_id "
    "AND e.sequence = w.sent_through + 1 WHERE w.enabled = 1 ORDER BY e.at LIMIT 1";

constexpr std::string_view take_webhook_sql =
    "UPDATE webhooks SET lease_id = $2, lease_until = $3 WHERE webhook_id = $1 AND enabled = 1 "
    "AND (lease_until = 0 OR (lease_id = $4 AND lease_until = $5))";
// Others see that it is renewed by its being another one, also when our clock was put back.
constexpr std::string_view keep_webhook_sql =
    "UPDATE webhooks SET lease_until = CASE WHEN lease_until < $3 THEN $3 ELSE lease_until + 1 END "
    "WHERE webhook_id = $1 AND lease_id = $2 AND lease_until > 0";
constexpr std::string_view end_leases_sql =
    "UPDATE webhooks SET lease_until = 0 WHERE lease_until > 0";
constexpr std::string_view note_progress_sql =
    "UPDATE webhooks SET sent_through = $4, attempts = $5, failing_since = $6, warned = $7, "
    "next_at = $8, lease_until = $9, refusals = $10 WHERE webhook_id = $1 AND lease_id = $2 "
    "AND revision = $3";
constexpr std::string_view is_held_sql =
    "SELECT 1 FROM webhooks WHERE webhook_id = $1 AND lease_id = $2 AND revision = $3 "
    "AND enabled = 1 AND lease_until > 0";
constexpr std::string_view note_place_sql =
    "UPDATE webhooks SET sent_through = $4, lease_until = 0 WHERE webhook_id = $1 "
    "AND lease_id = $2 AND place = $3";
constexpr std::string_view give_lease_back_sql =
    "UPDATE webhooks SET lease_until = 0 WHERE webhook_id = $1 AND lease_id = $2";
constexpr std::string_view disable_webhook_sql =
    "UPDATE webhooks SET enabled = 0, disabled_cause = $2, next_at = NULL, "
    "revision = revision + 1, updated_at = $3 WHERE webhook_id = $1 AND enabled = 1";

const db::Query<DeliveryRow> add_delivery_sql("INSERT INTO webhook_deliveries ({}) VALUES ({$})");
constexpr std::string_view end_asked_sql =
    "UPDATE webhook_deliveries SET state = $2, attempt = $3, status = $4, fault = $5, answer = $6, "
    "took_ms = $7, at = $8 WHERE delivery_id = $1 AND state = 'waiting'";
const db::Query<DeliveryRow> list_deliveries_sql(
    "SELECT {} FROM webhook_deliveries WHERE webhook_id = $1 "
    "AND (delivery_id < $2 OR $2 IS NULL) ORDER BY delivery_id DESC LIMIT $3");
const db::Query<DeliveryRow> list_asked_sql(
    "SELECT {} FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'waiting' "
    "ORDER BY delivery_id LIMIT $2");
constexpr std::string_view prune_deliveries_sql =
    "DELETE FROM webhook_deliveries WHERE delivery_id IN "
    "(SELECT delivery_id FROM webhook_deliveries WHERE at < $1 ORDER BY at LIMIT $2)";
constexpr std::string_view bound_deliveries_sql =
    "DELETE FROM webhook_deliveries WHERE webhook_id = $1 AND state <> 'waiting' "
    "AND delivery_id <= (SELECT delivery_id FROM webhook_deliveries WHERE webhook_id = $1 "
    "ORDER BY delivery_id DESC LIMIT 1 OFFSET $2)";

struct SealedRow {
    WebhookId webhook_id;
    Bytes sealed_secret;
    std::optional<Bytes> sealed_previous = {};
};
BOOST_DESCRIBE_STRUCT(SealedRow, (), (webhook_id, sealed_secret, sealed_previous))
constexpr std::int64_t resealed_at_once = 200;
const db::Query<SealedRow> sealed_sql(
    "SELECT {} FROM webhooks WHERE webhook_id > $1 ORDER BY webhook_id LIMIT $2");
// Only while it holds what was read: whoever writes at the same time wins.
constexpr std::string_view set_sealed_secret_sql =
    "UPDATE webhooks SET sealed_secret = $2 WHERE webhook_id = $1 AND sealed_secret = $3";
constexpr std::string_view set_sealed_previous_sql =
    "UPDATE webhooks SET sealed_previous = $2 WHERE webhook_id = $1 AND sealed_previous = $3";

std::optional<db::Blob> blob_of(const std::optional<Bytes>& bytes) {
    return bytes ? std::optional(db::Blob{*bytes}) : std::nullopt;
}

}  // namespace

std::vector<std::string> WebhookRow::type_list() const {
    std::vector<std::string> list;
    for (std::string_view left = types; !left.empty();) {
        const std::size_t comma = std::min(left.find(','), left.size());
        list.emplace_back(left.substr(0, comma));
        left.remove_prefix(std::min(comma + 1, left.size()));
    }
    return list;
}

void add_webhook(db::Transaction& tx, const WebhookRow& row) {
    tx.run(add_webhook_sql, row.webhook_id, row.account_id, row.key_id, row.renter, row.host,
           row.url, row.types, row.enabled, db::Blob{row.sealed_secret}, row.sent_through,
           row.created_at);
}

std::optional<WebhookRow> find_webhook(db::Transaction& tx, WebhookId id) {
    return tx.fetch_one(find_webhook_sql, id);
}

std::int64_t count_webhooks(db::Transaction& tx, AccountId account) {
    return tx.fetch_value<std::int64_t>(count_webhooks_sql, account).value_or(0);
}

std::vector<WebhookRow> list_webhooks(db::Transaction& tx, AccountId account,
                                      const std::optional<Uuid>& key,
                                      const std::optional<WebhookId>& after,
                                      std::int64_t rows_max) {
    return tx.fetch(list_webhooks_sql, account, key, after, rows_max);
}

void change_webhook(db::Transaction& tx, const WebhookRow& row, bool begins_anew) {
    const auto before = find_webhook(tx, row.webhook_id);
    if (before && before->place != row.place)
        tx.run(change_webhook_sql, row.webhook_id, row.url, row.types, row.enabled,
               row.disabled_cause, row.sent_through, row.place, row.updated_at);
    else
        tx.run(change_all_but_place_sql, row.webhook_id, row.url, row.types, row.enabled,
               row.disabled_cause, row.updated_at);
    if (begins_anew) tx.run(begin_anew_sql, row.webhook_id);
}

void put_secret(db::Transaction& tx, const WebhookRow& row) {
    tx.run(put_secret_sql, row.webhook_id, db::Blob{row.sealed_secret},
           blob_of(row.sealed_previous), row.previous_until, row.updated_at);
}

// The webhook first: a round that notes its attempts just now holds that row until they are there.
bool delete_webhook(db::Transaction& tx, WebhookId id) {
    const bool was_there = tx.run(delete_webhook_sql, id).affected == 1;
    tx.run(delete_deliveries_sql, id);
    return was_there;
}

void forget_webhooks(db::Transaction& tx, AccountId account) {
    for (const WebhookId& id : tx.fetch_values<WebhookId>(ids_of_account_sql, account))
        delete_webhook(tx, id);
}

void move_webhooks(db::Transaction& tx, std::int64_t by) {
    tx.run(move_webhooks_sql, by);
    tx.run(move_asked_sql, by);
}

std::vector<DueWebhook> due_of_account(db::Transaction& tx, AccountId account, Time now) {
    return tx.fetch(due_of_account_sql, account, now, due_rows_max);
}

std::vector<DueWebhook> due_asked(db::Transaction& tx, WebhookId after) {
    return tx.fetch(due_asked_sql, after, due_rows_max);
}

std::vector<DueWebhook> due_of_all(db::Transaction& tx, WebhookId after, Time now) {
    return tx.fetch(due_of_all_sql, after, now, due_rows_max);
}

std::vector<AccountId> accounts_with_webhooks(db::Transaction& tx) {
    return tx.fetch_values<AccountId>(accounts_with_webhooks_sql);
}

std::optional<Time> oldest_unsent(db::Transaction& tx) {
    return tx.fetch_value<Time>(oldest_unsent_sql);
}

bool take_webhook(db::Transaction& tx, WebhookId id, const Lease& lease,
                  const std::optional<Lease>& from) {
    const auto [from_id, from_until] = from.value_or(Lease{});
    return tx.run(take_webhook_sql, id, lease.lease_id, lease.lease_until, from_id, from_until)
               .affected == 1;
}

void keep_webhook(db::Transaction& tx, WebhookId id, LeaseId lease, Time until) {
    tx.run(keep_webhook_sql, id, lease, until);
}

bool is_held(db::Transaction& tx, const Hold& hold) {
    return tx.fetch_value<std::int64_t>(is_held_sql, hold.webhook_id, hold.lease_id, hold.revision)
        .has_value();
}

void end_leases(db::Transaction& tx) { tx.run(end_leases_sql); }

bool note_progress(db::Transaction& tx, const Hold& hold, const Progress& progress) {
    return tx.finish(start_noting_progress(tx, hold, progress)).affected == 1;
}

db::Transaction::Ticket start_noting_progress(db::Transaction& tx, const Hold& hold,
                                              const Progress& progress) {
    return tx.start(note_progress_sql, hold.webhook_id, hold.lease_id, hold.revision,
                    progress.sent_through, progress.attempts, progress.failing_since,
                    progress.warned, progress.next_at, progress.lease_until, progress.refusals);
}

bool note_place(db::Transaction& tx, const WebhookRow& row, LeaseId lease,
                const Progress& progress) {
    if (tx.run(note_place_sql, row.webhook_id, lease, row.place, progress.sent_through).affected !=
        1)
        return false;
    if (!progress.failing_since) tx.run(begin_anew_sql, row.webhook_id);
    return true;
}

void give_lease_back(db::Transaction& tx, WebhookId id, LeaseId lease) {
    tx.run(give_lease_back_sql, id, lease);
}

bool disable_webhook(db::Transaction& tx, WebhookId id, DisabledCause cause, Time now) {
    return tx.run(disable_webhook_sql, id, cause, now).affected == 1;
}

void add_delivery(db::Transaction& tx, const DeliveryRow& row) { tx.insert(add_delivery_sql, row); }

db::Transaction::Ticket start_logging(db::Transaction& tx, const DeliveryRow& row) {
    if (row.kind == DeliveryKind::event)
        return tx.start(add_delivery_sql.sql(), row.delivery_id, row.webhook_id, row.kind,
                        row.state, row.event_id, row.sequence, row.type, row.attempt, row.status,
                        row.fault, row.answer, row.took_ms, row.at);
    return tx.start(end_asked_sql, row.delivery_id, row.state, row.attempt, row.status, row.fault,
                    row.answer, row.took_ms, row.at);
}

std::vector<DeliveryRow> list_deliveries(db::Transaction& tx, WebhookId webhook,
                                         const std::optional<DeliveryId>& before,
                                         std::int64_t rows_max) {
    return tx.fetch(list_deliveries_sql, webhook, before, rows_max);
}

std::vector<DeliveryRow> list_asked(db::Transaction& tx, WebhookId webhook) {
    return tx.fetch(list_asked_sql, webhook, asked_max);
}

std::int64_t prune_deliveries(db::Transaction& tx, Time before, std::int64_t rows_max) {
    return tx.run(prune_deliveries_sql, before, rows_max).affected;
}

void bound_deliveries(db::Transaction& tx, WebhookId webhook) {
    tx.run(bound_deliveries_sql, webhook, deliveries_kept_max);
}

std::string secret_context(WebhookId id) { return "webhook:" + to_string(id); }

void reseal(db::Database& database, crypto::Resealing& resealing) {
    std::optional<WebhookId> after = WebhookId{};
    while (after)
        after = database.write([&](db::Transaction& tx) {
            std::optional<WebhookId> last;
            for (const SealedRow& row : tx.fetch(sealed_sql, *after, resealed_at_once)) {
                const std::string context = secret_context(row.webhook_id);
                if (const auto renewed = resealing.renew({row.sealed_secret, context}))
                    tx.run(set_sealed_secret_sql, row.webhook_id, db::Blob{*renewed},
                           db::Blob{row.sealed_secret});
                if (row.sealed_previous)
                    if (const auto renewed = resealing.renew({*row.sealed_previous, context}))
                        tx.run(set_sealed_previous_sql, row.webhook_id, db::Blob{*renewed},
                               db::Blob{*row.sealed_previous});
                last = row.webhook_id;
            }
            return last;
        });
}

}  // namespace berth::delivery
