#include "billing/published_keys.hpp"

#include <algorithm>

#include "agent_protocol/hashes.hpp"

namespace berth::billing {
namespace {

constexpr db::Migration history[] = {
    {.feature = "billing",
     .number = 1,
     .sql = "CREATE TABLE published_keys ("
            "  purpose @text NOT NULL,"
            "  key_id @text NOT NULL,"
            "  public_key @text NOT NULL,"
            "  from_at @int NOT NULL,"
            "  until_at @int,"
            "  PRIMARY KEY (purpose, key_id)"
            ") @strict;"},
};

struct KeyRow {
    KeyUse purpose = KeyUse::receipts;
    std::string key_id;
    std::string public_key;
    Time from_at;
    std::optional<Time> until_at = {};
};
BOOST_DESCRIBE_STRUCT(KeyRow, (), (purpose, key_id, public_key, from_at, until_at))

// A key that comes back, as after a mistaken exchange, is in use again.
const db::Query<KeyRow> add_sql(
    "INSERT INTO published_keys ({}) VALUES ({$}) "
    "ON CONFLICT (purpose, key_id) DO UPDATE SET until_at = NULL "
    "WHERE published_keys.until_at IS NOT NULL");
const db::Query<KeyRow> list_sql(
    "SELECT {} FROM published_keys ORDER BY from_at, purpose, key_id LIMIT $1");
constexpr std::string_view end_sql =
    "UPDATE published_keys SET until_at = $3 WHERE purpose = $1 AND key_id = $2";

}  // namespace

const std::span<const db::Migration> migrations = history;

void note_keys(db::Transaction& tx, std::span<const OwnKey> keys, Time now) {
    const auto is_own = [&](const KeyRow& row) {
        return std::any_of(keys.begin(), keys.end(), [&](const OwnKey& own) {
            return own.use == row.purpose && agent_protocol::key_text(own.key) == row.public_key;
        });
    };
    for (const KeyRow& row : tx.fetch(list_sql, published_keys_max))
        if (!row.until_at && !is_own(row)) tx.run(end_sql, row.purpose, row.key_id, now);
    for (const OwnKey& own : keys)
        tx.insert(add_sql, KeyRow{.purpose = own.use,
                                  .key_id = agent_protocol::key_id(own.key),
                                  .public_key = agent_protocol::key_text(own.key),
                                  .from_at = now});
}

PublishedKeys published_keys(db::Transaction& tx) {
    PublishedKeys all;
    for (const KeyRow& row : tx.fetch(list_sql, published_keys_max))
        all.keys.push_back({.key_id = row.key_id,
                            .public_key = row.public_key,
                            .use = {row.purpose},
                            .from = row.from_at,
                            .until = row.until_at});
    return all;
}

}  // namespace berth::billing
