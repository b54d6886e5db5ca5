#include "liabilities/store.hpp"

#include <limits>

#include "base/check.hpp"

namespace berth::liabilities {
namespace {

constexpr std::size_t piece_nodes = 512;
constexpr std::size_t node_bytes = hash_bytes + 8;

constexpr db::Migration history[] = {
    {.feature = "liabilities",
     .number = 1,
     .sql = "CREATE TABLE liability_records ("
            "  asset @text NOT NULL,"
            "  number @int NOT NULL,"
            "  as_of @int NOT NULL,"
            "  root @bytes NOT NULL,"
            "  total @int NOT NULL,"
            "  leaves @int NOT NULL,"
            "  block_number @int,"
            "  treasury @int,"
            "  salt_key @bytes NOT NULL,"
            "  previous_hash @bytes NOT NULL,"
            "  hash @bytes NOT NULL,"
            "  signature @bytes NOT NULL,"
            "  PRIMARY KEY (asset, number)"
            ") @strict;"

            "CREATE TABLE liability_nodes ("
            "  asset @text NOT NULL,"
            "  level @int NOT NULL,"
            "  piece @int NOT NULL,"
            "  nodes @bytes NOT NULL,"
            "  PRIMARY KEY (asset, level, piece)"
            ") @strict;"

            "CREATE TABLE liability_keys ("
            "  asset @text NOT NULL,"
            "  first_key @bytes NOT NULL,"
            "  piece @int NOT NULL,"
            "  keys @bytes NOT NULL,"
            "  PRIMARY KEY (asset, first_key)"
            ") @strict;"},
    // None: from before it was noted, when the key was never exchanged.
    {.feature = "liabilities",
     .number = 2,
     .sql = "ALTER TABLE liability_records ADD COLUMN public_key @bytes;"},
    {.feature = "liabilities",
     .number = 3,
     .sql = "ALTER TABLE liability_records ADD COLUMN audit_events @int;"
            "ALTER TABLE liability_records ADD COLUMN audit_head @bytes;"},
    // Transactions that write records into the chain. All attempts at one have its signer and
    // nonce; a row is committed before its bytes are sent.
    {.feature = "liabilities",
     .number = 4,
     .sql = "ALTER TABLE liability_records ADD COLUMN posted_tx @text;"
            "CREATE TABLE liability_posts ("
            "  signer @text NOT NULL,"
            "  nonce @int NOT NULL,"
            "  attempt @int NOT NULL,"
            "  tx_hash @text NOT NULL,"
            "  signed_bytes @bytes NOT NULL,"
            "  data @bytes NOT NULL,"
            "  fee_max @int NOT NULL,"
            "  priority_fee @int NOT NULL,"
            "  created_at @int NOT NULL,"
            "  ended_at @int,"
            "  outcome @text CHECK (outcome IN ('posted', 'failed')),"
            "  PRIMARY KEY (signer, nonce, attempt),"
            "  CHECK ((ended_at IS NULL) = (outcome IS NULL))"
            ") @strict;"
            "CREATE INDEX liability_posts_open ON liability_posts (signer)"
            "  WHERE ended_at IS NULL;"},
};

const db::Query<RecordRow> find_newest_sql(
    "SELECT {} FROM liability_records WHERE asset = $1 ORDER BY number DESC LIMIT 1");
const db::Query<RecordRow> list_records_sql(
    "SELECT {} FROM liability_records WHERE asset = $1 AND number < $2 "
    "ORDER BY number DESC LIMIT $3");
constexpr std::string_view add_record_sql =
    "INSERT INTO liability_records (asset, number, as_of, root, total, leaves, block_number, "
    "treasury, salt_key, previous_hash, hash, signature, public_key, audit_events, audit_head) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
const db::Query<PostRow> open_posts_sql(
    "SELECT {} FROM liability_posts WHERE signer = $1 AND ended_at IS NULL "
    "ORDER BY nonce, attempt");
constexpr std::string_view posters_sql =
    "SELECT DISTINCT signer FROM liability_posts WHERE ended_at IS NULL";
constexpr std::string_view add_post_sql =
    "INSERT INTO liability_posts (signer, nonce, attempt, tx_hash, signed_bytes, data, fee_max, "
    "priority_fee, created_at, ended_at, outcome) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, NULL) "
    "ON CONFLICT (signer, nonce, attempt) DO NOTHING";
constexpr std::string_view end_posts_sql =
    "UPDATE liability_posts SET ended_at = $3, outcome = $4 "
    "WHERE signer = $1 AND nonce = $2 AND ended_at IS NULL";
constexpr std::string_view last_post_sql = "SELECT MAX(created_at) FROM liability_posts";
constexpr std::string_view note_posted_sql =
    "UPDATE liability_records SET posted_tx = $3 "
    "WHERE asset = $1 AND number = $2 AND posted_tx IS NULL";
constexpr std::string_view delete_nodes_sql = "DELETE FROM liability_nodes WHERE asset = $1";
constexpr std::string_view delete_keys_sql = "DELETE FROM liability_keys WHERE asset = $1";
constexpr std::string_view add_nodes_sql =
    "INSERT INTO liability_nodes (asset, level, piece, nodes) VALUES ($1, $2, $3, $4)";
constexpr std::string_view add_keys_sql =
    "INSERT INTO liability_keys (asset, first_key, piece, keys) VALUES ($1, $2, $3, $4)";
constexpr std::string_view find_nodes_sql =
    "SELECT nodes FROM liability_nodes WHERE asset = $1 AND level = $2 AND piece = $3";

struct KeysRow {
    std::int64_t piece = 0;
    Bytes keys;
};
BOOST_DESCRIBE_STRUCT(KeysRow, (), (piece, keys))
const db::Query<KeysRow> find_keys_sql(
    "SELECT {} FROM liability_keys WHERE asset = $1 AND first_key <= $2 "
    "ORDER BY first_key DESC LIMIT 1");

const db::Query<OwedRow> list_owed_sql(
    "SELECT {} FROM ledger_accounts WHERE asset = $1 AND account_id <> $2");
constexpr std::string_view suspense_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM deposits "
    "WHERE asset = $1 AND state <> 'CLAIMED' AND state IN ('SUSPENSE', 'RETURNING')";
constexpr std::string_view newest_deposit_sql = "SELECT COALESCE(MAX(block), 0) FROM deposits";

void add_level(db::Transaction& tx, ledger::Asset asset, std::size_t level, const Level& nodes) {
    for (std::size_t begin = 0; begin < nodes.size(); begin += piece_nodes) {
        Bytes piece;
        for (std::size_t i = begin; i < std::min(begin + piece_nodes, nodes.size()); ++i) {
            piece += nodes[i].hash;
            append_big_endian(piece, static_cast<std::uint64_t>(nodes[i].sum.value));
        }
        tx.run(add_nodes_sql, asset, level, begin / piece_nodes, db::Blob{piece});
    }
}

void add_keys(db::Transaction& tx, ledger::Asset asset, const std::vector<Bytes>& keys) {
    for (std::size_t begin = 0; begin < keys.size(); begin += piece_nodes) {
        Bytes piece;
        for (std::size_t i = begin; i < std::min(begin + piece_nodes, keys.size()); ++i)
            piece += keys[i];
        tx.run(add_keys_sql, asset, db::Blob{keys[begin]}, begin / piece_nodes, db::Blob{piece});
    }
}

}  // namespace

const std::span<const db::Migration> migrations = history;

std::optional<RecordRow> find_newest(db::Transaction& tx, ledger::Asset asset) {
    return tx.fetch_one(find_newest_sql, asset);
}

std::vector<RecordRow> list_records(db::Transaction& tx, ledger::Asset asset,
                                    const std::optional<std::int64_t>& before,
                                    std::int64_t rows_max) {
    constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
    return tx.fetch(list_records_sql, asset, before.value_or(all), rows_max);
}

void add_record(db::Transaction& tx, const RecordRow& record, const Tree& tree) {
    tx.run(add_record_sql, record.asset, record.number, record.as_of, db::Blob{record.root},
           record.total, record.leaves, record.block_number, record.treasury,
           db::Blob{record.salt_key}, db::Blob{record.previous_hash}, db::Blob{record.hash},
           db::Blob{record.signature}, db::Blob{record.public_key.value()},
           record.audit_events.value(), db::Blob{record.audit_head.value()});
    tx.run(delete_nodes_sql, record.asset);
    tx.run(delete_keys_sql, record.asset);
    for (std::size_t level = 0; level < tree.levels.size(); ++level)
        add_level(tx, record.asset, level, tree.levels[level]);
    add_keys(tx, record.asset, tree.keys);
}

std::vector<PostRow> list_open_posts(db::Transaction& tx, const crypto::Address& signer) {
    return tx.fetch(open_posts_sql, signer);
}

std::vector<crypto::Address> list_posters(db::Transaction& tx) {
    return tx.fetch_values<crypto::Address>(posters_sql);
}

bool add_post(db::Transaction& tx, const PostRow& post) {
    return tx.run(add_post_sql, post.signer, post.nonce, post.attempt, post.tx_hash,
                  db::Blob{post.signed_bytes}, db::Blob{post.data}, post.fee_max, post.priority_fee,
                  post.created_at)
               .affected == 1;
}

void end_posts(db::Transaction& tx, const PostRow& post, bool posted, Time now) {
    const std::string_view outcome = posted ? "posted" : "failed";
    tx.run(end_posts_sql, post.signer, post.nonce, now, outcome);
}

std::optional<Time> find_last_post(db::Transaction& tx) {
    return tx.fetch_value<std::optional<Time>>(last_post_sql).value();
}

void note_posted(db::Transaction& tx, ledger::Asset asset, std::int64_t number,
                 const std::string& transaction) {
    tx.run(note_posted_sql, asset, number, transaction);
}

std::optional<std::size_t> find_leaf(db::Transaction& tx, ledger::Asset asset,
                                     std::string_view key) {
    const auto row = tx.fetch_one(find_keys_sql, asset, db::Blob{key});
    if (!row) return std::nullopt;
    for (std::size_t i = 0; i * hash_bytes < row->keys.size(); ++i)
        if (std::string_view(row->keys).substr(i * hash_bytes, hash_bytes) == key)
            return static_cast<std::size_t>(row->piece) * piece_nodes + i;
    return std::nullopt;
}

Node read_node(db::Transaction& tx, ledger::Asset asset, std::size_t level, std::size_t index) {
    const auto piece = tx.fetch_value<Bytes>(find_nodes_sql, asset, level, index / piece_nodes);
    const std::size_t at = index % piece_nodes * node_bytes;
    require(piece && at + node_bytes <= piece->size(), "every node of the newest tree is there");
    return {piece->substr(at, hash_bytes),
            Micro{static_cast<std::int64_t>(load_big_endian(piece->data() + at + hash_bytes))}};
}

std::vector<OwedRow> list_owed(db::Transaction& tx, ledger::Asset asset) {
    return tx.fetch(list_owed_sql, asset, AccountId{});
}

Micro in_suspense(db::Transaction& tx, ledger::Asset asset) {
    return tx.fetch_value<Micro>(suspense_sql, asset).value();
}

std::int64_t newest_deposit_block(db::Transaction& tx) {
    return tx.fetch_value<std::int64_t>(newest_deposit_sql).value();
}

}  // namespace berth::liabilities
