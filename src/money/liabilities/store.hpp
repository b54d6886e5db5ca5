// All SQL of liabilities. The records are kept for ever; of the trees only the newest of each asset
// is, in pieces, so that a path is read without the rest.
#pragma once

#include "chain/chain.hpp"
#include "db/migrate.hpp"
#include "ledger/chart.hpp"
#include "liabilities/tree.hpp"

namespace berth::liabilities {

struct RecordRow {
    ledger::Asset asset{};
    std::int64_t number = 0;  // 1, 2, 3 of this asset
    Time as_of;
    Bytes root;
    Micro total;
    std::int64_t leaves = 0;
    std::optional<std::int64_t> block_number = {};
    std::optional<Micro> treasury = {};
    Bytes salt_key;  // the salts and the order of the leaves follow from it
    Bytes previous_hash;
    Bytes hash;
    Bytes signature;
    std::optional<Bytes> public_key = {};  // that it was signed with
    // The end of the audit record at that time; none in records of before it was noted.
    std::optional<std::int64_t> audit_events = {};
    std::optional<Bytes> audit_head = {};
    // The final transaction that wrote it into the chain. It is no part of what is signed.
    std::optional<std::string> posted_tx = {};
};
BOOST_DESCRIBE_STRUCT(RecordRow, (),
                      (asset, number, as_of, root, total, leaves, block_number, treasury, salt_key,
                       previous_hash, hash, signature, public_key, audit_events, audit_head,
                       posted_tx))

std::optional<RecordRow> find_newest(db::Transaction& tx, ledger::Asset asset);
// Newest first, from before this number on.
std::vector<RecordRow> list_records(db::Transaction& tx, ledger::Asset asset,
                                    const std::optional<std::int64_t>& before,
                                    std::int64_t rows_max);

// One attempt at writing records into the chain.
struct PostRow {
    crypto::Address signer;
    std::int64_t nonce = 0;
    std::int64_t attempt = 1;
    chain::Hash tx_hash;
    Bytes signed_bytes;
    Bytes data;
    std::int64_t fee_max = 0;
    std::int64_t priority_fee = 0;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(PostRow, (),
                      (signer, nonce, attempt, tx_hash, signed_bytes, data, fee_max, priority_fee,
                       created_at))
// Those of this signer that have not ended; all have one nonce.
std::vector<PostRow> list_open_posts(db::Transaction& tx, const crypto::Address& signer);
// Whose there are, also of keys that were used before.
std::vector<crypto::Address> list_posters(db::Transaction& tx);
// False when there is such an attempt already.
bool add_post(db::Transaction& tx, const PostRow& post);
// With all attempts at the same.
void end_posts(db::Transaction& tx, const PostRow& post, bool posted, Time now);
// When the last one was made, whatever came of it: one that fails does not burn gas every minute.
std::optional<Time> find_last_post(db::Transaction& tx);
// Which transaction has brought a record into the chain.
void note_posted(db::Transaction& tx, ledger::Asset asset, std::int64_t number,
                 const std::string& transaction);

// Where an account's leaf stands is found by its key; keys are in ascending order.
struct Tree {
    std::vector<Bytes> keys;
    std::vector<Level> levels;
};
// Puts the tree in the place of the one before.
void add_record(db::Transaction& tx, const RecordRow& record, const Tree& tree);

std::optional<std::size_t> find_leaf(db::Transaction& tx, ledger::Asset asset,
                                     std::string_view key);
Node read_node(db::Transaction& tx, ledger::Asset asset, std::size_t level, std::size_t index);

struct OwedRow {
    AccountId account_id;
    Micro available;
    Micro held;
    Micro payable;
    Micro escrow;
    Micro reserved;
};
BOOST_DESCRIBE_STRUCT(OwedRow, (), (account_id, available, held, payable, escrow, reserved))
std::vector<OwedRow> list_owed(db::Transaction& tx, ledger::Asset asset);
Micro in_suspense(db::Transaction& tx, ledger::Asset asset);
// Of all transfers to us that are in the books; each was final when it was put there.
std::int64_t newest_deposit_block(db::Transaction& tx);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::liabilities
