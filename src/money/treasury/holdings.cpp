#include "treasury/holdings.hpp"

#include <set>
#include <utility>

namespace berth::treasury {
namespace {

constexpr std::string_view returning_sql =
    "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM deposits "
    "WHERE state = 'SUSPENSE' AND asset = $1 AND sender = $2";

}  // namespace

Holdings find_holdings(chain::Chain& chain, const ledger::Treasury& ours,
                       const std::vector<funding::Watched>& watched, ledger::Asset asset,
                       std::int64_t block) {
    using Place = std::pair<crypto::Address, crypto::Address>;  // who has it, and the token
    std::set<Place> treasuries, cold;
    std::set<crypto::Address> tokens;
    if (ours.address) treasuries.emplace(*ours.address, ours.token(asset));
    for (const funding::Watched& one : watched)
        if (one.asset == asset) treasuries.emplace(one.treasury, one.token);
    for (const Place& place : treasuries) tokens.insert(place.second);
    for (const crypto::Address& address : ours.cold)
        for (const crypto::Address& token : tokens)
            if (!treasuries.contains({address, token})) cold.emplace(address, token);
    const auto sum = [&](const std::set<Place>& places) {
        Micro all;
        for (const auto& [address, token] : places) all += chain.balance(address, token, block);
        return all;
    };
    return {sum(treasuries), sum(cold)};
}

Micro find_returning(db::Transaction& tx, const ledger::Treasury& ours, ledger::Asset asset) {
    Micro all;
    for (const crypto::Address& address :
         std::set<crypto::Address>(ours.cold.begin(), ours.cold.end()))
        all += tx.fetch_value<Micro>(returning_sql, asset, crypto::to_string(address)).value();
    return all;
}

}  // namespace berth::treasury
