// The page that a mailed confirmation link leads to.
#pragma once

#include "api/router.hpp"
#include "transfers/types.hpp"

namespace berth::transfers {

// The token is behind the '#', which browsers do not send, and only the button's request carries
// it: a mail scanner that opens the link confirms nothing. The page is the same for every id.
api::Html confirm_page(api::Call& call);

}  // namespace berth::transfers
