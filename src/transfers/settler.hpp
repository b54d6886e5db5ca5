// The settler carries transfers out: it signs an ERC-20 transfer from the treasury, stores the
// signed bytes, sends them, and ends the transfer when the chain has made up its mind.
//
// Never two sends for one transfer: all transactions signed for it have the same signer and nonce,
// and the chain takes one transaction of a signer per nonce. A stuck one is replaced at a higher fee,
// under the same nonce and by the same key. Whatever crashes, the bytes that might have been sent are in the database, and the next run
// sends the same bytes again.
#pragma once

#include "chain/patience.hpp"
#include "chain/transaction.hpp"
#include "crypto/secp256k1.hpp"
#include "ledger/treasury.hpp"
#include "transfers/limits.hpp"
#include "transfers/store.hpp"
#include "worker/worker.hpp"

namespace berth::transfers {

inline constexpr std::int64_t transfers_per_run_max = 50;
inline constexpr std::int64_t transfer_gas_max = 120'000;
inline constexpr Duration replace_after = std::chrono::seconds(90);
inline constexpr std::int64_t attempts_max = 20;  // of one transfer

class Settler {
public:
    struct Parts {
        const ledger::Treasury& treasury;
        const Limits& limits;
        const crypto::SigningKey& key;
        chain::Chain& chain;
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    explicit Settler(const Parts& parts) : parts_(parts) {}

    // One pass over what is open. When a provider fails it throws in the end; nothing is lost by it.
    void run() const;

private:
    void follow_submitted(chain::Patience& patience) const;
    void follow(const TransferRow& transfer) const;
    void settle(const TransferRow& transfer, const AttemptRow& attempt,
                const chain::Outcome& outcome) const;
    void fail(const TransferRow& transfer, const AttemptRow& attempt) const;
    void end(const TransferRow& transfer, const AttemptRow& attempt, TransferState state) const;
    void send_again(const TransferRow& transfer, const AttemptRow& last) const;
    void replace(const TransferRow& transfer, const AttemptRow& last) const;

    void submit_intents(chain::Patience& patience) const;
    void submit(const TransferRow& transfer, const chain::Fees& fees,
                std::int64_t nonce_least) const;
    bool send(const AttemptRow& attempt) const;
    chain::Fees bounded_fees() const;
    AttemptRow sign(const TransferRow& transfer, const AttemptRow& plan) const;

    Parts parts_;
};

worker::Kind settle_transfers_kind(Settler settler, Duration every);

}  // namespace berth::transfers
