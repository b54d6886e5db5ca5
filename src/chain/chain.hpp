// The chain as the rest of the program sees it: token transfers that happened, and transactions to
// send. One or more JSON-RPC providers stand behind it. What decides about money is believed only
// when every provider says the same; a provider that fails, or two that disagree, are a
// ProviderError and nothing is decided. No answer is used of a provider that is on another chain.
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
    enum class Status { unseen, included, succeeded, reverted };  // the last two are finalized
    Status status = Status::unseen;
    std::vector<Transfer> transfers = {};  // with `succeeded`: the receipt's ERC-20 transfers

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Fees {                   // wei per gas
    std::int64_t base = 0;      // of the latest block
    std::int64_t priority = 0;  // what the provider suggests as a tip
};

class Chain {
public:
    virtual ~Chain() = default;

    // The log with this block-wide index in the receipt of `transaction`.
    virtual Sighting find_transfer(const Hash& transaction, std::int64_t log_index) = 0;
    // The highest block that every provider calls finalized.
    virtual std::int64_t finalized_block() = 0;

    struct Range {
        std::int64_t first = 0;
        std::int64_t last = 0;  // inclusive, at most the finalized block
    };
    struct Wanted {
        std::vector<crypto::Address> tokens;
        crypto::Address to;
    };
    // The transfers in finalized blocks, oldest first.
    virtual std::vector<Transfer> transfers(const Range& range, const Wanted& wanted) = 0;

    virtual Outcome outcome(const Hash& transaction) = 0;
    // How many transactions of the account are in finalized blocks, and in the latest block: the
    // nonces below are used up. The pending pool is not asked.
    virtual std::int64_t finalized_nonce(const crypto::Address& account) = 0;
    virtual std::int64_t latest_nonce(const crypto::Address& account) = 0;
    virtual Fees fees() = 0;
    // Hands a signed transaction to every provider; one that takes it is enough. One that is known,
    // or whose nonce is used up, counts as handed over: what became of it shows in outcome().
    virtual void send(std::string_view signed_bytes) = 0;
};

}  // namespace berth::chain
