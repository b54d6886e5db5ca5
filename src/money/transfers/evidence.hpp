// What other features may ask about transfers.
#pragma once

#include <map>
#include <span>

#include "db/db.hpp"
#include "transfers/types.hpp"

namespace berth::transfers {

// The transactions on chain that ended these transfers; one that has not ended there has none.
std::map<TransferId, std::string> find_payments(db::Transaction& tx,
                                                std::span<const TransferId> transfers);

// Whether a transaction was signed here, for whomever, or for this account.
bool knows_attempt(db::Transaction& tx, const std::string& transaction);
bool knows_attempt(db::Transaction& tx, AccountId account, const std::string& transaction);

// A transfer that was signed and is not settled in the books; once for every attempt at it.
struct SignedTransfer {
    AccountId account_id;
    Asset asset{};
    Micro amount;
    std::string tx_hash;  // of the attempt
};
BOOST_DESCRIBE_STRUCT(SignedTransfer, (), (account_id, asset, amount, tx_hash))
std::vector<SignedTransfer> list_signed(db::Transaction& tx);

}  // namespace berth::transfers
