// Transactions of type 2 (EIP-1559), built and signed here. No key ever leaves this process.
#pragma once

#include "chain/chain.hpp"
#include "crypto/secp256k1.hpp"

namespace berth::chain {

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

struct Payment {
    crypto::Address to;
    Micro amount;
};
// The call data of transfer(address,uint256).
Bytes erc20_transfer(const Payment& payment);

}  // namespace berth::chain
