// What operators may set about money that goes out.
#pragma once

#include "ledger/ledger.hpp"
#include "settings/registry.hpp"

namespace berth::transfers {

struct Settings {
    static constexpr auto category = settings::Category::money;

    settings::Amount transfer_min_micro{
        Micro{1'000'000},
        {1, ledger::amount_max.value},
        {.label = "Smallest transfer",
         .help = "Least that one withdrawal or payout may be for, unless it is all there is.",
         .unit = "micro-units"}};
    settings::Whole gas_fee_max_gwei{50,
                                     {1, 10'000},
                                     {.label = "Highest gas fee",
                                      .help = "Most that is paid per gas for a transfer on chain.",
                                      .unit = "gwei"}};
    settings::Flag payouts_paused{
        false,
        {.label = "Payouts paused",
         .help = "Nothing that leaves is signed; what was requested waits."}};
    settings::Amount payouts_account_day_max_micro{
        Micro{100'000'000'000},
        {1, ledger::amount_max.value},
        {.label = "Most per account and day",
         .help = "What more of one account was requested within 24 hours waits; one transfer above "
                 "it is refused.",
         .unit = "micro-units"}};
    settings::Amount payouts_day_max_micro{
        Micro{1'000'000'000'000},
        {1, ledger::amount_max.value},
        {.label = "Most per day",
         .help = "What more of all accounts was requested within 24 hours waits. Of each account "
                 "counts what left less what came in, so that sending money round uses up "
                 "nobody else's share.",
         .unit = "micro-units"}};
    settings::Whole address_cooling_hours{
        24,
        {0, 720},
        {.label = "Cooling-off of addresses",
         .help = "How long a transfer waits after its address was saved, unless its owner had an "
                 "authenticator for 24 hours by then; an agent's own wallet does not wait.",
         .unit = "hours"}};
    settings::Whole payee_refusals_max{
        3,
        {1, 100},
        {.label = "Refused payments that bar an address",
         .help = "After so many in a row that its token would not take, nothing is sent to an "
                 "address until an operator lifts the bar.",
         .unit = "payments"}};
    settings::Whole reverts_in_a_row_max{
        5,
        {1, 1000},
        {.label = "Reverts that hold payments",
         .help = "After so many payments to different addresses were reverted on the chain, and "
                 "none was taken in between, nothing is signed until books and chain were "
                 "compared.",
         .unit = "payments"}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (transfer_min_micro, gas_fee_max_gwei, payouts_paused,
                       payouts_account_day_max_micro, payouts_day_max_micro, address_cooling_hours,
                       payee_refusals_max, reverts_in_a_row_max))

}  // namespace berth::transfers
