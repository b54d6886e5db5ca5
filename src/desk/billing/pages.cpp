#include "billing/pages.hpp"

#include <fmt/format.h>

#include "accounts/pages.hpp"
#include "ledger/settings.hpp"

namespace berth::billing {
namespace {

constexpr std::string_view terms = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Terms of service – {3}</title>
{4}<h1>Terms of service</h1>
<p>Version {0}</p>
<h2>Prices and settlement</h2>
<p>Prices are quoted in US dollars and settle one to one in units of the settlement asset, USDC or
USDT. A stablecoin can lose its peg to the dollar: one unit then is worth more or less than one
dollar, and you bear that risk for the balance you keep here.</p>
<p>A rental is billed by the millisecond from the moment the host is ready, at the rate of its
quote, and never above its budget.</p>
<h2>For hosts</h2>
<p>The commission is {1}% and comes out of your listed price; it is never added on top of it. What
you receive for a charge is the charge less the commission. It can be paid out {2} hours after it
was posted. What a renter is refunded is taken back from it, and owed where it was paid out.</p>
<h2>Funding</h2>
<p>Balances are prepaid by transfers on Base from a wallet you have bound to your account. We never
ask for a private key.</p>
</html>
)";

// "10", "2.5", "0.01"
std::string percent(std::int64_t hundredths) {
    std::string text = fmt::format("{}.{:02}", hundredths / 100, hundredths % 100);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

}  // namespace

api::Html terms_page(api::Call& call) {
    call.add_header("Content-Security-Policy",
                    "default-src 'none'; img-src 'self'; frame-ancestors 'none'");
    return {fmt::format(terms, accounts::terms_version,
                        percent(*call.settings<ledger::Settings>().platform_fee_bps),
                        *call.settings<ledger::Settings>().payout_delay_hours,
                        accounts::brand_name(call), accounts::brand_line(call))};
}

}  // namespace berth::billing
