// The chain over JSON-RPC (HTTP or HTTPS), with one or more providers, which are asked at the same
// time. One that fails is passed over for a while, as long as enough others are left.
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
        // How many providers must say the same; 0 is more than half of them.
        std::size_t quorum = 0;
    };

    JsonRpcChain(http::Client& client, Options options);

    Sighting find_transfer(const Hash& transaction, std::int64_t log_index) override;
    std::int64_t finalized_block() override;
    std::vector<Transfer> transfers(const Range& range, const Wanted& wanted) override;
    std::vector<Outcome> outcomes(const std::vector<Hash>& transactions) override;
    Glimpse glimpse(const Hash& transaction) override;
    Standing standing(const crypto::Address& account,
                      const std::vector<crypto::Address>& tokens) override;
    Micro balance(const crypto::Address& account, const crypto::Address& token,
                  std::int64_t block) override;
    std::vector<Sent> send(const std::vector<Bytes>& signed_bytes) override;
    std::vector<Trial> try_calls(const std::vector<Call>& calls) override;
    std::int64_t decimals(const crypto::Address& token) override;
    std::optional<Original> original(const Hash& transaction) override;

private:
    template <class Value>
    struct Said {
        const Provider* provider = nullptr;
        Value value;
    };
    // What those say that answer; throws when they are too few.
    template <class Ask>
    auto ask_all(Ask ask);
    template <class Ask>
    auto ask_all(Ask ask, std::size_t answers_least);
    std::vector<Provider*> choose();
    // The highest number that a quorum of them reaches: one alone cannot raise it.
    template <class Value, class Number>
    auto reached(const std::vector<Said<Value>>& said, Number number) const;

    Outcome outcome_of(const std::vector<Said<Outcome>>& said, const std::string& name) const;
    Trial trial_of(const std::vector<Said<std::vector<Trial>>>& said, std::size_t place) const;

    std::deque<Provider> providers_;
    std::size_t quorum_;
};

}  // namespace berth::chain
