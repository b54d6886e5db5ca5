// The ledger: the only code that writes money tables. Double entry, append-only, one ledger per
// asset. It knows neither HTTP nor JSON; every function works in the caller's transaction, so money
// moves together with whatever it moves for, or not at all.
//
// A function that finds too little money throws a Problem INSUFFICIENT_FUNDS and the transaction is
// undone. Each posting has a reference that is unique for ever: posting it a second time is refused
// by the database, whatever went wrong above.
#pragma once

#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/money.hpp"
#include "base/problem.hpp"
#include "db/migrate.hpp"
#include "ledger/chart.hpp"

namespace berth::ledger {

using TransactionId = Id<struct TransactionTag>;
using TransferId = Id<struct TransferTag>;
using RefundId = Id<struct RefundTag>;
using DisputeId = Id<struct DisputeTag>;

// No amount is larger: a thousand million units. Sums of many stay far from the end of 64 bits.
inline constexpr Micro amount_max{1'000'000'000'000'000};

using db::Context;

// --- money that comes in

struct Deposit {
    AccountId account;
    Asset asset;
    Micro amount;
    std::string reference;  // names the transfer on chain: chain, transaction, ordinal of its log
};
void deposit(Context context, const Deposit& deposit);
// The transfer has no owner yet (`account` is not looked at); match() gives it one.
void park(Context context, const Deposit& deposit);
void match(Context context, const Deposit& deposit);

// --- jobs: the budget is held, what ran is captured, the rest is released

struct Hold {
    JobId job;
    AccountId renter;
    AccountId host;
    MachineId machine;
    Asset asset;
    Micro budget;
    Micro rate_per_hour;  // for the receipt; the caller computes the charge
    std::int64_t fee_bps;
    std::int64_t payout_delay_hours = 0;  // its earnings mature for so long
    Micro credit = {};                    // of the budget: what a promotional credit pays
};
// A credit is charged before the balance is. What the host earns by it matures for 30 days, so that
// nobody turns credits into money by renting from a friend.
inline constexpr std::int64_t credit_delay_hours = 30 * 24;
void hold(Context context, const Hold& hold);
// Adds to the budget of an open hold. `version` tells one raise from another.
void raise_hold(Context context, JobId job, Micro add, std::int64_t version);

struct Usage {  // since the job began; neither ever falls
    Micro charge;
    std::int64_t runtime_ms;
    // When it was heard of, where it is posted under an earlier time: what was earned on a day that
    // is told of late matures from then on, so that there is as long to dispute it as for any
    // other.
    std::optional<Time> heard_at = {};
};
// Charges what is new since the last capture, so that repeating a capture does nothing and the sum
// of all is the one formula over the whole runtime. The fee is floor(charge × bps / 10000) of the
// total. Throws INSUFFICIENT_FUNDS above the budget, CONFLICT when the hold is closed.
void capture(Context context, JobId job, const Usage& usage);
// Closes the hold and gives the rest back; again does nothing. How much of it is credit that was
// not spent, which is nobody's balance.
Micro release(Context context, JobId job);

// What the ledger knows of a job.
struct Job {
    JobId job;
    AccountId renter;
    AccountId host;
    MachineId machine;
    Asset asset;
    Micro budget;
    Micro rate_per_hour;
    std::int64_t fee_bps = 0;
    std::int64_t payout_delay_hours = 0;
    std::int64_t runtime_ms = 0;
    Micro credit;  // part of the budget, spent first
    Micro charged;
    Micro fee;  // part of charged
    Micro refunded;
    Micro fee_refunded;  // part of refunded
    bool closed = false;
};
std::optional<Job> find_job(db::Transaction& tx, JobId job);

// --- what an operator may put right, after the hold is closed

// Who bears what the host's earnings do not pay of a refund: the host owes it, and pays with
// whatever it has and gets, or the platform pays it.
enum class Bearer { host_debt, platform };
BOOST_DESCRIBE_ENUM(Bearer, host_debt, platform)

struct Refund {
    RefundId id;
    JobId job;
    Micro amount;
    std::optional<Bearer> bearer = {};
    Micro secured = {};  // of the host's part: what a dispute that ends in this transaction held
};
struct Refunded {
    TransactionId transaction;
    Micro total;       // of all refunds of the job
    Micro refundable;  // what may still be refunded
    Micro shortfall;   // of the host's part: what its earnings did not pay
    // Who paid the shortfall. What is neither is the host's debt.
    Micro from_available;
    Micro from_platform;
    Micro to_credit;  // of the amount: what a credit had paid, and goes back to it
};
// Takes back from the host and from the fee what each got of it. All refunds of a job are at most
// its charge (CONFLICT above); refunding all of it undoes it to the micro-unit. Without a bearer
// the host's earnings must pay its part (Shortfall); the platform bears no more than its own means,
// and pays the fee's part from nothing else. A host owes nothing of what a credit had paid: beyond
// what it has, the platform bears that or nobody does (Shortfall).
Refunded refund(Context context, const Refund& refund);

// Nobody was named to bear what the host's earnings do not pay, or the platform cannot pay what is
// its to pay.
class Shortfall : public Problem {
public:
    Shortfall(Micro host_shortfall_, std::string message_)
        : Problem(Code::conflict, std::move(message_)), host_shortfall(host_shortfall_) {}

    const Micro host_shortfall;
};

// What the platform has of its own and may spend: fees that were neither taken out nor spent, and
// what its operator put in. Either may be below zero.
struct Means {
    Micro fees;
    Micro capital;
};
Means means(db::Transaction& tx, Asset asset);

// The job's row, and then those of the platform, of its renter and of its host, in the order in
// which all rows are locked; nobody else changes one before this transaction is over. Whoever
// decides over a job asks for it first, so that no two of them wait for each other in a circle.
std::optional<Job> lock_job(Context context, JobId job);
// The host's part of this refund, if it were the next.
Micro hosts_part(const Job& job, Micro refund);

struct Dispute {
    DisputeId id;
    JobId job;
    Micro amount;
};
// Moves a part of the host's earnings of the job out of reach until the dispute ends. All open
// disputes of a job are at most what the host has of it (CONFLICT above). No more is held than
// there is in payable: how much that was, which may be nothing.
Micro dispute(Context context, const Dispute& dispute);
// What was held, which is payable again; again does nothing.
Micro end_dispute(Context context, DisputeId id);

// --- money that goes out

enum class Source { withdrawal, payout };  // from available, or from payable
BOOST_DESCRIBE_ENUM(Source, withdrawal, payout)

struct Lock {
    TransferId transfer;
    AccountId account;
    Asset asset;
    Micro amount;
    Source source;
};
// A payout leaves what matures where it is.
void lock(Context context, const Lock& lock);
// Each transfer ends once, settled or returned; a second end throws CONFLICT.
void settle(Context context, TransferId transfer);
void give_back(Context context, TransferId transfer);
// A withdrawal that the chain has paid already, and the books had lost: locked and settled at once.
// What `available` does not cover is an advance on earnings, so that only `payable` falls below
// zero and nobody else's balance bears it. How much that is.
Micro adopt(Context context, const Lock& lock);

// --- the operator's own money

struct Own {
    Movement movement;  // gas or one of those after it
    Asset asset;
    Micro amount;
    std::string transfer;  // its name on chain
};
void move_own(Context context, const Own& own);
std::string reference_of(const Own& own);
// Puts capital aside for promotional credits; throws CONFLICT when there is not as much of it.
void fund_campaign(Context context, Asset asset, Micro amount, const std::string& campaign);
// All fees of the platform, less those refunded and those that bore a host's debt; what was taken
// out of them is not taken off.
Micro fees_earned(db::Transaction& tx, Asset asset);

// --- what an account has

struct Balances {
    Micro available;
    Micro held;
    Micro payable;  // may be below zero
    Micro escrow;
    Micro reserved;
    Micro earned;  // all earnings less reversals
    Micro fees;    // of the jobs behind them, less reversals
    Micro paid;    // payouts that were settled
    Micro repaid;  // what made good a payable below zero, from available or by the platform

    // Payouts that are on their way: what was earned and is nowhere else.
    Micro requested() const { return earned + repaid - payable - escrow - paid; }
};
BOOST_DESCRIBE_STRUCT(Balances, (),
                      (available, held, payable, escrow, reserved, earned, fees, paid, repaid))
Balances balances(db::Transaction& tx, AccountId account, Asset asset);
// Whether the account ever paid something in, in any asset.
bool has_deposited(db::Transaction& tx, AccountId account);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::ledger
