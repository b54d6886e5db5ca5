// One JSON-RPC provider and what it alone says. Whatever goes wrong is a ProviderError in one
// sentence that names the host; the rest of the address may hold a key and is never told.
#pragma once

#include <atomic>
#include <type_traits>

#include "chain/answer.hpp"
#include "chain/chain.hpp"
#include "http/client.hpp"

namespace berth::chain {

// Host and port of an address, without what may be secret: "base.example.com".
std::string host_of(std::string_view url);

class Provider {
public:
    struct Options {
        std::string url;
        std::int64_t chain_id = 0;
        std::int64_t confirmations = 0;  // as JsonRpcChain has it
    };

    Provider(http::Client& client, Options options);

    const std::string& host() const { return host_; }

    // Throws unless the provider is on the chain it should be on; asks until it was, once.
    void require_chain();
    // The highest block that is final: finalized, and with the wanted confirmations.
    std::int64_t final_block();
    Sighting find_transfer(const Hash& transaction, std::int64_t log_index);
    std::vector<Transfer> transfers(const Chain::Range& range, const Chain::Wanted& wanted);
    Outcome outcome(const Hash& transaction);
    std::int64_t final_nonce(const crypto::Address& account);
    std::int64_t latest_nonce(const crypto::Address& account);
    Fees fees();
    void send(std::string_view signed_bytes);

private:
    // A receipt whose block is part of the chain.
    struct Placed {
        Receipt receipt;
        Time block_time;
        bool is_final = false;
    };
    // `head` is what final_block() gave, where the caller has it.
    std::optional<Placed> place(const Hash& transaction, std::optional<std::int64_t> head = {});
    std::optional<Receipt> receipt(const Hash& transaction);
    std::optional<Block> block(std::int64_t number);
    Block tagged_block(std::string_view tag);
    std::vector<Log> logs(const Chain::Range& range, const Chain::Wanted& wanted);
    std::int64_t nonce(const crypto::Address& account, std::string_view block);

    // Sends one request and gives the body of the answer to `read`.
    template <class Read>
    std::invoke_result_t<Read, std::string_view, std::int64_t> ask(std::string_view method,
                                                                   const std::string& params,
                                                                   Read read);
    std::string post(std::string body);
    [[noreturn]] void complain(std::string_view what) const;

    http::Client& client_;
    Options options_;
    std::string host_;
    std::atomic<std::int64_t> next_id_ = 1;
    std::atomic<bool> on_chain_ = false;
};

}  // namespace berth::chain
