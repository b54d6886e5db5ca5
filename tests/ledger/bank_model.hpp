// What the callers of the bank test do to the ledger, and what must come of it: plain arithmetic
// that shares no code with the ledger. The worker draws its operations from the model, and the test
// holds the ledger to it.
//
// Each caller has renters and a host of its own, so the outcome of what it does to them is known
// beforehand. Other hosts are shared by all callers; what a caller does to those is a sum, and the
// sums of all callers are the balance. All of a caller's money is in one asset.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"

namespace berth::test::bank {

inline constexpr std::uint32_t callers = 64;
inline constexpr std::uint8_t renters = 2;  // slots 0 and 1
inline constexpr std::uint8_t own_host = renters;
inline constexpr std::uint8_t first_shared_host = own_host + 1;
inline constexpr std::uint8_t shared_hosts = 8;
inline constexpr std::uint8_t slots = first_shared_host + shared_hosts;
inline constexpr std::size_t batch_max = 6;  // operations in one database transaction

enum class Action : std::uint8_t {
    deposit,
    park,
    match,
    hold,
    raise,
    capture,
    release,
    refund,
    dispute,
    end_dispute,
    withdraw,
    pay_out,
    settle,
    give_back,
};

struct Operation {
    Action action{};
    std::uint8_t account = 0;  // slot of the renter, or of the host that is paid out
    std::uint8_t host = 0;     // slot, of a hold
    std::uint32_t number = 0;  // no other operation of the caller has it
    std::uint32_t target = 0;  // the number of the operation that made the job, transfer, …
    std::int64_t fee_bps = 0;  // of a hold
    std::int64_t amount = 0;   // the total charge of a capture
};

enum class Outcome : std::uint8_t {
    done,
    insufficient_funds,
    conflict,
    nothing,  // the database gave up, or the worker was killed before the commit
};

struct Balances {
    std::int64_t available = 0;
    std::int64_t held = 0;
    std::int64_t payable = 0;
    std::int64_t escrow = 0;
    std::int64_t reserved = 0;
    std::int64_t earned = 0;
    std::int64_t fees = 0;
    std::int64_t paid = 0;

    Balances& operator+=(const Balances& other);
    friend bool operator==(const Balances&, const Balances&) = default;
};

// What the platform has, of this caller's doing.
struct Platform {
    std::int64_t treasury = 0;
    std::int64_t outbound = 0;
    std::int64_t suspense = 0;
    std::int64_t fee_income = 0;
};

struct Job {
    std::uint32_t number = 0;
    std::uint8_t renter = 0;
    std::uint8_t host = 0;
    std::int64_t fee_bps = 0;
    std::int64_t budget = 0;
    std::int64_t charged = 0;
    std::int64_t refunded = 0;
    std::int64_t disputed = 0;
    bool closed = false;

    std::int64_t fee(std::int64_t charge) const { return charge * fee_bps / 10'000; }
    std::int64_t left_to_host() const {
        return charged - refunded - (fee(charged) - fee(refunded));
    }
};

// A dispute, a transfer or a parked deposit: open once, then closed.
struct Pending {
    std::uint32_t number = 0;
    std::uint8_t account = 0;
    std::uint32_t job = 0;
    std::int64_t amount = 0;
    bool payout = false;
    bool closed = false;
};

// All of one caller. Small, because old jobs are forgotten: trying something is done on a copy.
struct State {
    std::array<Balances, slots> balances{};
    Platform platform;
    std::vector<Job> jobs;
    std::vector<Pending> disputes;
    std::vector<Pending> transfers;
    std::vector<Pending> parked;
};

struct Caller {
    std::uint32_t number = 0;      // 0 .. callers - 1
    std::uint32_t operations = 0;  // begun so far, which is also the number of the next
    std::uint32_t batches = 0;     // begun so far
    State state;
};

using Batch = std::vector<Operation>;

// What the caller does next. Most of it succeeds.
Batch draw(const Caller& caller, std::mt19937_64& random);

// Carries out one operation on `state`. The references of the ledger transactions it must leave are
// added to `references`.
Outcome apply(State& state, std::uint32_t caller, const Operation& operation,
              std::vector<std::string>& references);
// All of them or, with the outcome of the first that is refused, none.
Outcome apply(State& state, std::uint32_t caller, const Batch& batch,
              std::vector<std::string>& references);

// Whether others decide: the payout of a shared host depends on what they have done to it.
bool depends_on_others(const Batch& batch);

// The ids by which the ledger knows what operations made, and the accounts.
Uuid object_id(std::uint32_t caller, std::uint32_t number);
AccountId account_id(std::uint32_t caller, std::uint8_t slot);
ledger::Asset asset_of(std::uint32_t caller);
std::string deposit_reference(std::uint32_t caller, std::uint32_t number);

// The worker's diary: the operations of a batch before it is begun, its outcome after it ended.
// SIGKILL may end a write where a page of the file ends. Notes fill a page, so that what is left of
// a write is whole notes, and the next one begins where a note begins.
struct alignas(64) Note {
    enum class Kind : std::uint8_t { operation, end } kind{};
    Outcome outcome{};
    std::uint32_t caller = 0;
    std::uint32_t batch = 0;
    Operation operation;
};
static_assert(4096 % sizeof(Note) == 0);

inline constexpr std::string_view add_mark_sql =
    "INSERT INTO bank_marks (caller, batch) VALUES ($1, $2)";
inline constexpr std::string_view find_mark_sql =
    "SELECT batch FROM bank_marks WHERE caller = $1 AND batch = $2";

}  // namespace berth::test::bank
