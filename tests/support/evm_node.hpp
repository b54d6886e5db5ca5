// A real EVM node (anvil) for one test, with the chain id of Base and two tokens of six decimals.
// It listens on a port of its own and is killed with the object.
//
// Nothing is mined unless the test says so: transfer() and the like mine one block for themselves,
// submit() and the code under test only put transactions into the node's pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.hpp"
#include "base/time.hpp"
#include "chain/transaction.hpp"
#include "crypto/secp256k1.hpp"
#include "http/client.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {

class EvmNode {
public:
    static constexpr std::int64_t chain_id = 8453;
    static constexpr std::int64_t finality_blocks = 2;  // `finalized` is this far below `latest`
    static constexpr int accounts_max = 10;

    struct Options {
        std::optional<Time> start{};  // when the first block was made; without it, now
    };

    EvmNode() : EvmNode(Options{}) {}
    explicit EvmNode(const Options& options);

    std::string url() const;
    // The result as JSON text. Throws std::runtime_error with what the node complains about.
    std::string rpc(std::string_view method, std::string_view params = "[]");

    // Blocks.
    void mine(int blocks = 1);
    void finalize() { mine(static_cast<int>(finality_blocks)); }  // all that is mined by now
    std::int64_t latest_block();
    void set_automine(bool on);  // each transaction in a block of its own, at once
    void set_next_block_time(Time time);
    // Of the next block. A waiting transaction that offers less is dropped by this node.
    void set_next_base_fee(std::int64_t wei);
    // Blocks that leave out this one of the waiting transactions, which goes on waiting.
    void mine_without(const chain::Hash& waiting, int blocks = 1);
    void forget(const chain::Hash& waiting);  // it is no longer in the pool

    // Accounts. The first ten have 10,000 ether each; the first one owns the tokens, and the last
    // one has tokens for move().
    static crypto::SigningKey account(int index);
    void set_ether(const crypto::Address& whose, std::int64_t wei);

    struct Mined {
        chain::Hash transaction;
        std::int64_t log_index = -1;  // of its first log in the block; -1: reverted, or no log
    };

    // Tokens.
    const crypto::Address& usdc() const { return usdc_; }
    const crypto::Address& usdt() const { return usdt_; }
    crypto::Address deploy_token(std::string_view name, std::string_view symbol);
    // A wallet that is a contract (tests/contracts/Wallet.sol). Its owner acts through it, by
    // execute(), and signs for it: contract_signature() of what the wallet is to have signed.
    crypto::Address deploy_wallet(const crypto::Address& owner);
    Mined execute(const crypto::SigningKey& owner, const crypto::Address& wallet,
                  const crypto::Address& to, std::string_view data);
    static std::string contract_signature(const crypto::SigningKey& owner, std::string_view text);
    void mint(const crypto::Address& token, const chain::Payment& payment);
    // A barred address can neither send nor receive the token: such transfers revert.
    void set_barred(const crypto::Address& token, const crypto::Address& whose, bool barred);
    Micro balance(const crypto::Address& token, const crypto::Address& whose);

    Mined transfer(const crypto::SigningKey& from, const crypto::Address& token,
                   const chain::Payment& payment);
    // One transaction with two Transfer events: the second has the next log index.
    Mined transfer_twice(const crypto::SigningKey& from, const crypto::Address& token,
                         const chain::Payment& first, Micro second);
    // Into the pool, with the account's next nonce: an ERC-20 transfer, any call.
    chain::Hash submit(const crypto::SigningKey& from, const crypto::Address& token,
                       const chain::Payment& payment);
    chain::Hash submit_call(const crypto::SigningKey& from, const crypto::Address& to,
                            std::string_view data);
    // Where a transaction is after it was mined; throws when it is not.
    Mined mined(const chain::Hash& transaction);

    // Turning back. A snapshot can be used once.
    std::string snapshot();
    void revert(const std::string& snapshot);
    // Replaces the blocks from the transaction's own on with as many empty ones. It is not in the
    // pool afterwards.
    void drop(const chain::Hash& transaction);
    // Replaces the same blocks, with the transaction in the first one behind another transfer: its
    // logs now have other indexes.
    Mined move(const chain::Hash& transaction);

    // The node goes away, and comes back at the same address with the same blocks. What was in the
    // pool is lost.
    void stop();
    void start();

private:
    // The contract of that name in tests/contracts, with the arguments of its constructor.
    crypto::Address deploy(std::string_view contract, std::string_view arguments);
    std::int64_t block_of(const chain::Hash& transaction);
    std::string raw_transaction(const chain::Hash& transaction);  // JSON text of its hex
    std::string receipt_of(const chain::Hash& transaction);       // JSON, perhaps null
    void mine_for(const chain::Hash& transaction);
    chain::Signed signed_call(const crypto::SigningKey& from, std::int64_t nonce,
                              const crypto::Address& to, std::string_view data) const;
    void await_ready();

    TemporaryFolder folder_;
    Options options_;
    std::uint16_t port_;
    http::CurlClient client_;
    std::unique_ptr<Process> process_;
    bool automine_ = false;
    crypto::Address usdc_;
    crypto::Address usdt_;
};

// The node that the tests of a program share, since starting one takes seconds; each time it is as
// it was at first. For tests that neither stop nor restart it.
EvmNode& shared_evm_node();

}  // namespace berth::test
