// What was proved before, so that the next proof begins where that one ended: the end of every
// chain, the balances there, and the totals of all transactions up to there.
//
// It is kept in a file outside of the database. So it also tells when somebody who can write the
// whole database has made up another past: the chains would have to go through the same heads.
#pragma once

#include <unordered_map>

#include "ledger/totals.hpp"

namespace berth::ledger {

struct AccountKey {
    AccountId account;
    Asset asset{};

    friend bool operator==(const AccountKey&, const AccountKey&) = default;
};
struct AccountKeyHash {
    std::size_t operator()(const AccountKey& key) const {
        return std::hash<std::string_view>()(key.account.uuid.view()) * 2 +
               static_cast<std::size_t>(key.asset);
    }
};

struct VerifiedAccount {
    std::int64_t sequence = 0;
    Bytes head = Bytes(hash_bytes, '\0');
    Balances balances;
    std::int64_t entries = 0;
};

struct Verified {
    Time as_of;
    Totals totals;
    std::unordered_map<AccountKey, VerifiedAccount, AccountKeyHash> accounts;
};

// Lines of text that end in a hash over all of them.
std::string write_verified(const Verified& verified);
// Empty when it is not what write_verified() wrote, to the last byte.
std::optional<Verified> parse_verified(std::string_view text);
// Whether an earlier release wrote it, to the last byte: it knew fewer pockets and movements, so
// that nothing can go on from there.
bool is_of_earlier_release(std::string_view text);

}  // namespace berth::ledger
