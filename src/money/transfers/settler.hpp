// The settler carries transfers out: it signs an ERC-20 transfer from the treasury, stores the
// signed bytes, sends them, and ends the transfer when the chain has made up its mind.
//
// Never two sends for one transfer: all transactions signed for it have the same signer and nonce,
// and the chain takes one transaction of a signer per nonce. A stuck one is replaced at a higher
// fee, under the same nonce and by the same key. Whatever crashes, the bytes that might have been
// sent are in the database, and the next run sends the same bytes again. While the chain knows of
// transactions of the treasury that the books do not know, nothing is signed: the books may be an
// old copy.
//
// What the token would revert is not signed. What reverts all the same is counted: see payees.hpp.
//
// What a round costs does not grow with what is on its way: one question tells how the treasury
// stands, receipts are asked for only below its finalized nonce, and everything travels in batches.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>

#include "chain/patience.hpp"
#include "chain/transaction.hpp"
#include "crypto/secp256k1.hpp"
#include "ledger/treasury.hpp"
#include "settings/live.hpp"
#include "transfers/settings.hpp"
#include "transfers/settlement.hpp"
#include "worker/worker.hpp"

namespace berth::transfers {

inline constexpr std::int64_t batch_rows_max = 100;  // signed, sent and followed together
// Signed and not in a block: as many as a node keeps of one account. What is in a block and waits
// to be final has no bound.
inline constexpr std::int64_t unmined_max = 500;
// Of those that wait to be signed, in one round: what brakes hold back is passed over.
inline constexpr std::int64_t intents_looked_at_max = 10'000;
inline constexpr std::size_t shortages_noted_max = 100;  // in one round
inline constexpr std::size_t booked_together_max = 25;
inline constexpr std::int64_t transfer_gas_max = 120'000;
inline constexpr Duration replace_after = std::chrono::seconds(90);
inline constexpr std::int64_t attempts_max = 20;                        // of one transfer
inline constexpr Duration send_again_first = std::chrono::seconds(10);  // then doubled
inline constexpr Duration send_again_max = std::chrono::minutes(5);

// What the last round saw, for whoever watches over payments.
struct SettlerVitals {
    // Of those that no brake of the operator's holds back.
    std::atomic<std::int64_t> oldest_open_seconds{0};
    std::atomic<std::int64_t> stranded{0};  // above the cap of a day by themselves
    std::atomic<std::int64_t> sends_refused{0};
    std::atomic<std::int64_t> stopped_by_token{0};  // of those tried: it would pay nobody
    std::atomic<std::int64_t> gas_gwei{0};
    std::array<std::atomic<std::int64_t>, ledger::assets.size()> holdings_micro{};
};

class Settler {
public:
    struct Parts {
        const ledger::Treasury& treasury;
        const settings::Live& settings;
        const crypto::SigningKey& key;
        chain::Chain& chain;
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    explicit Settler(const Parts& parts,
                     std::shared_ptr<SettlerVitals> vitals = std::make_shared<SettlerVitals>())
        : parts_(parts), vitals_(std::move(vitals)) {}

    // One pass over what is open. When a provider fails it throws in the end; nothing is lost by
    // it.
    void run() const;

private:
    // One signer, and how it stands on the chain in this pass.
    struct Round {
        chain::Patience& patience;
        std::shared_ptr<const settings::Snapshot> snapshot;
        crypto::Address signer;
        chain::Standing standing;

        std::int64_t gas_fee_max() const;  // in wei
    };
    // What the treasury's wallet can still pay for.
    struct Cover {
        std::array<Micro, ledger::assets.size()> tokens{};
        std::int64_t transfers = 0;  // that its gas pays for
    };
    struct Ending {
        TransferRow transfer;
        AttemptRow attempt;
        TransferState state = TransferState::SETTLED;
    };
    using Sent = chain::Sent::Status;

    struct Shortage {
        TransferId transfer;
        ShortOf of{};
    };

    void note_vitals(const Round& round) const;
    void note_shortages(std::span<const Shortage> shortages) const;
    void submit(Round& round) const;
    bool agrees_with_earlier_ones() const;
    void hold_back(const crypto::Address& treasury, const chain::Standing& standing,
                   std::int64_t next_nonce) const;
    void require_decimals(const Round& round, std::span<const TransferRow> chosen) const;
    std::vector<TransferRow> choose(const Round& round, std::int64_t next_nonce,
                                    const chain::Fees& fees) const;
    void call_off_refused() const;
    std::vector<TransferRow> try_out(const Round& round, std::span<const TransferRow> chosen) const;
    std::vector<AttemptRow> sign_batch(const Round& round, std::span<const TransferRow> batch,
                                       const chain::Fees& fees) const;

    void follow(Round& round) const;
    void decide(Round& round, std::span<const InFlight> page) const;
    std::optional<Ending> ending(const InFlight& one,
                                 std::span<const chain::Outcome> outcomes) const;
    bool is_paid(const TransferRow& transfer, const AttemptRow& attempt,
                 const chain::Outcome& outcome) const;
    void book(Round& round, std::vector<Ending> endings) const;
    void book_all(const Round& round, std::span<const Ending> endings) const;

    void send_again(Round& round) const;
    bool is_stuck(const InFlight& one) const;
    void replace(const Round& round, const InFlight& one) const;
    std::vector<Sent> send(std::span<const AttemptRow> attempts) const;
    static chain::Fees bounded(const Round& round);
    AttemptRow sign(const TransferRow& transfer, const AttemptRow& plan) const;

    Parts parts_;
    std::shared_ptr<SettlerVitals> vitals_;
    // By asset; shared with the copies of this.
    using Checked = std::array<std::atomic<bool>, ledger::assets.size()>;
    std::shared_ptr<Checked> decimals_checked_ = std::make_shared<Checked>();
    std::shared_ptr<Checked> stopped_ = std::make_shared<Checked>();  // in the last round
};

inline constexpr std::string_view settle_transfers_kind_name = "settle_transfers";
worker::Kind settle_transfers_kind(Settler settler, Duration every);

}  // namespace berth::transfers
