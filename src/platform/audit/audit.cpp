#include "audit/audit.hpp"

#include "audit/events.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "base/redaction.hpp"
#include "crypto/hash_input.hpp"

namespace berth::audit {
namespace {

struct Place {
    std::int64_t sequence = 0;
    Bytes head;
};
BOOST_DESCRIBE_STRUCT(Place, (), (sequence, head))
// Locks the end of the chain until the transaction is over, so the head it returns is the last one.
const db::Query<Place> take_place_sql(
    "UPDATE audit_chain SET sequence = sequence + 1 WHERE chain = 1 RETURNING {}");
constexpr std::string_view open_chain_sql =
    "INSERT INTO audit_chain (chain, sequence, head) VALUES (1, 0, $1) ON CONFLICT DO NOTHING";
constexpr std::string_view set_head_sql = "UPDATE audit_chain SET head = $1 WHERE chain = 1";
constexpr std::string_view add_event_sql =
    "INSERT INTO audit_events (sequence, audit_event_id, at, actor_kind, account_id, action, "
    "target_kind, target_id, reason, request_id, previous_hash, hash) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
constexpr std::string_view add_change_sql =
    "INSERT INTO audit_changes (sequence, ordinal, field, before, after) "
    "VALUES ($1, $2, $3, $4, $5)";

std::optional<std::string> without_secrets_in(const std::optional<std::string>& text) {
    return text ? std::optional(without_unnamed_secrets(*text)) : std::nullopt;
}

// The field says what its value is, and no field is for a private key: a value in hex stays.
std::optional<std::string> value_without_secrets(const std::optional<std::string>& text) {
    const auto stays = [](const std::string&) { return true; };
    return text ? std::optional(without_unnamed_secrets(*text, stays)) : std::nullopt;
}

// The first event of all makes the row; another one may be as early, and then that row is taken.
void take_place(db::Transaction& tx, Recorded& event) {
    auto end = tx.fetch_one(take_place_sql);
    if (!end) {
        const Bytes first(hash_bytes, '\0');
        tx.run(open_chain_sql, db::Blob{first});
        end = tx.fetch_one(take_place_sql);
    }
    require(end.has_value(), "the chain of audit events has an end");
    event.sequence = end->sequence;
    event.previous_hash = std::move(end->head);
}

// Beside the database, so that there is a trace of what a restored one does not know. It is written
// before the commit: what was not committed stands there as well, under a number that comes again.
void tell_log(const Recorded& event) {
    if (!is_logged(Level::info)) return;
    const std::string actor = event.account ? to_string(*event.account) : event.actor_kind;
    const std::string target = event.target.kind + " " + event.target.id;
    std::string changes;
    for (const Change& change : event.changes)
        changes += " " + change.field + "=" + change.to.value_or("none");
    log(Level::info, "audited",
        {{"sequence", event.sequence},
         {"actor", actor},
         {"action", event.action},
         {"target", target},
         {"changes", changes}});
}

}  // namespace

std::string_view name(Actor::Kind kind) {
    switch (kind) {
        case Actor::Kind::account: return "account";
        case Actor::Kind::local_operator: return "operator";
        case Actor::Kind::system: break;
    }
    return "system";
}

Change secret_change(std::string field, bool was_set, bool is_set) {
    const auto shown = [](bool set) {
        return set ? std::optional<std::string>("set") : std::nullopt;
    };
    return {std::move(field), shown(was_set), shown(is_set)};
}

Bytes chain_hash(const Recorded& event) {
    crypto::HashInput input(512);
    input.text(event.previous_hash)
        .number(event.sequence)
        .id(event.id)
        .number(event.at.micros)
        .text(event.actor_kind)
        .id(event.account)
        .text(event.action)
        .text(event.target.kind)
        .text(event.target.id)
        .optional_text(event.reason)
        .id(event.request)
        .number(static_cast<std::int64_t>(event.changes.size()));
    for (const Change& change : event.changes)
        input.text(change.field).optional_text(change.from).optional_text(change.to);
    return input.sha256();
}

AuditEventId record(db::Context context, const Event& event) {
    const auto& [tx, random, now] = context;
    Recorded row;
    row.id = AuditEventId::make(now, random);
    row.at = now;
    row.actor_kind = name(event.actor.kind);
    row.account = event.actor.account;
    row.action = event.action;
    row.target = {event.target.kind, value_without_secrets(event.target.id).value()};
    row.reason = without_secrets_in(event.reason);
    row.request = event.request;
    for (const Change& change : event.changes)
        row.changes.push_back(
            {change.field, value_without_secrets(change.from), value_without_secrets(change.to)});
    take_place(tx, row);
    row.hash = chain_hash(row);

    // Nothing waits for these: they travel together, and a failure shows before the commit.
    tx.start(add_event_sql, row.sequence, row.id, row.at, row.actor_kind, row.account, row.action,
             row.target.kind, row.target.id, row.reason, row.request, db::Blob{row.previous_hash},
             db::Blob{row.hash});
    std::int64_t ordinal = 0;
    for (const Change& change : row.changes)
        tx.start(add_change_sql, row.sequence, ++ordinal, change.field, change.from, change.to);
    tx.start(set_head_sql, db::Blob{row.hash});
    tell_log(row);
    return row.id;
}

}  // namespace berth::audit
