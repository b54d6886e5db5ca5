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
    std::vector<Outcome> outcomes(const std::vector<Hash>& transactions);
    Glimpse glimpse(const Hash& transaction);
    Standing standing(const crypto::Address& account, const std::vector<crypto::Address>& tokens);
    Micro balance(const crypto::Address& account, const crypto::Address& token, std::int64_t block);
    std::vector<Sent> send(const std::vector<Bytes>& signed_bytes);
    std::vector<Trial> try_calls(const std::vector<Call>& calls);
    std::int64_t decimals(const crypto::Address& token);
    std::optional<Original> original(const Hash& transaction);

    // One that fails again and again is passed over for longer and longer.
    void note_failure();
    void note_success() { failures_ = 0; }
    bool is_resting();  // counts down

private:
    struct Question {
        std::string method;
        std::string params;
    };
    struct Answer {
        std::string method;
        std::string body;
        std::int64_t id = 0;
    };

    // A receipt whose block is part of the chain.
    struct Placed {
        Receipt receipt;
        Time block_time;
        bool is_final = false;
    };
    // At the place of each transaction; `head` is what final_block() gave, where the caller has it.
    std::vector<std::optional<Placed>> place(const std::vector<Hash>& transactions,
                                             std::optional<std::int64_t> head = {});
    std::optional<Receipt> receipt_in(const Answer& answer, const Hash& transaction);
    std::optional<Block> block_in(const Answer& answer, std::int64_t number);
    Block tagged_block(std::string_view tag);
    Block tagged_block_in(const Answer& answer, std::string_view tag);
    std::vector<Log> logs(const Chain::Range& range, const Chain::Wanted& wanted);

    // Asks all of them in as few requests as the provider's batches allow.
    std::vector<Answer> ask_many(const std::vector<Question>& questions);
    std::vector<Answer> ask_batch(const Question* questions, std::size_t count);
    template <class Read>
    std::invoke_result_t<Read, std::string_view, std::int64_t> read(const Answer& answer,
                                                                    Read reader);
    template <class Read>
    std::invoke_result_t<Read, std::string_view, std::int64_t> ask(std::string_view method,
                                                                   const std::string& params,
                                                                   Read reader);
    std::string post(std::string body);
    [[noreturn]] void complain(std::string_view what) const;

    http::Client& client_;
    Options options_;
    std::string host_;
    std::atomic<std::int64_t> next_id_ = 1;
    std::atomic<bool> on_chain_ = false;
    std::atomic<int> failures_ = 0;  // since it last answered
    std::atomic<int> rest_ = 0;      // questions it is not asked
};

}  // namespace berth::chain
