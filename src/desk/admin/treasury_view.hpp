// What operators read of the treasury: its addresses, what books and chain say of each asset, the
// limits of what leaves, and the newest movements of the operator's own money.
#pragma once

#include "admin/types.hpp"
#include "api/router.hpp"
#include "ledger/treasury.hpp"

namespace berth::admin {

inline constexpr std::int64_t treasury_movements_max = 50;

struct TreasuryBooks {
    wire::SignedMicro accounts_micro;
    Micro suspense_micro;
    wire::SignedMicro fees_micro;
    wire::SignedMicro capital_micro;
};
BOOST_DESCRIBE_STRUCT(TreasuryBooks, (),
                      (accounts_micro, suspense_micro, fees_micro, capital_micro))
constexpr auto wire_docs(const TreasuryBooks*) {
    return std::to_array<wire::Doc>({
        {"accounts_micro", "What all accounts have together, debts taken off.", "25000000"},
        {"suspense_micro", "What nobody has claimed, on its way back included.", "0"},
        {"fees_micro", "Fees that were neither taken out nor spent.", "900000"},
        {"capital_micro", "The operator's own money, less what is set aside for credits.",
         "100000"},
    });
}

struct TreasuryObserved {
    Micro owed_micro;
    wire::Nullable<Micro> held_micro;
    wire::Nullable<wire::Count> block_number;
    Time as_of;
};
BOOST_DESCRIBE_STRUCT(TreasuryObserved, (), (owed_micro, held_micro, block_number, as_of))
constexpr auto wire_docs(const TreasuryObserved*) {
    return std::to_array<wire::Doc>({
        {"owed_micro", "All that was owed.", "25000000"},
        {"held_micro", "What the chain had at all addresses; null where nobody looked.",
         "26000000"},
        {"block_number", "At the end of which block.", "41900000"},
    });
}

struct TreasuryAsset {
    ledger::Asset asset = ledger::Asset::usdc;
    wire::EvmAddress token;
    TreasuryBooks books;
    wire::Nullable<TreasuryObserved> observed;
};
BOOST_DESCRIBE_STRUCT(TreasuryAsset, (), (asset, token, books, observed))
constexpr auto wire_docs(const TreasuryAsset*) {
    return std::to_array<wire::Doc>({
        {"token", "The contract of the token.", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
        {"books", "What the ledger says at this moment."},
        {"observed", "What the newest proof of liabilities found; null before the first."},
    });
}

struct TreasuryLimits {
    bool payouts_paused = false;
    Micro payouts_day_max_micro;
    Micro payouts_account_day_max_micro;
    Micro transfer_min_micro;
    wire::Count gas_fee_max_gwei;
};
BOOST_DESCRIBE_STRUCT(TreasuryLimits, (),
                      (payouts_paused, payouts_day_max_micro, payouts_account_day_max_micro,
                       transfer_min_micro, gas_fee_max_gwei))
constexpr auto wire_docs(const TreasuryLimits*) {
    return std::to_array<wire::Doc>({
        {"payouts_paused", "Whether nothing that leaves is signed at the moment.", "false"},
        {"payouts_day_max_micro", "Most that leaves within 24 hours.", "1000000000000"},
        {"payouts_account_day_max_micro", "The same, of one account.", "100000000000"},
        {"transfer_min_micro", "Least that one withdrawal or payout may be for.", "1000000"},
        {"gas_fee_max_gwei", "Most that is paid per gas.", "50"},
    });
}

// Where deposits were ever sent to.
struct TreasuryWatched {
    wire::EvmAddress address;
    wire::EvmAddress token;
    ledger::Asset asset = ledger::Asset::usdc;
    wire::Nullable<wire::Count> read_to;
};
BOOST_DESCRIBE_STRUCT(TreasuryWatched, (), (address, token, asset, read_to))
constexpr auto wire_docs(const TreasuryWatched*) {
    return std::to_array<wire::Doc>({
        {"address", "", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"},
        {"token", "Which token is sent there.", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
        {"read_to", "The block up to which every transfer is known; null: nobody looked yet.",
         "41900000"},
    });
}

enum class TreasuryMovementKind { gas, fee_take_out, to_cold, suspense_return, top_up, from_cold };
BOOST_DESCRIBE_ENUM(TreasuryMovementKind, gas, fee_take_out, to_cold, suspense_return, top_up,
                    from_cold)

struct TreasuryMovement {
    TreasuryMovementKind kind = TreasuryMovementKind::gas;
    ledger::Asset asset = ledger::Asset::usdc;
    Micro amount_micro;
    wire::TransactionHash tx_hash;
    wire::EvmAddress counterparty;
    Time at;
};
BOOST_DESCRIBE_STRUCT(TreasuryMovement, (), (kind, asset, amount_micro, tx_hash, counterparty, at))
constexpr auto wire_docs(const TreasuryMovement*) {
    return std::to_array<wire::Doc>({
        {"kind",
         "What it was: gas, fees taken out, to cold storage or back from it, a transfer in "
         "suspense that went back, or the operator's own money put in.",
         "fee_take_out"},
        {"amount_micro", "", "5000000"},
        {"counterparty", "Who got it, or sent it.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"at", "When it was booked."},
    });
}

struct TreasuryView {
    wire::Nullable<wire::EvmAddress> address;
    bool pays = false;
    std::vector<wire::EvmAddress> cold_addresses;
    std::vector<wire::EvmAddress> gas_addresses;
    wire::Nullable<wire::EvmAddress> fee_address;
    std::vector<TreasuryAsset> assets;
    std::vector<TreasuryWatched> watched;
    TreasuryLimits limits;
    std::vector<TreasuryMovement> movements;
};
BOOST_DESCRIBE_STRUCT(TreasuryView, (),
                      (address, pays, cold_addresses, gas_addresses, fee_address, assets, watched,
                       limits, movements))
constexpr auto wire_docs(const TreasuryView*) {
    return std::to_array<wire::Doc>({
        {"address", "Where deposits go; null: no money comes in or goes out.",
         "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"},
        {"pays", "Whether there is a chain, and a key that signs.", "true"},
        {"cold_addresses", "Cold storage.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"gas_addresses", "Where gas is bought.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"fee_address", "The only address that fees are taken out to; null: any.",
         "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
        {"assets", "What books and chain say of each asset."},
        {"watched", "Every treasury that was ever named to anybody, with its tokens."},
        {"limits", "How much may leave."},
        {"movements", "The newest 50 of the operator's own money, newest first."},
    });
}

TreasuryView show_treasury(api::Call& call, const ledger::Treasury& treasury);

}  // namespace berth::admin
