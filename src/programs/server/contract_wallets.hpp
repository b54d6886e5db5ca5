// Asks the chain about wallets that are contracts, a few at a time.
#pragma once

#include "chain/chain.hpp"
#include "funding/slots.hpp"
#include "wallets/contract_wallets.hpp"

namespace berth::server {

class ContractsOnChain final : public wallets::ContractWallets {
public:
    explicit ContractsOnChain(chain::Chain& chain) : chain_(chain) {}

    bool vouches(const Question& question) const override;

private:
    chain::Chain& chain_;
    mutable funding::ClaimSlots slots_;
};

}  // namespace berth::server
