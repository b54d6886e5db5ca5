#include "ledger/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/problem.hpp"
#include "crypto/hash_input.hpp"
#include "ledger/days.hpp"

namespace berth::ledger {
namespace {

constexpr std::string_view open_account_sql =
    "INSERT INTO ledger_accounts (account_id, asset, available, held, payable, escrow, reserved, "
    "earned, fees, paid, repaid, sequence, head, entries) "
    "VALUES ($1, $2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $3, 0) "
    "ON CONFLICT (account_id, asset) DO NOTHING";
// Where a transaction stands in the chain of its shard, and among the entries of an owner.
struct Link {
    std::int64_t sequence = 0;
    Bytes head;
    std::int64_t entries = 0;
    Micro available;
    Micro payable;
};
BOOST_DESCRIBE_STRUCT(Link, (), (sequence, head, entries, available, payable))
// The guard of every balance: no row is changed when a pocket would fall below its floor. It also
// locks the row, so the head it returns is the last one.
const db::Query<Link> change_account_sql(
    "UPDATE ledger_accounts SET available = available + $3, held = held + $4, "
    "payable = payable + $5, escrow = escrow + $6, reserved = reserved + $7, "
    "earned = earned + $8, fees = fees + $9, paid = paid + $10, sequence = sequence + $11, "
    "entries = entries + $13, repaid = repaid + $14 WHERE account_id = $1 AND asset = $2 AND "
    "available + $3 >= 0 "
    "AND held + $4 >= 0 AND payable + $5 >= $12 AND escrow + $6 >= 0 AND reserved + $7 >= 0 "
    "RETURNING {}");
// Changes nothing, and keeps the row as it is until the transaction ends.
const db::Query<Funds> lock_account_sql(
    "UPDATE ledger_accounts SET sequence = sequence WHERE account_id = $1 AND asset = $2 "
    "RETURNING {}");
constexpr std::string_view set_head_sql =
    "UPDATE ledger_accounts SET head = $3 WHERE account_id = $1 AND asset = $2";
constexpr std::string_view add_transaction_sql =
    "INSERT INTO ledger_transactions (transaction_id, account_id, asset, sequence, movement, "
    "reference, at, previous_hash, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
// All entries of a transaction in one statement.
constexpr std::string_view add_two_entries_sql =
    "INSERT INTO ledger_entries (transaction_id, asset, job_id, machine_id, ordinal, owner_id, "
    "pocket, kind, amount, party_id, day, place) "
    "VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $10, $11), "
    "($1, $2, $3, $4, 2, $12, $13, $14, $15, $16, $17, $18)";
constexpr std::string_view add_three_entries_sql =
    "INSERT INTO ledger_entries (transaction_id, asset, job_id, machine_id, ordinal, owner_id, "
    "pocket, kind, amount, party_id, day, place) "
    "VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $10, $11), "
    "($1, $2, $3, $4, 2, $12, $13, $14, $15, $16, $17, $18), "
    "($1, $2, $3, $4, 3, $19, $20, $21, $22, $23, $24, $25)";

// What a transaction does to one row of ledger_accounts.
struct Change {
    std::array<Micro, customer_pocket_count> pockets{};
    Micro earned;
    Micro fees;
    Micro paid;
    Micro repaid;
    std::int64_t entries = 0;
    std::int64_t payable_floor = std::numeric_limits<std::int64_t>::min();
};
// In ascending order of account: two transactions that meet wait for each other and do not
// deadlock.
using AccountChanges = std::map<AccountId, Change>;

std::vector<Entry> make_entries(const Context& context, const Posting& posting, TransactionId id) {
    const auto plan = legs(posting.movement);
    require(plan.size() == posting.shares.size(), "a posting has a share for each leg");
    std::vector<Entry> entries;
    Micro sum;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const auto& [owner, share] = posting.shares[i];
        require(share >= Micro{}, "a share is not negative");
        require((owner == platform) != of_customer(plan[i].pocket), "a pocket has the right owner");
        if (share == Micro{}) continue;
        Entry entry;
        entry.transaction = id;
        entry.ordinal = static_cast<std::int64_t>(entries.size()) + 1;
        entry.owner = owner;
        entry.asset = posting.asset;
        entry.pocket = plan[i].pocket;
        entry.kind = plan[i].kind;
        entry.amount = plan[i].side == Side::credit ? share : -share;
        entry.reference = posting.reference;
        entry.at = context.now;
        entry.job = posting.job;
        entry.machine = posting.machine;
        entry.party = party_of(entry.kind, owner, posting);
        sum += entry.amount;
        entries.push_back(std::move(entry));
    }
    require(sum == Micro{}, "a transaction sums to zero");
    require(!entries.empty(), "a transaction moves something");
    return entries;
}

AccountChanges changes_of(const std::vector<Entry>& entries) {
    AccountChanges changes;
    for (const Entry& entry : entries) {
        if (of_customer(entry.pocket)) {
            changes[entry.owner].pockets[static_cast<std::size_t>(entry.pocket)] += entry.amount;
            ++changes[entry.owner].entries;
        }
        switch (entry.kind) {
            case Kind::host_earning:
            case Kind::refund_host_reversal: changes[entry.owner].earned += entry.amount; break;
            case Kind::platform_fee:
            case Kind::refund_fee_reversal:
                changes[entry.party.value()].fees += entry.amount;
                break;
            case Kind::payout_settled:
                if (entry.pocket == Pocket::reserved) changes[entry.owner].paid -= entry.amount;
                break;
            case Kind::advance:
                if (entry.pocket == Pocket::payable) changes[entry.owner].paid -= entry.amount;
                break;
            case Kind::debt_repaid:
            case Kind::debt_covered:
                if (entry.pocket == Pocket::payable) changes[entry.owner].repaid += entry.amount;
                break;
            case Kind::payout_lock:
                changes[entry.party.value_or(entry.owner)].payable_floor = 0;
                break;
            default: break;
        }
    }
    return changes;
}

AccountId shard_of(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries)
        if (entry.owner != platform) return entry.owner;
    return platform;
}

