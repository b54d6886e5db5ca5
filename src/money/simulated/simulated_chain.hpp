// A chain that only pretends: for development, with play money, inside the server's own process. It
// keeps what happened in a SQLite file of its own, as a chain outlives the books that follow it, so
// that a restart, and also a restore of the books, meets the same chain again.
//
// A block lasts a second. Transactions are in the block of the moment they were sent in, seen when
// it is over and final one block later. Two tokens with six decimals exist. Anybody who has a key
// may send; the faucet and transfer_as() need none.
#pragma once

#include <mutex>

#include "base/time.hpp"
#include "chain/chain.hpp"
#include "db/db.hpp"

namespace berth::simulated {

inline constexpr Duration block_lasts = std::chrono::seconds(1);
inline constexpr std::int64_t blocks_until_final = 1;

struct TransactionRow {
    std::int64_t number = 0;  // 0, 1, 2, …
    std::int64_t block = 0;
    std::int64_t log_index = 0;  // in its block
    chain::Hash hash;
    Bytes signed_hex;  // empty when nobody signed it
    crypto::Address sender;
    std::int64_t nonce = -1;  // -1 when nobody signed it
    crypto::Address token;
    crypto::Address recipient;
    Micro amount;
    bool succeeded = true;  // then there is a Transfer
};

class SimulatedChain final : public chain::Chain {
public:
    struct Options {
        std::string file;
        std::int64_t chain_id = 0;
        std::vector<crypto::Address> tokens;
        bool read_only = false;  // also beside the server that has the file
    };

    SimulatedChain(Options options, const Clock& clock);

    chain::Sighting find_transfer(const chain::Hash& transaction, std::int64_t log_index) override;
    std::int64_t finalized_block() override;
    std::vector<chain::Transfer> transfers(const Range& range, const Wanted& wanted) override;
    std::vector<chain::Outcome> outcomes(const std::vector<chain::Hash>& transactions) override;
    chain::Glimpse glimpse(const chain::Hash& transaction) override;
    chain::Standing standing(const crypto::Address& account,
                             const std::vector<crypto::Address>& tokens) override;
    Micro balance(const crypto::Address& account, const crypto::Address& token,
                  std::int64_t block) override;
    std::vector<chain::Sent> send(const std::vector<Bytes>& signed_bytes) override;
    std::vector<chain::Trial> try_calls(const std::vector<chain::Call>& calls) override;
    std::int64_t decimals(const crypto::Address& token) override;
    std::optional<chain::Original> original(const chain::Hash& transaction) override;

    struct Movement {
        crypto::Address token;
        crypto::Address from;
        crypto::Address to;
        Micro amount;
    };
    // As if the owner of `from` had sent it. Throws std::invalid_argument when it has less.
    TransactionRow transfer_as(const Movement& movement);
    // Out of nothing, by the faucet.
    TransactionRow mint(const crypto::Address& token, const crypto::Address& to, Micro amount);

private:
    std::int64_t block_now() const;
    std::int64_t latest() const { return block_now() - 1; }
    std::int64_t finalized() const { return latest() - blocks_until_final; }
    const TransactionRow* find(const chain::Hash& hash) const;
    Micro holding(const crypto::Address& account, const crypto::Address& token,
                  std::int64_t block) const;
    std::int64_t count_from(const crypto::Address& account, std::int64_t block) const;
    bool is_token(const crypto::Address& address) const;
    chain::Sent take(const Bytes& signed_bytes);
    const TransactionRow& add(TransactionRow row);
    const TransactionRow& add_unsigned(const Movement& movement);
    chain::Transfer transfer_of(const TransactionRow& row) const;

    Options options_;
    const Clock& clock_;
    std::unique_ptr<db::Database> database_;
    std::mutex mutex_;
    Time genesis_;
    std::vector<TransactionRow> rows_;  // as they are in the file
};

// Where the faucet's money comes from.
crypto::Address faucet_address();

}  // namespace berth::simulated
