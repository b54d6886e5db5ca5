// The few pages the server itself shows: where a mailed link leads.
#pragma once

#include "api/router.hpp"

namespace berth::accounts {

// A page with one sentence and one button, and a script that is allowed by its hash alone.
struct ButtonPage {
    std::string_view title;
    std::string_view text;
    std::string_view button;
    std::string_view script;
};
api::Html button_page(api::Call& call, const ButtonPage& page);

// The token is behind the '#', which browsers do not send, and only the button's request carries
// it: a mail scanner that opens the link signs nobody in.
api::Html sign_in_page(api::Call& call);

// Of what one agrees to by registering; it is part of what an agent signs.
inline constexpr std::string_view terms_version = "2026-11-01";

}  // namespace berth::accounts
