// One row per account, route and Idempotency-Key, written in the same transaction as the effect it
// stands for. The row is claimed before the handler runs: a twin that arrives meanwhile waits for
// the first one's commit on the primary key, and then finds the answer to repeat.
#pragma once

#include <optional>
#include <string>

#include "base/ids.hpp"
#include "db/migrate.hpp"

namespace berth::api {

struct IdempotencyKey {
    AccountId account;
    std::string route;  // method and path template
    Uuid key;
    Bytes request_hash;  // SHA-256 of the canonical path parameters, query and body
};

struct StoredAnswer {
    int status;
    std::string body;
};

// Claims the key for this transaction. Gives the stored answer when there is one already; throws a
// Problem IDEMPOTENCY_CONFLICT when it belongs to another request.
std::optional<StoredAnswer> claim_key(db::Transaction& tx, const IdempotencyKey& key, Time now);

void store_answer(db::Transaction& tx, const IdempotencyKey& key, const StoredAnswer& answer);
void release_key(db::Transaction& tx, const IdempotencyKey& key);

// The stored answer, without claiming; for a commit whose outcome is unknown.
std::optional<StoredAnswer> find_answer(db::Transaction& tx, const IdempotencyKey& key);

inline constexpr Duration idempotency_kept = std::chrono::hours(24 * 30);
// Deletes up to `rows_max` rows that are older than `before`; returns how many.
std::int64_t prune_keys(db::Transaction& tx, Time before, std::int64_t rows_max);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::api
