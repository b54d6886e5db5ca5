#include "transfers/pages.hpp"

#include "accounts/pages.hpp"

namespace berth::transfers {
namespace {

constexpr std::string_view said = R"({
    INTENT: 'Confirmed. The money is on its way.',
    CANCELLED: 'The address is saved. The balance does not cover the transfer any more.',
  }[body.state] || 'Confirmed. The address is saved.')";

}  // namespace

api::Html confirm_page(api::Call& call) {
    const std::string script =
        accounts::token_script({.before_id = "/api/v1/confirmations/", .said = said});
    return accounts::button_page(call, {.title = "Confirm",
                                        .text = "Press the button to confirm the new address, and "
                                                "the transfer that waits for it.",
                                        .button = "Confirm",
                                        .script = script});
}

}  // namespace berth::transfers
