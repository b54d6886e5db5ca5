#include "liabilities/liabilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "crypto/hash.hpp"
#include "funding/suspense.hpp"
#include "liabilities/settings.hpp"
#include "liabilities/statement_hash.hpp"
#include "liabilities/told.hpp"
#include "treasury/holdings.hpp"

namespace berth::liabilities {
namespace {

constexpr Duration look_every = std::chrono::minutes(1);
constexpr std::int64_t marks_max = 1000;  // of each asset: six weeks of hours
constexpr AccountId suspense{};           // the leaf of what nobody has claimed

// Whether the treasury had less on the chain than was owed; unknown where nobody saw the chain.
bool is_uncovered(const RecordRow& record) {
    return record.treasury && *record.treasury < record.total;
}

// Salts and order are fresh with every record, and can be found again for one account at a time.
Bytes derive(const Bytes& salt_key, std::string_view what, AccountId account, std::size_t part) {
    return crypto::hmac_sha256(
        salt_key, Bytes(what) + static_cast<char>('0' + part) + Bytes(account.uuid.view()));
}
Bytes salt_of(const Bytes& salt_key, AccountId account, std::size_t part) {
    return derive(salt_key, "salt", account, part);
}
Bytes order_of(const Bytes& salt_key, AccountId account, std::size_t part) {
    return derive(salt_key, "order", account, part);
}

// A balance in parts that are cut anew, at random, in every record: whoever has a leaf beside one
// of them learns the part and not the balance.
std::array<Micro, leaf_parts> split(const Bytes& salt_key, AccountId account, Micro balance) {
    std::array<Micro, leaf_parts> parts{};
    if (balance <= Micro{}) {
        parts[0] = balance;
        return parts;
    }
    std::array<Micro, leaf_parts + 1> cuts{};
    cuts.back() = balance;
    for (std::size_t i = 1; i < leaf_parts; ++i) {
        const Bytes drawn = derive(salt_key, "split", account, i);
        // Thirty-one random bits of a share, and of it no more than there is.
        constexpr std::int64_t whole = std::int64_t{1} << 31;
        const auto share = static_cast<std::int64_t>(load_big_endian(drawn.data()) >> 33);
        cuts[i] = scale_floor(balance, {share, whole});
    }
    std::ranges::sort(cuts);
    for (std::size_t i = 0; i < leaf_parts; ++i) parts[i] = cuts[i + 1] - cuts[i];
    return parts;
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
            if (is_uncovered(one.record) && !(newest && is_uncovered(*newest)))
                events::tell_operators(
                    {tx, parts.random, parts.clock.now()}, operations_books_unsound,
                    fmt::format("{}/{}", ledger::name(one.record.asset), one.record.number),
                    UncoveredFacts{one.record.asset, one.record.total, *one.record.treasury});
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
    audit::Head audited;
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
        audited = audit::head(tx);
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
        books.audited = audited;
        for (const auto& [account, balance] : balances[asset]) {
            const auto shares = split(books.salt_key, account, balance);
            for (std::size_t i = 0; i < leaf_parts; ++i)
                books.leaves.push_back({account, salt_of(books.salt_key, account, i), shares[i]});
        }
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
    for (std::size_t i = 0; i < books.leaves.size(); ++i)
        placed.emplace_back(order_of(books.salt_key, books.leaves[i].account, i % leaf_parts),
                            node_of(books.leaves[i]));
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
    record.audit_events = books.audited.sequence;
    record.audit_head = std::move(books.audited.hash);
    return made;
}

void Liabilities::sign(RecordRow& record, const std::optional<RecordRow>& before) const {
    record.number = before ? before->number + 1 : 1;
    record.previous_hash = before ? before->hash : Bytes(hash_bytes, '\0');
    record.hash = hash_of(record);
    record.signature = key_.sign(record.hash);
    record.public_key = Bytes(key_.public_key().view());
}

namespace {

wire::Sha256Hash hash_text(const Bytes& hash) { return {"sha256:" + to_hex(hash)}; }

std::optional<bool> covered(const RecordRow& row) {
    return row.treasury ? std::optional(*row.treasury >= row.total) : std::nullopt;
}

}  // namespace

PublishedRecord Liabilities::shown(const RecordRow& row) const {
    PublishedRecord record;
    record.asset = row.asset;
    record.number = {row.number};
    record.root = hash_text(row.root);
    record.total_micro = row.total;
    record.count = {row.leaves};
    record.as_of = row.as_of;
    if (row.block_number) record.block_number = wire::Count{*row.block_number};
    record.treasury_micro = row.treasury;
    record.covered = covered(row);
    if (row.audit_events) record.audit_events = wire::Count{*row.audit_events};
    if (row.audit_head) record.audit_head = hash_text(*row.audit_head);
    record.hash = hash_text(row.hash);
    record.previous_hash = hash_text(row.previous_hash);
    record.signature = to_base64(row.signature);
    record.public_key = to_base64(row.public_key.value_or(Bytes(key_.public_key().view())));
    if (row.posted_tx) record.posted_tx = wire::TransactionHash{*row.posted_tx};
    return record;
}

PublishedRecords Liabilities::newest(api::Call& call) const {
    PublishedRecords all;
    for (const ledger::Asset asset : ledger::assets)
        if (const auto row = find_newest(call.tx(), asset)) all.items.push_back(shown(*row));
    return all;
}

api::Page<PublishedRecord> Liabilities::records(api::Call& call, const RecordsQuery& query) const {
    const ledger::Asset asset = query.asset.value_or(ledger::Asset::usdc);
    const api::Pager pager(call.cursors,
                           {"records of liabilities", std::string(ledger::name(asset))}, query);
    std::optional<std::int64_t> before;
    if (pager.after()) before = parse_decimal(*pager.after());
    return pager.page(
        list_records(call.tx(), asset, before, pager.rows_wanted()),
        [](const RecordRow& row) { return std::to_string(row.number); },
        [this](const RecordRow& row) { return shown(row); });
}

namespace {

// Where the parts of an account's balance stand in the newest tree; none when it has no leaf.
std::vector<std::size_t> find_parts(db::Transaction& tx, const RecordRow& row, AccountId account) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < leaf_parts; ++i)
        if (const auto index = find_leaf(tx, row.asset, order_of(row.salt_key, account, i)))
            places.push_back(*index);
    return places;
}

RecordRow require_record(db::Transaction& tx, ledger::Asset asset) {
    auto row = find_newest(tx, asset);
    // Of one from before balances were cut nobody's leaves can be found again.
    if (!row || !row->audit_head) throw Problem(Code::not_found, "no record was made yet");
    return std::move(*row);
}

}  // namespace

