#include "transfers/pages.hpp"

#include "accounts/pages.hpp"

namespace berth::transfers {
namespace {

constexpr std::string_view script = R"(
const status = document.querySelector('p');
const button = document.querySelector('button');
button.addEventListener('click', async () => {
  button.disabled = true;
  const id = location.pathname.split('/').pop();
  const answer = await fetch('/api/v1/confirmations/' + id, {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({token: location.hash.slice(1)}),
  });
  const body = await answer.json();
  if (!answer.ok) {
    status.textContent = body.error.message;
    button.disabled = !body.error.retryable;
    return;
  }
  history.replaceState(null, '', location.pathname);
  status.textContent = {
    INTENT: 'Confirmed. The money is on its way.',
    CANCELLED: 'The address is saved. The balance does not cover the transfer any more.',
  }[body.state] || 'Confirmed. The address is saved.';
});
)";

}  // namespace

api::Html confirm_page(api::Call& call) {
    return accounts::button_page(call, {.title = "Confirm",
                                        .text = "Press the button to confirm the new address, and "
                                                "the transfer that waits for it.",
                                        .button = "Confirm",
                                        .script = script});
}

}  // namespace berth::transfers
