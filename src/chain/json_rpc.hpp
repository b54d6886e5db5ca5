// The chain over JSON-RPC (HTTP or HTTPS), with one or more providers.
#pragma once

#include <deque>

#include "chain/chain.hpp"
#include "chain/provider.hpp"
#include "http/client.hpp"

namespace berth::chain {

class JsonRpcChain final : public Chain {
public:
    struct Options {
        std::vector<std::string> urls;
        std::int64_t chain_id = 0;
        // Blocks that must lie on top besides being finalized; 0 trusts finality alone.
        std::int64_t confirmations = 0;
    };

    JsonRpcChain(http::Client& client, Options options);

    Sighting find_transfer(const Hash& transaction, std::int64_t log_index) override;
    std::int64_t finalized_block() override;
    std::vector<Transfer> transfers(const Range& range, const Wanted& wanted) override;
    Outcome outcome(const Hash& transaction) override;
    std::int64_t finalized_nonce(const crypto::Address& account) override;
    std::int64_t latest_nonce(const crypto::Address& account) override;
    Fees fees() override;
    void send(std::string_view signed_bytes) override;

private:
    std::deque<Provider> providers_;
};

}  // namespace berth::chain
