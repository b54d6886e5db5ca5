#include "liabilities/liabilities.hpp"

#include <algorithm>
#include <map>

#include "crypto/hash_input.hpp"
#include "funding/suspense.hpp"
#include "liabilities/settings.hpp"
#include "treasury/holdings.hpp"

namespace berth::liabilities {
namespace {

constexpr Duration look_every = std::chrono::minutes(1);
constexpr AccountId suspense{};  // the leaf of what nobody has claimed

// Salts and order are fresh with every record, and can be found again for one account at a time.
Bytes salt_of(const Bytes& salt_key, AccountId account) {
    return crypto::hmac_sha256(salt_key, "salt" + Bytes(account.uuid.view()));
}
Bytes order_of(const Bytes& salt_key, AccountId account) {
    return crypto::hmac_sha256(salt_key, "order" + Bytes(account.uuid.view()));
}

// Whether a process of this service has seen the chain, now or before.
bool was_chain_read(db::Transaction& tx) {
    return std::ranges::any_of(funding::list_watched(tx),
                               [](const funding::Watched& one) { return one.blocks.has_value(); });
}

Micro owed(const OwedRow& row) {
    return row.available + row.held + row.reserved + std::max(Micro{}, row.payable + row.escrow);
}

}  // namespace

Liabilities::Liabilities(const ledger::Treasury& treasury, chain::Chain* chain,
                         crypto::Ed25519Key key)
    : treasury_(treasury), chain_(chain), key_(std::move(key)) {}

// The first is for all workers. Those that see the chain have the second too, of which nobody else
// takes a turn.
std::vector<worker::Kind> Liabilities::prove_kinds(const Parts& parts) const {
    std::vector<worker::Kind> kinds;
    for (const std::string name : {"prove_liabilities", "prove_liabilities_on_chain"})
        if (sees_chain() || name == "prove_liabilities")
            kinds.push_back(
                {.name = name,
                 .run = [this, parts](worker::Attempt& attempt) { prove(attempt, parts); },
                 .every = look_every});
    return kinds;
}

void Liabilities::prove(worker::Attempt& attempt, const Parts& parts) const {
    const auto every = std::chrono::seconds(*attempt.settings<Settings>().liabilities_every_s);
    const bool due = parts.database.read([&](db::Transaction& tx) {
        // Whoever sees the chain proves it: a record without it would hide what is missing.
        if (!sees_chain() && was_chain_read(tx)) return false;
        return std::ranges::any_of(ledger::assets, [&](ledger::Asset asset) {
            const auto newest = find_newest(tx, asset);
            return !newest || newest->as_of + every <= parts.clock.now();
        });
    });
    if (!due) return;
    std::vector<Made> made;
    for (Books& books : look(parts)) made.push_back(make(std::move(books)));
    attempt.finish([&](db::Transaction& tx) {
        for (Made& one : made) {
            const auto newest = find_newest(tx, one.record.asset);
            // Another worker was quicker.
            if (newest && newest->as_of + every > one.record.as_of) continue;
            sign(one.record, newest);
            add_record(tx, one.record, one.tree);
        }
    });
}

// The block was final before the books were read: what was paid out by then was signed before, so
// the books know it. A transfer that became final in between and is in the books already moves the
// block on to its own, so that the treasury has what the total counts.
std::vector<Liabilities::Books> Liabilities::look(const Parts& parts) const {
    auto block = sees_chain() ? std::optional(chain_->finalized_block()) : std::nullopt;
    const Time as_of = parts.clock.now();
    std::vector<Books> all;
    std::vector<funding::Watched> watched;
    std::map<ledger::Asset, std::map<AccountId, Micro>> balances;
    std::vector<transfers::SignedTransfer> flying;
    parts.database.read([&](db::Transaction& tx) {
        balances.clear();
        for (const ledger::Asset asset : ledger::assets) {
            for (const OwedRow& row : list_owed(tx, asset))
                balances[asset][row.account_id] = owed(row);
            balances[asset][suspense] =
                in_suspense(tx, asset) - treasury::find_returning(tx, treasury_, asset);
        }
        flying = block ? transfers::list_signed(tx) : std::vector<transfers::SignedTransfer>{};
        watched = funding::list_watched(tx);
        if (block) block = std::max(*block, newest_deposit_block(tx));
    });
    if (block) count_paid(flying, *block);
    for (const transfers::SignedTransfer& paid : flying)
        balances[paid.asset][paid.account_id] -= paid.amount;
    for (const ledger::Asset asset : ledger::assets) {
        Books books;
        books.asset = asset;
        books.as_of = as_of;
        books.block = block;
        if (block)
            books.treasury =
                treasury::find_holdings(*chain_, treasury_, watched, asset, *block).all();
        books.salt_key = parts.random.bytes(salt_bytes);
        for (const auto& [account, balance] : balances[asset])
            books.leaves.push_back({account, salt_of(books.salt_key, account), balance});
        all.push_back(std::move(books));
    }
    return all;
}

// Leaves only transfers that the chain had carried out by the end of this block.
void Liabilities::count_paid(std::vector<transfers::SignedTransfer>& flying,
                             std::int64_t block) const {
    std::erase_if(flying, [&](const transfers::SignedTransfer& one) {
        const auto hash = chain::parse_hash(one.tx_hash);
        require(hash.has_value(), "a transaction hash in the database is one");
        const chain::Outcome outcome = chain_->outcome(*hash);
        return outcome.status != chain::Outcome::Status::succeeded || outcome.transfers.empty() ||
               outcome.transfers.front().block > block;
    });
}

Liabilities::Made Liabilities::make(Books books) const {
    Made made;
    std::vector<std::pair<Bytes, Node>> placed;
    for (const Leaf& leaf : books.leaves)
        placed.emplace_back(order_of(books.salt_key, leaf.account), node_of(leaf));
    std::ranges::sort(placed, {}, &std::pair<Bytes, Node>::first);
    Level leaves;
    for (auto& [key, node] : placed) {
        made.tree.keys.push_back(std::move(key));
        leaves.push_back(std::move(node));
    }
    made.tree.levels = grow(std::move(leaves));
    const Node& root = made.tree.levels.back().front();
    RecordRow& record = made.record;
    record.asset = books.asset;
    record.as_of = books.as_of;
    record.root = root.hash;
    record.total = root.sum;
    record.leaves = static_cast<std::int64_t>(placed.size());
    record.block_number = books.block;
    record.treasury = books.treasury;
    record.salt_key = std::move(books.salt_key);
    return made;
}

void Liabilities::sign(RecordRow& record, const std::optional<RecordRow>& before) const {
    record.number = before ? before->number + 1 : 1;
    record.previous_hash = before ? before->hash : Bytes(hash_bytes, '\0');
    crypto::HashInput input(256);
    input.text(record.previous_hash)
        .text(ledger::name(record.asset))
        .number(record.number)
        .number(record.as_of.micros)
        .text(record.root)
        .number(record.total.value)
        .number(record.leaves)
        .number(record.block_number.value_or(-1))
        .number(record.treasury.value_or(Micro{-1}).value);
    record.hash = input.sha256();
    record.signature = key_.sign(record.hash);
    record.public_key = Bytes(key_.public_key().view());
}

namespace {

wire::Sha256Hash hash_text(const Bytes& hash) { return {"sha256:" + to_hex(hash)}; }

std::optional<bool> covered(const RecordRow& row) {
    return row.treasury ? std::optional(*row.treasury >= row.total) : std::nullopt;
}

}  // namespace

PublishedRecords Liabilities::newest(api::Call& call) const {
    PublishedRecords all;
    for (const ledger::Asset asset : ledger::assets) {
        const auto row = find_newest(call.tx(), asset);
        if (!row) continue;
        PublishedRecord record;
        record.asset = asset;
        record.number = {row->number};
        record.root = hash_text(row->root);
        record.total_micro = row->total;
        record.count = {row->leaves};
        record.as_of = row->as_of;
        if (row->block_number) record.block_number = wire::Count{*row->block_number};
        record.treasury_micro = row->treasury;
        record.covered = covered(*row);
        record.hash = hash_text(row->hash);
        record.previous_hash = hash_text(row->previous_hash);
        record.signature = to_base64(row->signature);
        record.public_key = to_base64(row->public_key.value_or(Bytes(key_.public_key().view())));
        all.items.push_back(std::move(record));
    }
    return all;
}

Proof Liabilities::proof(api::Call& call, const ProofQuery& query) const {
    const ledger::Asset asset = query.asset.value_or(ledger::Asset::usdc);
    const AccountId account = call.caller.account;
    const auto row = find_newest(call.tx(), asset);
    const auto index =
        row ? find_leaf(call.tx(), asset, order_of(row->salt_key, account)) : std::nullopt;
    if (!index)
        throw Problem(Code::not_found,
                      "the newest record has no leaf for this account: nothing "
                      "was owed to it when it was made");
    Proof proof;
    proof.asset = asset;
    proof.as_of = row->as_of;
    proof.root = hash_text(row->root);
    proof.total_micro = row->total;
    proof.account_id = account;
    proof.salt = to_hex(salt_of(row->salt_key, account));
    proof.balance_micro = read_node(call.tx(), asset, 0, *index).sum;
    for (const Place& place : neighbours(*index, static_cast<std::size_t>(row->leaves))) {
        const Node node = read_node(call.tx(), asset, place.level, place.index);
        proof.path.push_back({place.side, hash_text(node.hash), node.sum});
    }
    return proof;
}

bool is_uncovered(db::Transaction& tx) {
    return std::ranges::any_of(ledger::assets, [&](ledger::Asset asset) {
        const auto row = find_newest(tx, asset);
        return row && covered(*row) == false;
    });
}

void Liabilities::add_routes(api::Router& router) const {
    using api::Access;
    router.add({.method = "GET",
                .path = "/api/v1/proof-of-liabilities",
                .name = "show_liabilities",
                .group = "billing",
                .summary = "All that is owed and what the treasury has, proved anew every hour.",
                .access = Access::anyone,
                .cache = api::Cache::open},
               [this](api::Call& call) { return newest(call); });
    router.add({.method = "GET",
                .path = "/api/v1/billing/proof",
                .name = "show_own_proof",
                .group = "billing",
                .summary = "The account's own balance in the newest record, and the path that "
                           "proves it.",
                .errors = {{Code::not_found, "the newest record has nothing of this account"}}},
               [this](api::Call& call, const api::Query<ProofQuery>& query) {
                   return proof(call, *query);
               });
}

}  // namespace berth::liabilities
