#include "admin/treasury_view.hpp"

#include <algorithm>

#include "funding/suspense.hpp"
#include "liabilities/liabilities.hpp"
#include "transfers/settings.hpp"

namespace berth::admin {
namespace {

constexpr std::string_view accounts_have_sql =
    "SELECT CAST(COALESCE(SUM(available + held + payable + escrow + reserved), 0) AS BIGINT) "
    "FROM ledger_accounts WHERE asset = $1";

struct PaymentColumns {
    TreasuryMovementKind movement{};
    ledger::Asset asset{};
    Micro amount;
    std::string tx_hash;
    crypto::Address recipient;
    Time booked_at;
};
BOOST_DESCRIBE_STRUCT(PaymentColumns, (), (movement, asset, amount, tx_hash, recipient, booked_at))
// Operators book them one by one, so that there are few.
const db::Query<PaymentColumns> newest_payments_sql(
    "SELECT {} FROM treasury_payments ORDER BY booked_at DESC, tx_hash, ordinal LIMIT $1");

struct OwnColumns {
    ledger::Asset asset{};
    Micro amount;
    std::string tx_hash;
    crypto::Address sender;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(OwnColumns, (), (asset, amount, tx_hash, sender, updated_at))
// The condition is spelled as that of the index of what is not claimed.
const db::Query<OwnColumns> newest_own_sql(
    "SELECT {} FROM deposits WHERE state <> 'CLAIMED' AND seen_at IS NOT NULL AND state = 'OWN' "
    "ORDER BY seen_at DESC, tx_hash DESC, ordinal DESC LIMIT $1");

wire::EvmAddress shown_address(const crypto::Address& address) {
    return {crypto::checksummed(address)};
}

std::vector<wire::EvmAddress> shown_addresses(const std::vector<crypto::Address>& addresses) {
    std::vector<wire::EvmAddress> shown;
    for (const crypto::Address& address : addresses) shown.push_back(shown_address(address));
    return shown;
}

std::vector<TreasuryMovement> newest_movements(db::Transaction& tx,
                                               const ledger::Treasury& treasury) {
    std::vector<TreasuryMovement> list;
    for (const PaymentColumns& row : tx.fetch(newest_payments_sql, treasury_movements_max))
        list.push_back({row.movement,
                        row.asset,
                        row.amount,
                        {row.tx_hash},
                        shown_address(row.recipient),
                        row.booked_at});
    for (const OwnColumns& row : tx.fetch(newest_own_sql, treasury_movements_max)) {
        const bool cold = std::ranges::find(treasury.cold, row.sender) != treasury.cold.end();
        list.push_back({cold ? TreasuryMovementKind::from_cold : TreasuryMovementKind::top_up,
                        row.asset,
                        row.amount,
                        {row.tx_hash},
                        shown_address(row.sender),
                        row.updated_at});
    }
    std::ranges::stable_sort(list, std::ranges::greater{}, &TreasuryMovement::at);
    if (list.size() > static_cast<std::size_t>(treasury_movements_max))
        list.resize(static_cast<std::size_t>(treasury_movements_max));
    return list;
}

TreasuryAsset shown_asset(db::Transaction& tx, const ledger::Treasury& treasury,
                          ledger::Asset asset, Micro suspense) {
    const ledger::Means means = ledger::means(tx, asset);
    TreasuryAsset shown;
    shown.asset = asset;
    shown.token = shown_address(treasury.token(asset));
    shown.books = {{tx.fetch_value<Micro>(accounts_have_sql, asset).value()},
                   suspense,
                   {means.fees},
                   {means.capital}};
    if (const auto proof = liabilities::find_newest(tx, asset)) {
        TreasuryObserved observed{proof->total, proof->treasury, std::nullopt, proof->as_of};
        if (proof->block_number) observed.block_number = wire::Count{*proof->block_number};
        shown.observed = observed;
    }
    return shown;
}

TreasuryLimits shown_limits(const transfers::Settings& settings) {
    return {*settings.payouts_paused,
            *settings.payouts_day_max_micro,
            *settings.payouts_account_day_max_micro,
            *settings.transfer_min_micro,
            {*settings.gas_fee_max_gwei}};
}

}  // namespace

TreasuryView show_treasury(api::Call& call, const ledger::Treasury& treasury) {
    db::Transaction& tx = call.tx();
    TreasuryView shown;
    if (treasury.address) shown.address = shown_address(*treasury.address);
    shown.pays = treasury.pays;
    shown.cold_addresses = shown_addresses(treasury.cold);
    shown.gas_addresses = shown_addresses(treasury.gas);
    if (treasury.fee) shown.fee_address = shown_address(*treasury.fee);
    const auto suspense = funding::sum_suspense(tx);
    for (const ledger::Asset asset : ledger::assets)
        shown.assets.push_back(
            shown_asset(tx, treasury, asset, suspense[static_cast<std::size_t>(asset)]));
    for (const funding::Watched& one : funding::list_watched(tx)) {
        TreasuryWatched watched{shown_address(one.treasury), shown_address(one.token), one.asset,
                                std::nullopt};
        if (one.blocks) watched.read_to = wire::Count{one.blocks->read_to};
        shown.watched.push_back(std::move(watched));
    }
    shown.limits = shown_limits(call.settings<transfers::Settings>());
    shown.movements = newest_movements(tx, treasury);
    return shown;
}

}  // namespace berth::admin
