#include "ledger/chart.hpp"

#include "base/enum_names.hpp"

namespace berth::ledger {
namespace {

static_assert(EnumTable<Asset>::names.size() == assets.size() &&
                  EnumTable<Pocket>::names.size() == pocket_count &&
                  EnumTable<Kind>::names.size() == kind_count &&
                  EnumTable<Movement>::names.size() == movement_count,
              "every word of the ledger is described");

using enum Kind;
using enum Side;

// Movement by movement; at most three legs.
struct Rule {
    Movement movement;
    int size;
    std::array<Leg, 3> legs;
};
constexpr std::array<Rule, movement_count> rules{{
    {Movement::deposit,
     2,
     {{{deposit, Pocket::treasury, debit}, {deposit, Pocket::available, credit}, {}}}},
    {Movement::park,
     2,
     {{{deposit, Pocket::treasury, debit}, {deposit, Pocket::suspense, credit}, {}}}},
    {Movement::match,
     2,
     {{{deposit, Pocket::suspense, debit}, {deposit, Pocket::available, credit}, {}}}},
    {Movement::hold, 2, {{{hold, Pocket::available, debit}, {hold, Pocket::held, credit}, {}}}},
    {Movement::release,
     2,
     {{{hold_release, Pocket::held, debit}, {hold_release, Pocket::available, credit}, {}}}},
    {Movement::charge,
     3,
     {{{job_charge, Pocket::held, debit},
       {host_earning, Pocket::payable, credit},
       {platform_fee, Pocket::fee_income, credit}}}},
    {Movement::refund,
     3,
     {{{refund, Pocket::available, credit},
       {refund_host_reversal, Pocket::payable, debit},
       {refund_fee_reversal, Pocket::fee_income, debit}}}},
    {Movement::withdrawal_lock,
     2,
     {{{withdrawal_lock, Pocket::available, debit},
       {withdrawal_lock, Pocket::reserved, credit},
       {}}}},
    {Movement::withdrawal_settle,
     2,
     {{{withdrawal_settled, Pocket::reserved, debit},
       {withdrawal_settled, Pocket::outbound, credit},
       {}}}},
    {Movement::withdrawal_return,
     2,
     {{{withdrawal_returned, Pocket::reserved, debit},
       {withdrawal_returned, Pocket::available, credit},
       {}}}},
    {Movement::payout_lock,
     2,
     {{{payout_lock, Pocket::payable, debit}, {payout_lock, Pocket::reserved, credit}, {}}}},
    {Movement::payout_settle,
     2,
     {{{payout_settled, Pocket::reserved, debit}, {payout_settled, Pocket::outbound, credit}, {}}}},
    {Movement::payout_return,
     2,
     {{{payout_returned, Pocket::reserved, debit},
       {payout_returned, Pocket::payable, credit},
       {}}}},
    {Movement::dispute,
     2,
     {{{dispute_hold, Pocket::payable, debit}, {dispute_hold, Pocket::escrow, credit}, {}}}},
    {Movement::dispute_end,
     2,
     {{{dispute_release, Pocket::escrow, debit}, {dispute_release, Pocket::payable, credit}, {}}}},
    {Movement::advance,
     2,
     {{{advance, Pocket::payable, debit}, {advance, Pocket::available, credit}, {}}}},
    {Movement::debt_repay,
     2,
     {{{debt_repaid, Pocket::available, debit}, {debt_repaid, Pocket::payable, credit}, {}}}},
    {Movement::debt_cover_fees,
     2,
     {{{debt_covered, Pocket::fee_income, debit}, {debt_covered, Pocket::payable, credit}, {}}}},
    {Movement::debt_cover_capital,
     2,
     {{{debt_covered, Pocket::capital, debit}, {debt_covered, Pocket::payable, credit}, {}}}},
    {Movement::credit_hold,
     2,
     {{{credit_hold, Pocket::promotions, debit}, {credit_hold, Pocket::held, credit}, {}}}},
    {Movement::credit_release,
     2,
     {{{credit_release, Pocket::held, debit}, {credit_release, Pocket::promotions, credit}, {}}}},
    {Movement::credit_refund,
     3,
     {{{credit_refund, Pocket::promotions, credit},
       {refund_host_reversal, Pocket::payable, debit},
       {refund_fee_reversal, Pocket::fee_income, debit}}}},
    {Movement::gas, 2, {{{gas, Pocket::expenses, debit}, {gas, Pocket::outbound, credit}, {}}}},
    {Movement::fee_take_out,
     2,
     {{{fee_take_out, Pocket::fee_income, debit}, {fee_take_out, Pocket::outbound, credit}, {}}}},
    {Movement::to_cold,
     2,
     {{{cold_storage, Pocket::cold, debit}, {cold_storage, Pocket::outbound, credit}, {}}}},
    {Movement::from_cold,
     2,
     {{{cold_storage, Pocket::suspense, debit}, {cold_storage, Pocket::cold, credit}, {}}}},
    {Movement::top_up,
     2,
     {{{top_up, Pocket::suspense, debit}, {top_up, Pocket::capital, credit}, {}}}},
    {Movement::suspense_return,
     2,
     {{{suspense_return, Pocket::suspense, debit},
       {suspense_return, Pocket::outbound, credit},
       {}}}},
    {Movement::campaign_fund,
     2,
     {{{campaign_fund, Pocket::capital, debit}, {campaign_fund, Pocket::promotions, credit}, {}}}},
    {Movement::campaign_end,
     2,
     {{{campaign_end, Pocket::promotions, debit}, {campaign_end, Pocket::capital, credit}, {}}}},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (static_cast<std::size_t>(rules[i].movement) != i) return false;
    return true;
}
static_assert(in_order(), "the table is indexed by movement");

}  // namespace

std::span<const Leg> legs(Movement movement) {
    const Rule& rule = rules[static_cast<std::size_t>(movement)];
    return {rule.legs.data(), static_cast<std::size_t>(rule.size)};
}

std::string_view name(Asset asset) { return enum_name(asset); }
std::string_view name(Pocket pocket) { return enum_name(pocket); }
std::string_view name(Kind kind) { return enum_name(kind); }
std::string_view name(Movement movement) { return enum_name(movement); }

std::optional<Asset> parse_asset(std::string_view text) { return parse_enum<Asset>(text); }
std::optional<Pocket> parse_pocket(std::string_view text) { return parse_enum<Pocket>(text); }
std::optional<Kind> parse_kind(std::string_view text) { return parse_enum<Kind>(text); }
std::optional<Movement> parse_movement(std::string_view text) { return parse_enum<Movement>(text); }

}  // namespace berth::ledger
