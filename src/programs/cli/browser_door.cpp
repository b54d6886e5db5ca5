#include "cli/browser_door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "crypto/hash.hpp"
#include "http/passing.hpp"
#include "http/text.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view enter_path = "/.berth/enter";
constexpr std::string_view session_name = "berth-opened";
constexpr std::size_t token_bytes_max = 1024;
constexpr std::size_t passed_bytes_max = std::size_t{16} * 1024 * 1024;
// A notebook may compute for long before it answers; what is dead is ended by its host.
constexpr auto first_byte_max = std::chrono::seconds(900);
constexpr auto silence_max = std::chrono::seconds(900);

constexpr std::string_view entry_page = R"(<!doctype html>
<meta charset="utf-8">
<title>berth</title>
<p id="said">Opening the rental.</p>
<script nonce="{}">
const said = document.getElementById('said');
const token = location.hash.slice(1);
const place = location.pathname + location.search;
history.replaceState(null, '', place);
if (!token) said.textContent = 'Open the address that berth rentals open has printed.';
else fetch('/.berth/enter', {{ method: 'POST', body: token }}).then((answer) => {{
  if (answer.ok) location.replace(place);
  else said.textContent = 'This address was used before. Start berth rentals open again.';
}});
</script>
)";

bool is_equal(std::string_view shown, std::string_view secret) {
    return crypto::equal_in_constant_time(crypto::sha256(shown), crypto::sha256(secret));
}

http::Response told(int status, std::string_view sentence) {
    http::Response response{.status = status, .content_type = "text/plain; charset=utf-8"};
    response.body = std::string(sentence) + "\n";
    response.headers.add("Cache-Control", "no-store");
    response.headers.add("X-Content-Type-Options", "nosniff");
    return response;
}

// A field of cookies in two: the value of the one that is named, and all others as they were.
struct Cookies {
    std::optional<std::string> named;
    std::string others;
};
Cookies split_cookies(const http::Headers& headers, std::string_view name) {
    Cookies out;
    for (const http::Headers::Field& field : headers) {
        if (!http::equal_without_case(field.name, "cookie")) continue;
        for (std::string_view rest = field.value; !rest.empty();) {
            const std::size_t end = std::min(rest.find(';'), rest.size());
            const std::string_view one = http::trim(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            const std::size_t equal = std::min(one.find('='), one.size());
            if (one.substr(0, equal) == name)
                out.named = std::string(one.substr(std::min(equal + 1, one.size())));
            else if (!one.empty())
                out.others += (out.others.empty() ? "" : "; ") + std::string(one);
        }
    }
    return out;
}

// Where a workload sends the browser: it knows itself by the names that its host calls it by.
std::string local_place(const std::string& place, const std::string& host) {
    const std::size_t scheme = place.find("://");
    if (!place.starts_with("http") || scheme == std::string::npos) return place;
    const std::size_t begin = scheme + 3;
    const std::size_t end = std::min(place.find_first_of("/?#", begin), place.size());
    const std::string authority = place.substr(begin, end - begin);
    const std::string name = authority.substr(0, authority.find(':'));
    if (name != "localhost" && name != host) return place;
    const std::string rest = place.substr(end);
    return rest.starts_with('/') ? rest : "/" + rest;
}

// A page cannot take our session's place, nor lead away from here by its own name.
void edit(http::Response& head, const std::string& host) {
    http::Headers kept;
    for (const http::Headers::Field& field : head.headers) {
        if (http::equal_without_case(field.name, "set-cookie") &&
            http::trim(field.value).starts_with(session_name))
            continue;
        if (http::equal_without_case(field.name, "location"))
            kept.add(field.name, local_place(field.value, host));
        else
            kept.add(field.name, field.value);
    }
    head.headers = std::move(kept);
}

}  // namespace

BrowserDoor::BrowserDoor(Behind behind, Secrets secrets, std::function<void()> entered)
    : behind_(std::move(behind)), secrets_(std::move(secrets)), entered_(std::move(entered)) {}

void BrowserDoor::set_port(std::uint16_t port) {
    authority_ = fmt::format("{}.localhost:{}", secrets_.label, port);
}

std::string BrowserDoor::address() const { return origin() + "/#" + secrets_.token; }

std::size_t BrowserDoor::body_bytes_max(const http::Request& head) {
    if (refusal(head) != 0) return 0;
    if (head.path() == enter_path) return token_bytes_max;
    return is_in(head) ? passed_bytes_max : 0;
}

