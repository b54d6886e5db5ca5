// Wallets that are contracts. Whether a signature is theirs only the chain can tell, which this
// wing does not know: whoever does answers here.
#pragma once

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "crypto/evm.hpp"

namespace berth::wallets {

class ContractWallets {
public:
    virtual ~ContractWallets() = default;

    struct Question {
        AccountId account;  // whose request it is
        crypto::Address wallet;
        Bytes hash;  // what was signed
        Bytes signature;
    };
    // Whether the contract at that address calls the signature its own (ERC-1271). It asks the
    // chain: never inside a transaction. Throws a Problem UNAVAILABLE when the chain does not tell.
    virtual bool vouches(const Question& question) const = 0;
};

}  // namespace berth::wallets
