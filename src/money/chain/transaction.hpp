// Transactions of type 2 (EIP-1559), built and signed here. No key ever leaves this process.
#pragma once

#include "chain/chain.hpp"
#include "crypto/secp256k1.hpp"

namespace berth::chain {

constexpr std::size_t word_bytes = 32;  // of the ABI, and of r and s

struct Transaction {
    std::int64_t chain_id = 0;
    std::int64_t nonce = 0;
    std::int64_t priority_fee = 0;  // wei per gas
    std::int64_t fee_max = 0;       // wei per gas, tip included
    std::int64_t gas_max = 0;
    crypto::Address to;
    Bytes data;  // no ether is ever sent along
};

struct Signed {
    Bytes bytes;  // what eth_sendRawTransaction takes
    Hash hash;
};

Signed sign(const Transaction& transaction, const crypto::SigningKey& key);

// The transaction and its signature put together again: empty unless they have this hash and a
// sender.
struct SignatureParts {
    Bytes r;  // 32 bytes each
    Bytes s;
    bool is_odd = false;
};
std::optional<Original> rebuild(const Transaction& transaction, const SignatureParts& signature,
                                const Hash& hash);

// The transaction in signed bytes; empty unless they are what sign() makes, for this chain.
std::optional<Original> parse_signed(std::string_view bytes, std::int64_t chain_id);

struct Payment {
    crypto::Address to;
    Micro amount;
};
// The call data of transfer(address,uint256). A reference of 16 bytes may follow the arguments;
// tokens do not look at it, and it tells for ever what the payment was for.
Bytes erc20_transfer(const Payment& payment, std::string_view reference = {});

inline constexpr std::size_t reference_bytes = 16;
struct PaymentCall {
    Payment payment;
    std::optional<Bytes> reference;
};
// The payment in such call data; empty if it is anything else.
std::optional<PaymentCall> payment_in(std::string_view data);

}  // namespace berth::chain
