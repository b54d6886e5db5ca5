// How a movement is written: balances first, under their guards, then the transaction with its
// hash, then its entries.
//
// Each transaction is chained by hash to the one before it in its shard. A shard is one customer's
// account in one asset: the first customer among the owners. That row is changed by the transaction
// anyway, so the chain takes no lock of its own. Movements without a customer are chained in the
// platform's shard, which only unclaimed deposits use.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ledger/ledger.hpp"

namespace berth::ledger {

inline constexpr AccountId platform{};  // the owner of the platform's pockets
inline constexpr std::size_t hash_bytes = 32;

struct Share {  // of one leg of a movement; a share of zero leaves no entry
    AccountId owner;
    Micro amount;
};

struct Posting {
    Movement movement;
    Asset asset;
    std::string reference;
    std::vector<Share> shares;  // one for each of legs(movement)
    // Of a rental, for receipts and earnings.
    std::optional<JobId> job = {};
    std::optional<MachineId> machine = {};
    std::optional<AccountId> host = {};
    std::optional<AccountId> renter = {};  // where a credit was refunded, which is of no customer
    bool first_of_day = false;             // its job has not earned on this day before
};

TransactionId post(Context context, const Posting& posting);

// What an account could pay with; payable may be below zero.
struct Funds {
    Micro available;
    Micro payable;
};
BOOST_DESCRIBE_STRUCT(Funds, (), (available, payable))
// The rows of these accounts, in the order in which all rows are locked; nobody else changes one
// before this transaction is over.
std::map<AccountId, Funds> lock_accounts(Context context, Asset asset,
                                         const std::set<AccountId>& accounts);

struct Entry {
    TransactionId transaction;
    std::int64_t ordinal = 0;  // 1, 2, 3 within its transaction
    AccountId owner;
    Asset asset{};
    Pocket pocket{};
    Kind kind{};
    Micro amount;  // above zero: a credit
    std::string reference;
    Time at;
    std::optional<JobId> job = {};
    std::optional<MachineId> machine = {};
    std::optional<AccountId> party = {};  // in whose spending or earnings it counts
    // 1, 2, 3 among the entries of its owner and asset; the platform's have none, since nothing
    // orders them. It is not part of the hash: it tells the order of commits, not what happened.
    std::optional<std::int64_t> place = {};
};

struct Header {
    TransactionId id;
    AccountId shard;
    Asset asset{};
    std::int64_t sequence = 0;  // 1, 2, 3 within its shard
    Movement movement{};
    std::string reference;
    Time at;
};

// Over everything that the rows of a transaction say, and over the transaction before it.
Bytes chain_hash(std::string_view previous, const Header& header,
                 const std::vector<Entry>& entries);

// Days since 1970 in UTC: the day an entry counts on.
inline std::int64_t day_of(Time time) { return time.micros / 86'400'000'000; }

// In whose figures an entry counts, by its kind: the renter's spending, the host's earnings.
std::optional<AccountId> party_of(Kind kind, AccountId owner, const Posting& posting);

}  // namespace berth::ledger
