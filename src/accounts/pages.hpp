// The page a mailed link opens. The token is behind the '#', which browsers do not send, and only
// the button's request carries it: a mail scanner that opens the link signs nobody in.
#pragma once

#include "api/router.hpp"

namespace berth::accounts {

api::Html sign_in_page(api::Call& call);

}  // namespace berth::accounts
