#include "server/contract_wallets.hpp"

#include "base/log.hpp"
#include "base/problem.hpp"
#include "chain/erc1271.hpp"

namespace berth::server {

bool ContractsOnChain::vouches(const Question& question) const {
    const auto slot = slots_.take(question.account);
    if (!slot)
        throw Problem(Code::unavailable, "many wallets are being looked up; try again later");
    try {
        return chain::is_signed_by_contract(chain_,
                                            {question.wallet, question.hash, question.signature});
    } catch (const chain::ProviderError& error) {
        log(Level::warn, "chain_provider_failed", {{"why", error.what()}});
        throw Problem(Code::unavailable,
                      "the chain cannot be asked about this wallet now; nothing was changed; try "
                      "again later");
    }
}

}  // namespace berth::server