Proof Liabilities::proof(api::Call& call, const ProofQuery& query) const {
    const ledger::Asset asset = query.asset.value_or(ledger::Asset::usdc);
    const AccountId account = call.caller.account;
    const RecordRow row = require_record(call.tx(), asset);
    const auto places = find_parts(call.tx(), row, account);
    if (places.empty())
        throw Problem(Code::not_found,
                      "the newest record has no leaf for this account: nothing was owed to it when "
                      "it was made; /api/v1/billing/proof/absence states that");
    Proof proof;
    proof.asset = asset;
    proof.as_of = row.as_of;
    proof.root = hash_text(row.root);
    proof.total_micro = row.total;
    proof.account_id = account;
    for (std::size_t i = 0; i < places.size(); ++i) {
        ProvedPart part;
        part.salt = to_hex(salt_of(row.salt_key, account, i));
        part.amount_micro = read_node(call.tx(), asset, 0, places[i]).sum;
        for (const Place& place : neighbours(places[i], static_cast<std::size_t>(row.leaves))) {
            const Node node = read_node(call.tx(), asset, place.level, place.index);
            part.path.push_back({place.side, hash_text(node.hash), node.sum});
        }
        proof.balance_micro += part.amount_micro;
        proof.parts.push_back(std::move(part));
    }
    return proof;
}

Absence Liabilities::absence(api::Call& call, const ProofQuery& query) const {
    const ledger::Asset asset = query.asset.value_or(ledger::Asset::usdc);
    const RecordRow row = require_record(call.tx(), asset);
    if (!find_parts(call.tx(), row, call.caller.account).empty())
        throw Problem(Code::conflict, "the newest record has leaves for this account");
    Absence absence;
    absence.asset = asset;
    absence.account_id = call.caller.account;
    absence.number = {row.number};
    absence.as_of = row.as_of;
    absence.record_hash = hash_text(row.hash);
    const Bytes hash = absence_hash(asset, call.caller.account, row.number, row.hash);
    absence.hash = hash_text(hash);
    absence.signature = to_base64(key_.sign(hash));
    absence.public_key = to_base64(key_.public_key().view());
    return absence;
}

namespace {

std::string title(const RecordRow& row) {
    return "record " + std::to_string(row.number) + " of what is owed in " +
           std::string(ledger::name(row.asset));
}

// What is wrong with a record, before the newer one that follows it; empty when nothing is.
std::string fault_of(const RecordRow& row, const RecordRow* newer) {
    if (hash_of(row) != row.hash) return "its hash is another";
    if (newer != nullptr && newer->number != row.number + 1) return "the one after it is missing";
    if (newer != nullptr && newer->previous_hash != row.hash)
        return "the one after it does not follow it";
    if (!row.public_key) return row.audit_events ? "it names no key" : "";
    const auto key = crypto::Ed25519PublicKey::from_bytes(*row.public_key);
    return key && key->verify(row.hash, row.signature) ? "" : "its signature is not by its key";
}

}  // namespace

AuditMarks audit_marks(db::Transaction& tx) {
    AuditMarks found;
    for (const ledger::Asset asset : ledger::assets) {
        const auto rows = list_records(tx, asset, std::nullopt, marks_max);
        const RecordRow* newer = nullptr;
        for (const RecordRow& row : rows) {
            const std::string fault = fault_of(row, newer);
            if (!fault.empty())
                found.faults.push_back(title(row) + ": " + fault);
            else if (row.audit_events && row.audit_head)
                found.marks.push_back({{*row.audit_events, *row.audit_head}, title(row)});
            if (newer == nullptr && row.public_key)
                found.newest.push_back(title(row) + ", hash " + to_hex(row.hash) + ", key " +
                                       to_base64(*row.public_key));
            newer = &row;
        }
    }
    return found;
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
    router.add(
        {.method = "GET",
         .path = "/api/v1/proof-of-liabilities/records",
         .name = "list_liabilities",
         .group = "billing",
         .summary = "Every record of all that is owed, newest first, each chained to the one "
                    "before it.",
         .access = Access::anyone,
         .cache = api::Cache::open},
        [this](api::Call& call, const api::Query<RecordsQuery>& query) {
            return records(call, *query);
        });
    router.add({.method = "GET",
                .path = "/api/v1/billing/proof/absence",
                .name = "show_own_absence",
                .group = "billing",
                .summary = "A signed statement that the newest record has nothing of this account.",
                .errors = {{Code::not_found, "no record was made yet"},
                           {Code::conflict, "the newest record has leaves for this account"}}},
               [this](api::Call& call, const api::Query<ProofQuery>& query) {
                   return absence(call, *query);
               });
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
