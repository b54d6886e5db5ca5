// What JSON-RPC providers answer, read strictly: a body is exactly what the specification of
// Ethereum's JSON-RPC says, or it is a BadAnswer. Nothing here knows how the body came.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "chain/chain.hpp"

namespace berth::chain {

inline constexpr std::size_t answer_depth_max = 16;
inline constexpr std::size_t answer_logs_max = 100'000;

// The body is not what was asked for. The text completes "it answered with ...".
class BadAnswer : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The provider understood and says no. The text is the provider's own, cut and made printable.
class Refusal : public std::runtime_error {
public:
    Refusal(const std::string& text, std::int64_t code) : std::runtime_error(text), code_(code) {}

    // Whether it is the contract that says no, and not the provider.
    bool is_revert() const;

private:
    std::int64_t code_;
};

struct Block {
    std::int64_t number = 0;
    Hash hash;
    Time time;
    std::optional<std::int64_t> base_fee;  // wei per gas; chains before EIP-1559 have none

    friend bool operator==(const Block&, const Block&) = default;
};

struct Log {
    crypto::Address address;
    std::vector<Hash> topics;  // at most four
    Bytes data;
    Hash transaction;
    Hash block_hash;
    std::int64_t block = 0;
    std::int64_t index = 0;  // in the block
    bool removed = false;    // by a reorganisation

    friend bool operator==(const Log&, const Log&) = default;
};

// Its logs name the same transaction and block as it does, and their indexes ascend.
struct Receipt {
    Hash transaction;
    Hash block_hash;
    std::int64_t block = 0;
    bool succeeded = false;
    std::vector<Log> logs;

    friend bool operator==(const Receipt&, const Receipt&) = default;
};

// The result in an answer to the request with this id. Throws BadAnswer or Refusal; null is empty,
// where it may be null, and so is the receipt of a transaction that is still pending.
std::int64_t read_quantity(std::string_view body, std::int64_t id);
Hash read_hash(std::string_view body, std::int64_t id);
std::optional<Block> read_block(std::string_view body, std::int64_t id);
std::optional<Receipt> read_receipt(std::string_view body, std::int64_t id);
std::vector<Log> read_logs(std::string_view body, std::int64_t id);
// A quantity or a 32-byte word that may be larger than we can count: 2^63 - 1 then.
std::int64_t read_balance(std::string_view body, std::int64_t id);
std::int64_t read_word(std::string_view body, std::int64_t id);
// A word, or 0 where no contract is that could hold anything.
std::int64_t read_holding(std::string_view body, std::int64_t id);
// What a call that was tried came to: its result, that it reverts, or that nobody will try it.
Trial read_trial(std::string_view body, std::int64_t id);
// Empty for a transaction that is unknown, or of another kind than EIP-1559 without ether.
std::optional<Original> read_original(std::string_view body, std::int64_t id);

// The answers to a batch of `count` requests with the ids from `first` on, in that order, each as a
// body of its own. An answer that is missing, or there twice, is a BadAnswer; one error in the
// place of them all a Refusal.
std::vector<std::string> split_batch(std::string_view body, std::int64_t first, std::size_t count);

// A quantity is 0x and hex digits without leading zeros, lower case, at most 2^63 - 1.
std::optional<std::int64_t> parse_quantity(std::string_view text);
std::string to_quantity(std::int64_t number);

// The log as an ERC-20 Transfer; empty if it is none: the event's own topic, two topics that are
// addresses, 32 bytes of data. `ordinal` and `block_time` are the caller's to fill in.
std::optional<Transfer> transfer_in(const Log& log);
const Hash& transfer_topic();
Hash topic_of(const crypto::Address& address);

}  // namespace berth::chain
