#include "simulated/simulated_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "chain/transaction.hpp"
#include "crypto/keccak.hpp"
#include "db/migrate.hpp"

namespace berth::simulated {

BOOST_DESCRIBE_STRUCT(TransactionRow, (),
                      (number, block, log_index, hash, signed_hex, sender, nonce, token, recipient,
                       amount, succeeded))

namespace {

constexpr std::int64_t decimals_of_all = 6;
constexpr std::int64_t first_block = 1000;  // a chain is older than what is built on it
constexpr std::int64_t gas_wei = 1'000'000'000'000'000'000;  // never used up
constexpr chain::Fees fees{10'000'000, 1'000'000};

const db::Migration migration_list[] = {
    {"simulated_chain", 1, R"(
        CREATE TABLE simulated_genesis (
            only @int PRIMARY KEY CHECK (only = 1),
            began_at @int NOT NULL
        ) @strict;
        CREATE TABLE simulated_transactions (
            number @int PRIMARY KEY,
            block @int NOT NULL,
            log_index @int NOT NULL,
            hash @text NOT NULL UNIQUE,
            signed_hex @text NOT NULL,
            sender @text NOT NULL,
            nonce @int NOT NULL,
            token @text NOT NULL,
            recipient @text NOT NULL,
            amount @int NOT NULL CHECK (amount >= 0),
            succeeded @int NOT NULL
        ) @strict;
    )"},
};

constexpr std::string_view add_genesis_sql =
    "INSERT INTO simulated_genesis (only, began_at) VALUES (1, $1) ON CONFLICT DO NOTHING";
constexpr std::string_view find_genesis_sql = "SELECT began_at FROM simulated_genesis";
const db::Query<TransactionRow> list_transactions_sql(
    "SELECT {} FROM simulated_transactions ORDER BY number");
const db::Query<TransactionRow> add_transaction_sql(
    "INSERT INTO simulated_transactions ({}) VALUES ({$})");

}  // namespace

crypto::Address faucet_address() {
    crypto::Address faucet;
    faucet.bytes.fill(static_cast<char>(0xFA));
    return faucet;
}

SimulatedChain::SimulatedChain(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {
    db::Options how;
    how.read_only = options_.read_only;
    database_ = db::open("sqlite:" + options_.file, how);
    if (!options_.read_only) {
        db::migrate(*database_, migration_list);
        database_->write([&](db::Transaction& tx) {
            tx.run(add_genesis_sql, clock_.now() - first_block * block_lasts);
        });
    }
    database_->read([&](db::Transaction& tx) {
        genesis_ = tx.fetch_value<Time>(find_genesis_sql).value_or(clock_.now());
        rows_ = tx.fetch(list_transactions_sql);
    });
}

// A clock that went back does not take blocks away.
std::int64_t SimulatedChain::block_now() const {
    const std::int64_t by_time = (clock_.now() - genesis_) / block_lasts;
    return std::max(by_time, rows_.empty() ? 0 : rows_.back().block);
}

const TransactionRow* SimulatedChain::find(const chain::Hash& hash) const {
    const auto found = std::ranges::find(rows_, hash, &TransactionRow::hash);
    return found == rows_.end() ? nullptr : &*found;
}

bool SimulatedChain::is_token(const crypto::Address& address) const {
    return std::ranges::find(options_.tokens, address) != options_.tokens.end();
}

// At the end of this block.
Micro SimulatedChain::holding(const crypto::Address& account, const crypto::Address& token,
                              std::int64_t block) const {
    Micro sum;
    for (const TransactionRow& row : rows_) {
        if (row.block > block || !row.succeeded || row.token != token) continue;
        if (row.recipient == account) sum += row.amount;
        if (row.sender == account) sum = sum - row.amount;
    }
    return sum;
}

std::int64_t SimulatedChain::count_from(const crypto::Address& account, std::int64_t block) const {
    return std::ranges::count_if(rows_, [&](const TransactionRow& row) {
        return row.block <= block && row.nonce >= 0 && row.sender == account;
    });
}

chain::Transfer SimulatedChain::transfer_of(const TransactionRow& row) const {
    return {.token = row.token,
            .from = row.sender,
            .to = row.recipient,
            .amount = row.amount,
            .transaction = row.hash,
            .ordinal = 0,
            .log_index = row.log_index,
            .block = row.block,
            .block_time = genesis_ + row.block * block_lasts};
}

chain::Sighting SimulatedChain::find_transfer(const chain::Hash& transaction,
                                              std::int64_t log_index) {
    using enum chain::Sighting::Status;
    const std::lock_guard lock(mutex_);
    const TransactionRow* row = find(transaction);
    if (row == nullptr || row->block > finalized()) return {unseen};
    if (!row->succeeded) return {failed};
    if (row->log_index != log_index || !is_token(row->token)) return {no_transfer};
    return {final, transfer_of(*row)};
}

std::int64_t SimulatedChain::finalized_block() {
    const std::lock_guard lock(mutex_);
    return finalized();
}

std::vector<chain::Transfer> SimulatedChain::transfers(const Range& range, const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    std::vector<chain::Transfer> found;
    for (const TransactionRow& row : rows_)
        if (row.succeeded && row.block >= range.first && row.block <= range.last &&
            std::ranges::find(wanted.tokens, row.token) != wanted.tokens.end() &&
            (!wanted.to || *wanted.to == row.recipient) &&
            (!wanted.from || *wanted.from == row.sender))
            found.push_back(transfer_of(row));
    return found;
}

std::vector<chain::Outcome> SimulatedChain::outcomes(const std::vector<chain::Hash>& transactions) {
    using enum chain::Outcome::Status;
    const std::lock_guard lock(mutex_);
    std::vector<chain::Outcome> outcomes;
    for (const chain::Hash& hash : transactions) {
        const TransactionRow* row = find(hash);
        if (row == nullptr || row->block > latest())
            outcomes.push_back({unseen});
        else if (row->block > finalized())
            outcomes.push_back({included});
        else if (!row->succeeded)
            outcomes.push_back({reverted});
        else if (!is_token(row->token))
            outcomes.push_back({succeeded, {}});
        else
            outcomes.push_back({succeeded, {transfer_of(*row)}});
    }
    return outcomes;
}

chain::Glimpse SimulatedChain::glimpse(const chain::Hash& transaction) {
    using enum chain::Glimpse::Status;
    const std::lock_guard lock(mutex_);
    chain::Glimpse glimpse;
    glimpse.latest_block = latest();
    glimpse.final_block = finalized();
    const TransactionRow* row = find(transaction);
    if (row == nullptr || row->block > latest()) return glimpse;
    glimpse.seen.status = row->succeeded ? included : reverted;
    glimpse.seen.block = row->block;
    if (row->succeeded && is_token(row->token)) glimpse.seen.transfers = {transfer_of(*row)};
    return glimpse;
}

chain::Standing SimulatedChain::standing(const crypto::Address& account,
                                         const std::vector<crypto::Address>& tokens) {
    const std::lock_guard lock(mutex_);
    chain::Standing standing;
    standing.finalized_block = finalized();
    standing.finalized_nonce = count_from(account, finalized());
    standing.latest_nonce = count_from(account, latest());
    standing.pending_nonce = count_from(account, block_now());
    standing.gas = gas_wei;
    for (const crypto::Address& token : tokens)
        standing.balances.push_back(holding(account, token, latest()));
    standing.fees = fees;
    return standing;
}

Micro SimulatedChain::balance(const crypto::Address& account, const crypto::Address& token,
                              std::int64_t block) {
    const std::lock_guard lock(mutex_);
    return holding(account, token, block);
}

std::vector<chain::Sent> SimulatedChain::send(const std::vector<Bytes>& signed_bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<chain::Sent> sent;
    for (const Bytes& bytes : signed_bytes) {
        try {
            sent.push_back(take(bytes));
        } catch (const std::exception& error) {
            sent.push_back({chain::Sent::Status::refused, error.what()});
        }
    }
    return sent;
}

// A call of a token that moves nothing, or more than there is, is taken and reverted, as contracts
// do it. What is sent to anything else only carries its data.
chain::Sent SimulatedChain::take(const Bytes& signed_bytes) {
    using enum chain::Sent::Status;
    const auto original = chain::parse_signed(signed_bytes, options_.chain_id);
    if (!original) return {refused, "The simulated chain cannot read this transaction."};
    if (find(original->hash) != nullptr) return {taken};
    const std::int64_t next = count_from(original->from, block_now());
    if (original->nonce < next) return {taken};
    if (original->nonce > next)
        return {refused, fmt::format("The simulated chain waits for nonce {}.", next)};
    const auto call = chain::payment_in(original->data);
    TransactionRow row;
    row.hash = original->hash;
    row.signed_hex = to_hex(signed_bytes);
    row.sender = original->from;
    row.nonce = original->nonce;
    row.token = original->to;
    row.succeeded = !is_token(row.token) ||
                    (call && holding(row.sender, row.token, block_now()) >= call->payment.amount);
    if (call) {
        row.recipient = call->payment.to;
        row.amount = call->payment.amount;
    }
    add(std::move(row));
    return {taken};
}

const TransactionRow& SimulatedChain::add(TransactionRow row) {
    row.number = static_cast<std::int64_t>(rows_.size());
    row.block = block_now();
    row.log_index = std::ranges::count(rows_, row.block, &TransactionRow::block);
    database_->write([&](db::Transaction& tx) { tx.insert(add_transaction_sql, row); });
    return rows_.emplace_back(std::move(row));
}

// Its name follows from its place, which nothing else can have.
const TransactionRow& SimulatedChain::add_unsigned(const Movement& movement) {
    if (!is_token(movement.token)) throw std::invalid_argument("there is no such token");
    if (movement.amount <= Micro{}) throw std::invalid_argument("the amount must be above zero");
    TransactionRow row;
    const Bytes name =
        crypto::keccak256(fmt::format("simulated {} {}", genesis_.micros, rows_.size()));
    std::ranges::copy(name, row.hash.bytes.begin());
    row.sender = movement.from;
    row.token = movement.token;
    row.recipient = movement.to;
    row.amount = movement.amount;
    return add(std::move(row));
}

TransactionRow SimulatedChain::transfer_as(const Movement& movement) {
    const std::lock_guard lock(mutex_);
    if (holding(movement.from, movement.token, block_now()) < movement.amount)
        throw std::invalid_argument(crypto::checksummed(movement.from) + " has less than that");
    return add_unsigned(movement);
}

TransactionRow SimulatedChain::mint(const crypto::Address& token, const crypto::Address& to,
                                    Micro amount) {
    const std::lock_guard lock(mutex_);
    return add_unsigned({token, faucet_address(), to, amount});
}

// Of contracts there are only the tokens; a call of anything else does nothing, and succeeds.
std::vector<chain::Trial> SimulatedChain::try_calls(const std::vector<chain::Call>& calls) {
    using enum chain::Trial::Status;
    const std::lock_guard lock(mutex_);
    std::vector<chain::Trial> trials;
    for (const chain::Call& call : calls) {
        const auto wanted = chain::payment_in(call.data);
        if (!is_token(call.to))
            trials.push_back({succeeds, {}});
        else if (wanted && call.from &&
                 holding(*call.from, call.to, block_now()) >= wanted->payment.amount)
            trials.push_back({succeeds, Bytes(chain::word_bytes - 1, '\0') + '\x01'});
        else
            trials.push_back({reverts, {}});
    }
    return trials;
}

std::int64_t SimulatedChain::decimals(const crypto::Address& token) {
    return is_token(token) ? decimals_of_all : 0;
}

std::optional<chain::Original> SimulatedChain::original(const chain::Hash& transaction) {
    const std::lock_guard lock(mutex_);
    const TransactionRow* row = find(transaction);
    if (row == nullptr || row->signed_hex.empty()) return std::nullopt;
    return chain::parse_signed(from_hex(row->signed_hex).value_or(""), options_.chain_id);
}

}  // namespace berth::simulated
