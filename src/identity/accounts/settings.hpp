// What operators may set about sign-in, and the name and address that users read.
#pragma once

#include <memory>

#include "api/call.hpp"
#include "api/settings.hpp"

namespace berth::accounts {

std::string parse_contact(const std::string& text);

inline constexpr std::size_t logo_bytes_max = 16 * 1024;
struct Logo {
    std::string type{};                          // "image/png"; empty: there is none
    std::shared_ptr<const std::string> bytes{};  // null likewise
};
// A picture that can run nothing: an SVG is refused, and what its first bytes say it is it must be
// to its last.
Logo parse_logo(const std::string& base64);

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Whole rate_sign_in_per_hour{
        20,
        api::rate_bounds,
        {.label = "Sign-ins of an address",
         .help = "Sign-in mails that one network address may ask for.",
         .unit = "per hour"}};
    settings::Whole rate_sign_in_codes_per_hour{
        5,
        api::rate_bounds,
        {.label = "Sign-in codes of an address",
         .help = "Sign-in codes that one address may ask for one mailbox.",
         .unit = "per hour"}};
    settings::Whole rate_sign_in_mails_per_hour{
        20,
        api::rate_bounds,
        {.label = "Sign-in mails",
         .help = "Sign-in mails that one mailbox may get, whoever asks; the share fills up evenly, "
                 "one mail in five minutes always goes out, and networks that signed in before "
                 "have a share of their own.",
         .unit = "per hour"}};
    settings::Whole rate_codes_per_hour{
        5,
        api::rate_bounds,
        {.label = "Code mails",
         .help = "Other mails with a code that one mailbox may get, for each "
                 "purpose, and new addresses that one account may name.",
         .unit = "per hour"}};
    settings::Flag market_closed{
        false,
        {.label = "Market closed",
         .help = "New accounts are made only for addresses, domains and wallets of the allow list; "
                 "accounts that are there stay."}};
};
BOOST_DESCRIBE_STRUCT(Settings, (),
                      (rate_sign_in_per_hour, rate_sign_in_codes_per_hour,
                       rate_sign_in_mails_per_hour, rate_codes_per_hour, market_closed))

struct Branding {
    static constexpr auto category = settings::Category::branding;

    settings::Text name{"Berth",
                        settings::short_text,
                        {.label = "Name",
                         .help = "The name of the service that users read.",
                         .flag = "branding-name"}};
    settings::Whole hue{
        218,
        {0, 359},
        {.label = "Hue",
         .help = "The colour of the console, as its hue; how light it is is not for operators to "
                 "say, so that every hue can be read.",
         .unit = "degrees",
         .flag = "branding-hue"}};
    settings::Parsed<Logo> logo{
        "",
        parse_logo,
        {.label = "Logo",
         .help = "A PNG or WebP picture of at most 16 KiB, in base64; it is shown 24 pixels high. "
                 "Empty: none.",
         .flag = "branding-logo"}};
};
BOOST_DESCRIBE_STRUCT(Branding, (), (name, hue, logo))

inline const std::string& brand(const api::Call& call) { return *call.settings<Branding>().name; }

struct Contact {
    static constexpr auto category = settings::Category::contact;

    settings::Text support_email{
        "",
        parse_contact,
        {.label = "Support address", .help = "Address on receipts to write to; empty: none."}};
};
BOOST_DESCRIBE_STRUCT(Contact, (), (support_email))

}  // namespace berth::accounts