class Books {
public:
    Books(db::Transaction& tx, Asset asset) : tx_(tx), asset_(name(asset)) {}

    // Changes every row, or throws; gives what they are afterwards, with the link of the shard's
    // chain that is ours.
    std::map<AccountId, Link> change(const AccountChanges& changes, AccountId shard) {
        std::vector<db::Transaction::Ticket> tickets;
        for (const auto& [account, change] : changes)
            tickets.push_back(start(account, change, account == shard));
        std::map<AccountId, Link> links;
        auto ticket = tickets.begin();
        for (const auto& [account, change] : changes) {
            auto changed = change_account_sql.row(tx_.finish(*ticket++));
            if (!changed) changed = open_and_change(account, change, account == shard);
            links[account] = std::move(*changed);
        }
        return links;
    }

    void set_head(AccountId shard, const Bytes& head) {
        tx_.start(set_head_sql, shard, asset_, db::Blob{head});
    }

private:
    db::Transaction::Ticket start(AccountId account, const Change& change, bool is_shard) {
        const auto pocket = [&](Pocket which) {
            return change.pockets[static_cast<std::size_t>(which)];
        };
        return tx_.start(change_account_sql.sql(), account, asset_, pocket(Pocket::available),
                         pocket(Pocket::held), pocket(Pocket::payable), pocket(Pocket::escrow),
                         pocket(Pocket::reserved), change.earned, change.fees, change.paid,
                         is_shard ? 1 : 0, change.payable_floor, change.entries, change.repaid);
    }

    // An account gets its row with its first movement; another transaction may be as early, and
    // then the row that it made is changed.
    Link open_and_change(AccountId account, const Change& change, bool is_shard) {
        const Bytes first_head(hash_bytes, '\0');
        tx_.start(open_account_sql, account, asset_, db::Blob{first_head});
        const auto changed = change_account_sql.row(tx_.finish(start(account, change, is_shard)));
        if (changed) return *changed;
        throw Problem(Code::insufficient_funds, "the balance does not cover this amount");
    }

    db::Transaction& tx_;
    std::string_view asset_;
};

void add_entries(db::Transaction& tx, const Posting& posting, const std::vector<Entry>& entries) {
    const auto day = [&](const Entry& entry) {
        return entry.party ? std::optional(day_of(entry.at)) : std::nullopt;
    };
    require(entries.size() == 2 || entries.size() == 3, "a transaction has two or three entries");
    const Entry& one = entries[0];
    const Entry& two = entries[1];
    if (entries.size() == 2) {
        tx.start(add_two_entries_sql, one.transaction, name(posting.asset), posting.job,
                 posting.machine, one.owner, name(one.pocket), name(one.kind), one.amount,
                 one.party, day(one), one.place, two.owner, name(two.pocket), name(two.kind),
                 two.amount, two.party, day(two), two.place);
        return;
    }
    const Entry& three = entries[2];
    tx.start(add_three_entries_sql, one.transaction, name(posting.asset), posting.job,
             posting.machine, one.owner, name(one.pocket), name(one.kind), one.amount, one.party,
             day(one), one.place, two.owner, name(two.pocket), name(two.kind), two.amount,
             two.party, day(two), two.place, three.owner, name(three.pocket), name(three.kind),
             three.amount, three.party, day(three), three.place);
}

