#include "ledger/chart.hpp"

#include <algorithm>

namespace berth::ledger {
namespace {

constexpr std::array<std::string_view, 2> asset_names{"USDC", "USDT"};
constexpr std::array<std::string_view, pocket_count> pocket_names{
    "available", "held",     "payable",  "escrow",     "reserved",
    "treasury",  "outbound", "suspense", "fee_income"};
constexpr std::array<std::string_view, kind_count> kind_names{
    "deposit",         "hold",
    "hold_release",    "job_charge",
    "platform_fee",    "host_earning",
    "refund",          "refund_host_reversal",
    "refund_fee_reversal", "withdrawal_lock",
    "withdrawal_settled",  "withdrawal_returned",
    "payout_lock",     "payout_settled",
    "payout_returned", "dispute_hold",
    "dispute_release"};

using enum Kind;
using enum Side;

// Movement by movement; at most three legs.
struct Rule {
    Movement movement;
    std::string_view name;
    int size;
    std::array<Leg, 3> legs;
};
constexpr std::array<Rule, movement_count> rules{{
    {Movement::deposit, "deposit", 2,
     {{{deposit, Pocket::treasury, debit}, {deposit, Pocket::available, credit}, {}}}},
    {Movement::park, "park", 2,
     {{{deposit, Pocket::treasury, debit}, {deposit, Pocket::suspense, credit}, {}}}},
    {Movement::match, "match", 2,
     {{{deposit, Pocket::suspense, debit}, {deposit, Pocket::available, credit}, {}}}},
    {Movement::hold, "hold", 2,
     {{{hold, Pocket::available, debit}, {hold, Pocket::held, credit}, {}}}},
    {Movement::release, "release", 2,
     {{{hold_release, Pocket::held, debit}, {hold_release, Pocket::available, credit}, {}}}},
    {Movement::charge, "charge", 3,
     {{{job_charge, Pocket::held, debit},
       {host_earning, Pocket::payable, credit},
       {platform_fee, Pocket::fee_income, credit}}}},
    {Movement::refund, "refund", 3,
     {{{refund, Pocket::available, credit},
       {refund_host_reversal, Pocket::payable, debit},
       {refund_fee_reversal, Pocket::fee_income, debit}}}},
    {Movement::withdrawal_lock, "withdrawal_lock", 2,
     {{{withdrawal_lock, Pocket::available, debit}, {withdrawal_lock, Pocket::reserved, credit}, {}}}},
    {Movement::withdrawal_settle, "withdrawal_settle", 2,
     {{{withdrawal_settled, Pocket::reserved, debit},
       {withdrawal_settled, Pocket::outbound, credit},
       {}}}},
    {Movement::withdrawal_return, "withdrawal_return", 2,
     {{{withdrawal_returned, Pocket::reserved, debit},
       {withdrawal_returned, Pocket::available, credit},
       {}}}},
    {Movement::payout_lock, "payout_lock", 2,
     {{{payout_lock, Pocket::payable, debit}, {payout_lock, Pocket::reserved, credit}, {}}}},
    {Movement::payout_settle, "payout_settle", 2,
     {{{payout_settled, Pocket::reserved, debit}, {payout_settled, Pocket::outbound, credit}, {}}}},
    {Movement::payout_return, "payout_return", 2,
     {{{payout_returned, Pocket::reserved, debit}, {payout_returned, Pocket::payable, credit}, {}}}},
    {Movement::dispute, "dispute", 2,
     {{{dispute_hold, Pocket::payable, debit}, {dispute_hold, Pocket::escrow, credit}, {}}}},
    {Movement::dispute_end, "dispute_end", 2,
     {{{dispute_release, Pocket::escrow, debit}, {dispute_release, Pocket::payable, credit}, {}}}},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (static_cast<std::size_t>(rules[i].movement) != i) return false;
    return true;
}
static_assert(in_order(), "the table is indexed by movement");

template <class Enum, std::size_t Count>
std::optional<Enum> parse(const std::array<std::string_view, Count>& names, std::string_view text) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::span<const Leg> legs(Movement movement) {
    const Rule& rule = rules[static_cast<std::size_t>(movement)];
    return {rule.legs.data(), static_cast<std::size_t>(rule.size)};
}

std::string_view name(Asset asset) { return asset_names[static_cast<std::size_t>(asset)]; }
std::string_view name(Pocket pocket) { return pocket_names[static_cast<std::size_t>(pocket)]; }
std::string_view name(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }
std::string_view name(Movement movement) { return rules[static_cast<std::size_t>(movement)].name; }

std::optional<Asset> parse_asset(std::string_view text) { return parse<Asset>(asset_names, text); }
std::optional<Pocket> parse_pocket(std::string_view text) {
    return parse<Pocket>(pocket_names, text);
}
std::optional<Kind> parse_kind(std::string_view text) { return parse<Kind>(kind_names, text); }
std::optional<Movement> parse_movement(std::string_view text) {
    for (const Rule& rule : rules)
        if (rule.name == text) return rule.movement;
    return std::nullopt;
}

}  // namespace berth::ledger
