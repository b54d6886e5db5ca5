// Going through many things with a chain that may fail: one that providers disagree about must not
// keep the others waiting, and a provider that is down must not be asked about each of them.
#pragma once

#include "base/log.hpp"
#include "chain/chain.hpp"

namespace berth::money {

class Patience {
public:
    static constexpr int failures_max = 3;

    template <class Function>
    void run(Function&& function) {
        try {
            function();
        } catch (const chain::ProviderError& error) {
            log(Level::warn, "chain_provider_failed", {{"why", error.what()}});
            if (++failures_ >= failures_max) throw;
        }
    }

private:
    int failures_ = 0;
};

}  // namespace berth::money