// Keeps: the places of an owner's entries follow the order in which they are committed. Their
// account's row is locked from here to the commit, and says how many there are with these.
void give_places(std::vector<Entry>& entries, const std::map<AccountId, Link>& links) {
    std::map<AccountId, std::int64_t> next;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        if (!of_customer(entry->pocket)) continue;
        const auto [last, is_new] = next.try_emplace(entry->owner);
        if (is_new) last->second = links.at(entry->owner).entries;
        entry->place = last->second--;
    }
}

// Keeps: an account whose payable is below zero has nothing available. Whatever makes money
// available to one that owes, a deposit or the end of a hold, pays its debt in the same
// transaction.
void repay_debts(Context context, Asset asset, TransactionId cause,
                 const std::map<AccountId, Link>& links) {
    for (const auto& [account, link] : links) {
        if (account == platform || link.payable >= Micro{} || link.available <= Micro{}) continue;
        const Micro paid = std::min(link.available, -link.payable);
        post(context, {.movement = Movement::debt_repay,
                       .asset = asset,
                       .reference = fmt::format("{}:{}:{}", name(Movement::debt_repay),
                                                to_string(cause), to_string(account)),
                       .shares = {{account, paid}, {account, paid}}});
    }
}

}  // namespace

std::optional<AccountId> party_of(Kind kind, AccountId owner, const Posting& posting) {
    switch (kind) {
        case Kind::job_charge:
        case Kind::refund:
        case Kind::host_earning:
        case Kind::refund_host_reversal: return owner;
        case Kind::platform_fee:
        case Kind::refund_fee_reversal: return posting.host;
        case Kind::credit_refund: return posting.renter;
        case Kind::payout_settled: return owner == platform ? std::nullopt : std::optional(owner);
        default: return std::nullopt;
    }
}

Bytes chain_hash(std::string_view previous, const Header& header,
                 const std::vector<Entry>& entries) {
    crypto::HashInput input(256 + 160 * entries.size());
    input.text(previous)
        .id(header.id)
        .id(header.shard)
        .text(name(header.asset))
        .number(header.sequence)
        .text(name(header.movement))
        .text(header.reference)
        .number(header.at.micros);
    for (const Entry& entry : entries)
        input.number(entry.ordinal)
            .id(entry.owner)
            .text(name(entry.pocket))
            .text(name(entry.kind))
            .number(entry.amount.value)
            .id(entry.party)
            .id(entry.job)
            .id(entry.machine);
    return input.sha256();
}

TransactionId post(Context context, const Posting& posting) {
    const auto id = TransactionId::make(context.now, context.random);
    std::vector<Entry> entries = make_entries(context, posting, id);
    const AccountId shard = shard_of(entries);
    AccountChanges changes = changes_of(entries);
    changes[shard];  // the platform's shard has a chain and no balances

    db::Transaction& tx = context.tx;
    Books books(tx, posting.asset);
    const std::map<AccountId, Link> links = books.change(changes, shard);
    give_places(entries, links);
    const Link& link = links.at(shard);
    const Header header{
        id, shard, posting.asset, link.sequence, posting.movement, posting.reference, context.now};
    const Bytes hash = chain_hash(link.head, header, entries);
    // Nothing waits for these: they travel together, and a failure shows before the commit.
    tx.start(add_transaction_sql, id, shard, name(posting.asset), link.sequence,
             name(posting.movement), posting.reference, context.now, db::Blob{link.head},
             db::Blob{hash});
    add_entries(tx, posting, entries);
    count_days(tx, posting, entries);
    books.set_head(shard, hash);
    // What an advance makes available leaves again in the same transaction, with the payment that
    // was adopted.
    if (posting.movement != Movement::debt_repay && posting.movement != Movement::advance)
        repay_debts(context, posting.asset, id, links);
    return id;
}

std::map<AccountId, Funds> lock_accounts(Context context, Asset asset,
                                         const std::set<AccountId>& accounts) {
    const Bytes first_head(hash_bytes, '\0');
    std::map<AccountId, Funds> found;
    for (const AccountId account : accounts) {
        context.tx.start(open_account_sql, account, asset, db::Blob{first_head});
        found[account] = context.tx.fetch_one(lock_account_sql, account, asset).value();
    }
    return found;
}

}  // namespace berth::ledger
