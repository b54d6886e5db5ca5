#include "api/idempotency.hpp"

#include "base/problem.hpp"

namespace berth::api {
namespace {

constexpr std::string_view claim_sql =
    "INSERT INTO idempotency_keys (account_id, route, key, request_hash, status, response, "
    "created_at) VALUES ($1, $2, $3, $4, 0, '', $5) "
    "ON CONFLICT (account_id, route, key) DO NOTHING";

struct AnswerRow {
    Bytes request_hash;
    int status = 0;
    std::string response;
};
BOOST_DESCRIBE_STRUCT(AnswerRow, (), (request_hash, status, response))
const db::Query<AnswerRow> find_sql(
    "SELECT {} FROM idempotency_keys WHERE account_id = $1 AND route = $2 AND key = $3");

constexpr std::string_view store_sql =
    "UPDATE idempotency_keys SET status = $4, response = $5 "
    "WHERE account_id = $1 AND route = $2 AND key = $3";

constexpr std::string_view release_sql =
    "DELETE FROM idempotency_keys WHERE account_id = $1 AND route = $2 AND key = $3";

constexpr std::string_view prune_sql =
    "DELETE FROM idempotency_keys WHERE (account_id, route, key) IN "
    "(SELECT account_id, route, key FROM idempotency_keys WHERE created_at < $1 "
    "ORDER BY created_at LIMIT $2)";

constexpr db::Migration history[] = {
    {.feature = "api",
     .number = 1,
     .sql = "CREATE TABLE idempotency_keys ("
            "  account_id @id NOT NULL,"
            "  route @text NOT NULL,"
            "  key @id NOT NULL,"
            "  request_hash @bytes NOT NULL,"
            "  status @int NOT NULL,"  // 0 while the handler runs; no committed row has it
            "  response @text NOT NULL,"
            "  created_at @int NOT NULL,"
            "  PRIMARY KEY (account_id, route, key)"
            ") @strict;"
            "CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);",
     .formerly = 1},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

std::optional<StoredAnswer> find_answer(db::Transaction& tx, const IdempotencyKey& key) {
    auto found = tx.fetch_one(find_sql, key.account, key.route, key.key);
    if (!found) return std::nullopt;
    if (found->request_hash != key.request_hash)
        throw Problem(Code::idempotency_conflict,
                      "this Idempotency-Key was used for a different request");
    return StoredAnswer{found->status, std::move(found->response)};
}

std::optional<StoredAnswer> claim_key(db::Transaction& tx, const IdempotencyKey& key, Time now) {
    const db::Result claimed =
        tx.run(claim_sql, key.account, key.route, key.key, db::Blob{key.request_hash}, now);
    if (claimed.affected == 1) return std::nullopt;
    auto answer = find_answer(tx, key);
    // The row was there a moment ago: it was pruned in between, and the next try will claim it.
    if (!answer) throw db::Unavailable("the idempotency key is being pruned");
    return answer;
}

void store_answer(db::Transaction& tx, const IdempotencyKey& key, const StoredAnswer& answer) {
    tx.start(store_sql, key.account, key.route, key.key, answer.status, answer.body);
}

void release_key(db::Transaction& tx, const IdempotencyKey& key) {
    tx.start(release_sql, key.account, key.route, key.key);
}

std::int64_t prune_keys(db::Transaction& tx, Time before, std::int64_t rows_max) {
    return tx.run(prune_sql, before, rows_max).affected;
}

}  // namespace berth::api