void BrowserDoor::handle(http::Request request, http::Reply reply) {
    if (const int status = refusal(request))
        return reply(told(status, "This is not a page that may be here."));
    if (request.path() == enter_path) return reply(let_in(request));
    if (!is_in(request)) return reply(entry());
    if (request.unread == http::Unread::too_large)
        return reply(told(413, "A body may have 16 MiB here."));
    if (request.unread != http::Unread::nothing)
        return reply(told(503, "Too much is on its way; try again later."));
    pass_on(std::move(request), reply);
}

// Who asks for another address knows not this one; who comes from another page has no business.
int BrowserDoor::refusal(const http::Request& request) const {
    constexpr int misdirected = 421;
    constexpr int forbidden = 403;
    if (request.headers.find("Host") != authority_) return misdirected;
    const auto from = request.headers.find("Origin");
    const auto site = request.headers.find("Sec-Fetch-Site");
    // A page that tells nobody where it is sends this with its own forms. Scripts cannot set the
    // other field, and a page without an origin of its own is of another site.
    const bool is_unnamed = from == "null" && site == "same-origin" && request.path() != enter_path;
    const bool is_known = from == origin() || is_unnamed;
    if (from && (!is_known || request.headers.count("Origin") != 1)) return forbidden;
    const bool is_foreign = site && *site != "same-origin" && *site != "none";
    const bool is_followed = request.method == "GET" && request.switch_to.empty() &&
                             request.headers.find("Sec-Fetch-Mode") == "navigate" &&
                             request.headers.find("Sec-Fetch-Dest") == "document";
    return is_foreign && !is_followed ? forbidden : 0;
}

bool BrowserDoor::is_in(const http::Request& request) const {
    const auto session = split_cookies(request.headers, session_name).named;
    return session && is_equal(*session, secrets_.session);
}

http::Response BrowserDoor::let_in(const http::Request& request) {
    const bool is_ours = request.method == "POST" && request.headers.find("Origin") == origin();
    if (!is_ours || is_token_used_ || request.unread != http::Unread::nothing ||
        !is_equal(request.body, secrets_.token))
        return told(403, "That is not the token, or it was used.");
    is_token_used_ = true;
    if (entered_) entered_();
    http::Response response{.status = 204};
    response.headers.add("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict",
                                                   session_name, secrets_.session));
    response.headers.add("Cache-Control", "no-store");
    return response;
}

// The same for every place, so that a link into the page works once the browser is in.
http::Response BrowserDoor::entry() const {
    http::Response response = told(401, "");
    response.content_type = "text/html; charset=utf-8";
    // It need not be secret: of this page there is one kind, and it shows nothing of anybody.
    const std::string nonce = to_hex(crypto::sha256(secrets_.label)).substr(0, 32);
    response.body = fmt::format(fmt::runtime(entry_page), nonce);
    response.headers.add("Referrer-Policy", "no-referrer");
    response.headers.add(
        "Content-Security-Policy",
        fmt::format("default-src 'none'; script-src 'nonce-{}'; connect-src 'self'; "
                    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                    nonce));
    return response;
}

void BrowserDoor::pass_on(http::Request request, const http::Reply& reply) const {
    const std::string cookies = split_cookies(request.headers, session_name).others;
    http::Headers kept;
    for (const http::Headers::Field& field : request.headers) {
        bool is_kept = true;
        for (const char* name : {"cookie", "authorization", "origin", "referer"})
            is_kept = is_kept && !http::equal_without_case(field.name, name);
        if (is_kept) kept.add(field.name, field.value);
    }
    if (!cookies.empty()) kept.add("Cookie", cookies);
    kept.add("Authorization", "Bearer " + behind_.key);
    request.headers = std::move(kept);
    http::UpstreamRequest onwards = http::onward(std::move(request), behind_.endpoint);
    onwards.try_again = true;
    onwards.first_byte_max = berth::cli::first_byte_max;
    onwards.silence_max = berth::cli::silence_max;
    http::Response response;
    response.source = http::pass_on(
        {.request = std::move(onwards),
         .unanswered = told(502,
                            "The rental does not answer, or with another key than it had. See "
                            "`berth rentals show`."),
         .edit = [host = behind_.endpoint.host](http::Response& head) { edit(head, host); }});
    reply(std::move(response));
}

}  // namespace berth::cli
