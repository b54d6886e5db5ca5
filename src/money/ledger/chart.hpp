// The chart of accounts: which pockets there are, which movements between them are allowed, and
// under which kind each side of a movement is booked. This table is the whole of what the ledger
// can do; no other combination can be expressed, and `berthd check ledger` holds every row to it.
#pragma once

#include <boost/describe.hpp>

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace berth::ledger {

enum class Asset { usdc, usdt };
BOOST_DESCRIBE_ENUM(Asset, usdc, usdt)
inline constexpr std::array assets{Asset::usdc, Asset::usdt};
constexpr std::string_view wire_name(Asset asset) { return asset == Asset::usdc ? "USDC" : "USDT"; }

// A customer has the first five, with a running balance each. The platform has the others;
// their balances are sums of entries, because one row that every transaction changed would be the
// slowest thing in the service.
enum class Pocket {
    available,   // may be spent or withdrawn
    held,        // promised to jobs that are not over
    payable,     // a host's earnings; below zero when it owes for a refund, or by an advance
    escrow,      // a host's earnings under dispute
    reserved,    // on the way out, until the chain says what became of it
    treasury,    // what came in on chain
    outbound,    // what went out on chain
    suspense,    // came in, and nobody has claimed it
    fee_income,  // the platform's fees
    expenses,    // what the platform paid for gas
    cold,        // what lies in cold storage (a debit)
    capital,     // the operator's own money that was put in
    promotions,  // what of it is set aside for promotional credits
};
BOOST_DESCRIBE_ENUM(Pocket, available, held, payable, escrow, reserved, treasury, outbound,
                    suspense, fee_income, expenses, cold, capital, promotions)
inline constexpr int pocket_count = static_cast<int>(Pocket::promotions) + 1;
inline constexpr int customer_pocket_count = static_cast<int>(Pocket::reserved) + 1;
constexpr bool of_customer(Pocket pocket) { return pocket <= Pocket::reserved; }

// What an entry is called on a statement.
enum class Kind {
    deposit,
    hold,
    hold_release,
    job_charge,
    platform_fee,
    host_earning,
    refund,
    refund_host_reversal,
    refund_fee_reversal,
    withdrawal_lock,
    withdrawal_settled,
    withdrawal_returned,
    payout_lock,
    payout_settled,
    payout_returned,
    dispute_hold,
    dispute_release,
    advance,
    debt_repaid,     // a host's own money, for what payable is below zero
    debt_covered,    // the platform's, for a refund that the host's earnings do not pay
    credit_hold,     // a promotional credit that pays for a job
    credit_release,  // what of it the job did not take
    // Of the platform alone; no customer has such an entry.
    credit_refund,  // what was refunded of a charge that a credit paid
    gas,
    fee_take_out,
    cold_storage,
    top_up,
    suspense_return,
    campaign_fund,
    campaign_end,
};
BOOST_DESCRIBE_ENUM(Kind, deposit, hold, hold_release, job_charge, platform_fee, host_earning,
                    refund, refund_host_reversal, refund_fee_reversal, withdrawal_lock,
                    withdrawal_settled, withdrawal_returned, payout_lock, payout_settled,
                    payout_returned, dispute_hold, dispute_release, advance, debt_repaid,
                    debt_covered, credit_hold, credit_release, credit_refund, gas, fee_take_out,
                    cold_storage, top_up, suspense_return, campaign_fund, campaign_end)
inline constexpr int kind_count = static_cast<int>(Kind::campaign_end) + 1;

enum class Side { debit, credit };  // a debit lowers what we owe the owner, a credit raises it
BOOST_DESCRIBE_ENUM(Side, debit, credit)

enum class Movement {
    deposit,  // a transfer that was claimed
    park,     // a transfer that nobody has claimed
    match,    // the claim of a parked transfer
    hold,
    release,
    charge,
    refund,
    withdrawal_lock,
    withdrawal_settle,
    withdrawal_return,
    payout_lock,
    payout_settle,
    payout_return,
    dispute,
    dispute_end,
    advance,             // earnings to come that were paid already, for a payment that was adopted
    debt_repay,          // from available to a payable below zero
    debt_cover_fees,     // a part of a refund that the platform bears, from its fees
    debt_cover_capital,  // and from the operator's own money
    credit_hold,         // a promotional credit, for a job
    credit_release,      // what of it the job did not take
    credit_refund,       // a refund of what a credit paid, which goes back to where it came from
    gas,                 // paid out of the treasury
    fee_take_out,        // fee income, taken out by the operator
    to_cold,             // from the treasury to cold storage
    from_cold,           // and back
    top_up,              // a transfer in suspense that is the operator's own
    suspense_return,     // one that went back to its sender
    campaign_fund,       // capital that is set aside for credits
    campaign_end,        // and what of it nobody took
};
BOOST_DESCRIBE_ENUM(Movement, deposit, park, match, hold, release, charge, refund, withdrawal_lock,
                    withdrawal_settle, withdrawal_return, payout_lock, payout_settle, payout_return,
                    dispute, dispute_end, advance, debt_repay, debt_cover_fees, debt_cover_capital,
                    credit_hold, credit_release, credit_refund, gas, fee_take_out, to_cold,
                    from_cold, top_up, suspense_return, campaign_fund, campaign_end)
inline constexpr int movement_count = static_cast<int>(Movement::campaign_end) + 1;

struct Leg {
    Kind kind;
    Pocket pocket;
    Side side;
};

// The legs of a movement, in the order in which their amounts are given.
std::span<const Leg> legs(Movement movement);

// Names as they are stored and shown.
std::string_view name(Asset asset);  // "USDC"
std::string_view name(Pocket pocket);
std::string_view name(Kind kind);
std::string_view name(Movement movement);
std::optional<Asset> parse_asset(std::string_view text);
std::optional<Pocket> parse_pocket(std::string_view text);
std::optional<Kind> parse_kind(std::string_view text);
std::optional<Movement> parse_movement(std::string_view text);

}  // namespace berth::ledger
