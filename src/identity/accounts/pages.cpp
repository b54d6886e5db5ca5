#include "accounts/pages.hpp"

#include <fmt/format.h>

#include "accounts/settings.hpp"
#include "api/reference.hpp"
#include "crypto/hash.hpp"

namespace berth::accounts {
namespace {

constexpr std::string_view page = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{0} – {4}</title>
{5}<h1>{0}</h1>
<p>{1}</p>
<button type="button">{2}</button>
<script>{3}</script>
</html>
)";

}  // namespace

std::string brand_line(const api::Call& call) {
    const bool has_logo = call.settings<Branding>().logo->bytes != nullptr;
    return fmt::format("<header>{}{}</header>\n",
                       has_logo ? R"(<img src="/branding/logo" alt="" height="24"> )" : "",
                       api::html_escaped(brand(call)));
}

std::string brand_name(const api::Call& call) { return api::html_escaped(brand(call)); }

api::Html button_page(api::Call& call, const ButtonPage& content) {
    call.add_header(
        "Content-Security-Policy",
        fmt::format(
            "default-src 'none'; connect-src 'self'; img-src 'self'; "
            "script-src 'sha256-{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            to_base64(crypto::sha256(content.script))));
    call.add_header("Referrer-Policy", "no-referrer");
    return {fmt::format(page, content.title, content.text, content.button, content.script,
                        brand_name(call), brand_line(call))};
}

std::string token_script(const TokenScript& parts) {
    std::string text = R"(
const status = document.querySelector('p');
const button = document.querySelector('button');
button.addEventListener('click', async () => {
  button.disabled = true;
  const id = location.pathname.split('/').pop();
  const answer = await fetch(')";
    text.append(parts.before_id)
        .append("' + id + '")
        .append(parts.after_id)
        .append(R"(', {
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
  status.textContent = )")
        .append(parts.said)
        .append(R"(;
});
)");
    return text;
}

}  // namespace berth::accounts
