// The chain as the rest of the program sees it: token transfers that happened, and transactions to
// send. One or more JSON-RPC providers stand behind it. What decides about money is believed only
// when enough of them say so and none says otherwise; too few that answer, or two that disagree,
// are a ProviderError and nothing is decided. No answer is used of a provider that is on another
// chain.
//
// Blocking network calls: never inside a database transaction, never on the I/O thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/money.hpp"
#include "base/time.hpp"
#include "crypto/evm.hpp"

namespace berth::chain {

// A provider cannot be reached, answers nonsense, or contradicts another one.
class ProviderError : public std::exception {
public:
    explicit ProviderError(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

private:
    std::string message_;
};

struct Hash {  // of a transaction or a block
    std::array<char, 32> bytes{};

    friend auto operator<=>(const Hash&, const Hash&) = default;
    std::string_view view() const { return {bytes.data(), bytes.size()}; }
};
std::optional<Hash> parse_hash(std::string_view text);  // 0x and 64 hex digits, either case
std::string to_string(const Hash& hash);                // lower case, with 0x
std::string column_text(const Hash& hash);              // as it is in a column of the database
bool read_column(std::string_view text, Hash& hash);

// One ERC-20 Transfer event with exactly three topics and 32 bytes of data.
struct Transfer {
    crypto::Address token;
    crypto::Address from;
    crypto::Address to;
    std::optional<Micro> amount;  // empty when it is more than 2^63 - 1
    Hash transaction;
    std::int64_t ordinal = 0;    // of the log among the logs of its receipt; stays through a reorg
    std::int64_t log_index = 0;  // of the log in its block; changes with a reorg
    std::int64_t block = 0;
    Time block_time;

    friend bool operator==(const Transfer&, const Transfer&) = default;
};

// What the providers say of one log of one transaction.
struct Sighting {
    enum class Status {
        unseen,       // no receipt, or its block is not canonical or above the finalized head
        failed,       // finalized: the transaction was reverted
        no_transfer,  // finalized: there is no such log, or it is no ERC-20 Transfer
        final,        // finalized: `transfer` is there
    };
    Status status = Status::unseen;
    std::optional<Transfer> transfer = {};  // with `final`

    friend bool operator==(const Sighting&, const Sighting&) = default;
};

// What became of a transaction that we sent.
struct Outcome {
    enum class Status {
        unseen,
        included,
        succeeded,  // this and the next are finalized
        reverted,
        disputed,  // two providers contradict each other about it
    };
    Status status = Status::unseen;
    std::vector<Transfer> transfers = {};  // with `succeeded`: the receipt's ERC-20 transfers

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

// What the providers show of a transaction, final or not: for people to look at. Nothing about
// money is decided by it.
struct Glimpse {
    enum class Status { unseen, included, reverted };
    struct Seen {
        Status status = Status::unseen;
        std::int64_t block = 0;                // unless it is unseen
        std::vector<Transfer> transfers = {};  // with `included`: the receipt's ERC-20 transfers

        friend bool operator==(const Seen&, const Seen&) = default;
    };
    Seen seen = {};
    std::int64_t latest_block = 0;
    std::int64_t final_block = 0;

    bool is_final() const { return seen.status != Status::unseen && seen.block <= final_block; }
};

struct Fees {                   // wei per gas
    std::int64_t base = 0;      // of the latest block
    std::int64_t priority = 0;  // what the provider suggests as a tip
};

// How an account that sends stands on the chain. Nonces are counts of its transactions: those below
// are used up. What is too large for 63 bits is 2^63 - 1.
struct Standing {
    std::int64_t finalized_block = 0;
    std::int64_t finalized_nonce = 0;
    std::int64_t latest_nonce = 0;
    // The highest that any provider names, with what it has not mined yet: the only number here
    // that one provider alone can raise, because it only ever stops us.
    std::int64_t pending_nonce = 0;
    std::int64_t gas = 0;         // wei, in the latest block
    std::vector<Micro> balances;  // of the tokens asked for, in the latest block
    Fees fees;
};

// What became of handing one signed transaction over.
struct Sent {
    enum class Status {
        taken,        // by one provider at least; known ones and used-up nonces count as taken
        underpriced,  // by none, and its fees are the reason
        refused,      // by none
    };
    Status status = Status::refused;
    std::string why = {};  // unless it was taken
};

// A transaction as its sender signed it: what a provider shows is believed only when it gives these
// bytes, because their hash is its name and the signature in them its sender.
struct Original {
    Hash hash;
    crypto::Address from;
    std::int64_t nonce = 0;
    crypto::Address to;
    Bytes data;
    std::int64_t fee_max = 0;
    std::int64_t priority_fee = 0;
    Bytes bytes;

    friend bool operator==(const Original&, const Original&) = default;
};

// A call of a contract that is tried and never sent.
struct Call {
    crypto::Address to;
    Bytes data;
    std::int64_t gas_max = 0;
    std::optional<crypto::Address> from = {};  // none: nobody in particular
};
// What it would do now, at the end of the latest block.
struct Trial {
    enum class Status {
        succeeds,
        reverts,
        disputed,  // no quorum says the same, or would say anything
    };
    Status status = Status::disputed;
    Bytes result = {};  // with `succeeds`; nothing where there is no contract

    friend bool operator==(const Trial&, const Trial&) = default;
};

class Chain {
public:
    virtual ~Chain() = default;

    // The log with this block-wide index in the receipt of `transaction`.
    virtual Sighting find_transfer(const Hash& transaction, std::int64_t log_index) = 0;
    // The highest block that enough providers call finalized.
    virtual std::int64_t finalized_block() = 0;

    struct Range {
        std::int64_t first = 0;
        std::int64_t last = 0;  // inclusive, at most the finalized block
    };
    struct Wanted {
        std::vector<crypto::Address> tokens;
        std::optional<crypto::Address> to;         // none: to anybody
        std::optional<crypto::Address> from = {};  // none: from anybody
    };
    // The transfers in finalized blocks, oldest first.
    virtual std::vector<Transfer> transfers(const Range& range, const Wanted& wanted) = 0;

    // What became of each of them, in their order.
    virtual std::vector<Outcome> outcomes(const std::vector<Hash>& transactions) = 0;
    // Throws when it is disputed.
    Outcome outcome(const Hash& transaction);

    // What enough of the providers show of it; unseen while they do not say the same.
    virtual Glimpse glimpse(const Hash& transaction) = 0;

    virtual Standing standing(const crypto::Address& account,
                              const std::vector<crypto::Address>& tokens) = 0;
    // What the account has of the token at the end of this block, which is final.
    virtual Micro balance(const crypto::Address& account, const crypto::Address& token,
                          std::int64_t block) = 0;
    // Hands signed transactions to every provider; one that takes it is enough. What became of each
    // stands at its place; nothing is thrown.
    virtual std::vector<Sent> send(const std::vector<Bytes>& signed_bytes) = 0;

    // What each of them would do, in their order. It changes nothing, and costs nobody gas.
    virtual std::vector<Trial> try_calls(const std::vector<Call>& calls) = 0;

    // How many decimals the token has; 255 at most.
    virtual std::int64_t decimals(const crypto::Address& token) = 0;
    // Empty when no provider has it, or it is of another kind than our own (EIP-1559, no ether).
    virtual std::optional<Original> original(const Hash& transaction) = 0;
};

}  // namespace berth::chain
