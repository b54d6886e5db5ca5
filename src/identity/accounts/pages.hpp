// The few pages the server itself shows: where a mailed link leads.
#pragma once

#include "api/router.hpp"

namespace berth::accounts {

// The operator's name and logo, as they stand above what a page says; the name as HTML.
std::string brand_line(const api::Call& call);
std::string brand_name(const api::Call& call);

// A page with one sentence and one button, and a script that is allowed by its hash alone.
struct ButtonPage {
    std::string_view title;
    std::string_view text;
    std::string_view button;
    std::string_view script;
};
api::Html button_page(api::Call& call, const ButtonPage& page);

// A script for it where the path ends in the id of what is asked about and the token is behind the
// '#': POST to `before_id` + id + `after_id`. `said` is JavaScript: what to say of the answer's
// `body`.
struct TokenScript {
    std::string_view before_id;
    std::string_view after_id = "";
    std::string_view said;
};
std::string token_script(const TokenScript& parts);

// Of what one agrees to by registering; it is part of what an agent signs.
inline constexpr std::string_view terms_version = "2026-11-01";

}  // namespace berth::accounts
