// Signatures of wallets that are contracts (ERC-1271). No key is behind their address: only the
// contract can say whether a signature is its own, so the chain is asked.
#pragma once

#include "chain/chain.hpp"

namespace berth::chain {

// Room for a contract that checks passkeys without help of the chain, and an end for one that never
// makes up its mind.
inline constexpr std::int64_t judging_gas_max = 3'000'000;

struct ContractSignature {
    crypto::Address wallet;
    Bytes hash;  // 32 bytes, what was signed
    Bytes signature;
};
// Whether the contract at that address calls the signature its own; false where there is none.
// Throws a ProviderError when the chain cannot be asked, or its providers do not agree.
bool is_signed_by_contract(Chain& chain, const ContractSignature& signed_by);

}  // namespace berth::chain
