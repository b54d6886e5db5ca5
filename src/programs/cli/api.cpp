#include "cli/api.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>

#include "accounts/site.hpp"
#include "api/call.hpp"
#include "base/letters.hpp"
#include "base/version.hpp"
#include "cli/reading.hpp"
#include "cli/ssh_key.hpp"
#include "http/text.hpp"

namespace berth::cli {
namespace {

// Without the version: a session is pinned to the name it began with, and outlives an upgrade.
constexpr std::string_view session_user_agent = "berth-cli";
constexpr std::string_view default_server = "http://127.0.0.1:8080";
constexpr Duration answer_max = std::chrono::seconds(60);
constexpr Duration hurried_answer_max = std::chrono::seconds(2);  // somebody has pressed Tab
// The relay gives an engine 600 s to begin; with a little more its own answer comes first.
constexpr Duration relayed_answer_max = std::chrono::seconds(630);
constexpr std::size_t answer_bytes_max = wire::Document::text_bytes_max;

bool is_change(const Request& request) {
    return request.method != "GET" && request.method != "HEAD";
}

bool is_worth_another_try(const http::Response& response) {
    const std::string_view told = response.headers.find("x-should-retry").value_or("");
    if (told == "true" || told == "false") return told == "true";
    return response.status == 429 || response.status == 503;
}

// The text that a path spells; a sign that is not followed by two digits stands for itself.
std::string percent_decode(std::string_view path) {
    std::string out;
    for (std::size_t i = 0; i < path.size(); ++i) {
        const bool is_encoded = path[i] == '%' && i + 2 < path.size() &&
                                is_hex_digit(path[i + 1]) && is_hex_digit(path[i + 2]);
        out += is_encoded ? static_cast<char>(hex_value(path[i + 1]) * 16 + hex_value(path[i + 2]))
                          : path[i];
        if (is_encoded) i += 2;
    }
    return out;
}

std::string_view reason_to_wait(int status) {
    if (status == 429) return "too many requests";
    return status == 503 ? "the service is not available" : "the server says: once more";
}

// name=value of the session's cookie. Balancers and shields set cookies of their own.
std::optional<std::string> session_cookie(const http::Headers& headers) {
    for (const http::Headers::Field& field : headers) {
        if (!http::equal_without_case(field.name, "set-cookie")) continue;
        const std::string_view pair =
            std::string_view(field.value).substr(0, field.value.find(';'));
        const std::string_view name = pair.substr(0, pair.find('='));
        if (name == accounts::secure_cookie || name == accounts::plain_cookie)
            return std::string(pair);
    }
    return std::nullopt;
}

// The API gives no page; a portal that wants a click first does, and calls that good.
bool is_page(const http::Response& response) {
    constexpr std::string_view page = "text/html";
    return http::equal_without_case(response.content_type.substr(0, page.size()), page);
}

Failure failure_of(int status, const std::string& body) {
    if (status >= 300 && status < 400)
        return {Exit::unexpected,
                "the server answers with a redirect, which is not followed; "
                "give its own address with --server"};
    const Exit exit = exit_of_status(status);
    try {
        const Reading answer(body);
        // An engine may spread its own over many lines.
        const std::string line = body.find('\n') == body.npos ? body : answer.text(Reading::root);
        const std::string code = answer.text("error.code");
        const std::string message = answer.text("error.message");
        if (!code.empty()) return {exit, fmt::format("{} ({})", message, code), line};
        if (!message.empty()) return {exit, message, line};  // an engine's
    } catch (const Failure&) {
    }
    return {exit, fmt::format("the server answered {} without saying why", status)};
}

}  // namespace

bool is_relayed(const Request& request) {
    const std::string_view path = std::string_view(request.path).substr(0, request.path.find('?'));
    return path.starts_with("/api/v1/jobs/") && path.find("/openai/v1/") != path.npos;
}

Target choose_target(const Profiles& profiles, const std::string& server_flag) {
    const auto variable = [](const char* name) {
        const char* const value = ::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    const auto profile = profiles.load();
    const std::string named = variable("BERTH_SERVER");
    Target target;
    target.ca_file = variable("BERTH_CA_FILE");
    target.api_key = variable("BERTH_API_KEY");
    target.key_is_given = !target.api_key.empty();
    std::string usual = named;
    if (usual.empty() && profile) usual = profile->server;
    if (usual.empty())  // a new profile is for the server of the usual one
        if (const auto other = Profiles("default").load()) usual = other->server;
    const std::string server = !server_flag.empty() ? server_flag : usual;
    target.origin = parse_origin(server.empty() ? default_server : server);
    if (target.key_is_given) {
        target.key_is_for = usual.empty() ? target.origin : parse_origin(usual);
    } else if (profile && profile->api_key) {
        target.api_key = *profile->api_key;
        target.key_is_for = parse_origin(profile->server);
    }
    return target;
}

Uuid Api::make_key() { return make_uuid(SystemClock().now(), parts_.random); }

Access Api::access_for(Access wanted) {
    if (wanted != Access::key || !target_.api_key.empty()) return wanted;
    load_session();
    return session && session->server == target_.origin ? Access::session : wanted;
}

void Api::load_session() {
    if (session) return;
    session = parts_.profiles.load_session();
    session_is_kept_ = session.has_value();
}

void Api::keep_session() {
    session_is_kept_ = true;
    parts_.profiles.save_session(*session);
}

// The failure with advice for people: the command that makes another key or session.
Failure Api::explained(Failure failure, Access access) const {
    const std::string berth = parts_.profiles.command();
    if (failure.exit == Exit::refused &&
        failure.body.find("\"UNAUTHENTICATED\"") != std::string::npos)
        failure.message +=
            access == Access::session
                ? fmt::format(": `{} login --session`", berth)
                : fmt::format(": `{} login` or `{} agents register` makes another key", berth,
                              berth);
    return failure;
}

Failure Api::key_of_another() const {
    if (target_.key_is_given)
        return {Exit::refused,
                fmt::format("BERTH_API_KEY is taken for a key of {} and is not sent to {}; set "
                            "BERTH_SERVER to the server that it was made for",
                            target_.key_is_for, target_.origin)};
    return {Exit::refused, fmt::format("the key is for {} and is not sent to {}; choose another "
                                       "--profile, or sign in there",
                                       target_.key_is_for, target_.origin)};
}

http::Headers Api::headers_of(const Request& request) {
    http::Headers headers;
    headers.add("User-Agent", request.access == Access::key ? user_agent("berth-cli")
                                                            : std::string(session_user_agent));
    headers.add("Accept", request.as_csv ? "text/csv" : "application/json, text/event-stream");
    if (!request.body.empty()) headers.add("Content-Type", "application/json");
    if (request.access == Access::key) {
        if (target_.api_key.empty())
            throw Failure(Exit::refused,
                          "not signed in: `berth login`, `berth agents register`, "
                          "or set BERTH_API_KEY");
        if (target_.key_is_for != target_.origin) throw key_of_another();
        if (!can_be_token(target_.api_key))
            throw Failure(Exit::usage,
                          fmt::format("what {} has is no API key; nothing was sent",
                                      target_.key_is_given ? "BERTH_API_KEY" : "the profile"));
        headers.add("Authorization", "Bearer " + target_.api_key);
    }
    if (request.access == Access::session) {
        load_session();
        if (!session || session->server != target_.origin)
            throw Failure(Exit::refused, fmt::format("no session with {}: `berth login --session`",
                                                     target_.origin));
        headers.add("Cookie", session->cookie);
        headers.add("Origin", target_.origin);
        if (is_change(request)) headers.add("X-CSRF-Token", session->csrf_token);
    }
    if (is_change(request) && request.idempotency_key)
        headers.add("Idempotency-Key", to_string(*request.idempotency_key));
    return headers;
}

// A step-up and a second factor renew the cookie, and the token without which a session changes
// nothing.
void Api::renew_session(const http::Response& response) {
    auto given = session_cookie(response.headers);
    if (!given) return;
    if (!session) session = KeptSession{target_.origin, {}, {}, {}};
    session->cookie = std::move(*given);
    if (!response.body.empty())
        if (std::string token = Reading(response.body).text("csrf_token"); !token.empty())
            session->csrf_token = std::move(token);
    if (session_is_kept_) keep_session();
}

void Api::get_proof(const Request& request, const http::Response& refusal,
                    std::string_view purpose) {
    Failure failure = explained(failure_of(refusal.status, refusal.body), request.access);
    if (!prove) throw failure;
    const std::string instead = prove(request.access, purpose);
    if (instead.empty()) return;
    failure.message += ": " + instead;
    throw failure;
}

void Api::wait_before(int attempt, std::string_view why) {
    const Duration longest = std::min(delay_max, first_delay * (1 << attempt));
    const Duration delay(static_cast<std::int64_t>(
        parts_.random.below(static_cast<std::uint64_t>(longest.count()) + 1)));
    parts_.console.note(
        fmt::format("{}; trying again in {:.1f} s", why, static_cast<double>(delay.count()) / 1e6));
    parts_.sleep(delay);
}

Failure Api::too_large() const {
    return {Exit::unexpected,
            fmt::format("the answer of {} is larger than {} MiB, and was not read to its end",
                        target_.origin, answer_bytes_max >> 20)};
}

// What such an answer says of a change is nothing.
Failure Api::answered_by_page() const {
    return {
        Exit::unexpected,
        fmt::format("{} answers with a page for browsers, as no server of Berth does: a portal, "
                    "or another server, is in between",
                    target_.origin)};
}

Failure Api::no_answer(const http::TransportError& error, bool to_model) const {
    if (to_model && error.was_sent())
        return {Exit::network,
                fmt::format("{} broke off: {}; the model may have had the request, which is not "
                            "sent again",
                            target_.origin, error.what())};
    return {Exit::network, fmt::format("{} cannot be reached: {}{}", target_.origin, error.what(),
                                       target_.origin.starts_with("https:")
                                           ? ""
                                           : "; ./run starts a server, --server names another")};
}

Answer Api::send(const Request& asked) {
    Request request = asked;
    request.access = access_for(request.access);
    if (is_change(request) && !request.idempotency_key) request.idempotency_key = make_key();
    const bool to_model = is_relayed(request);
    check_body(request.body, to_model);
    if (holds_private_key(percent_decode(request.path)))
        throw Failure(Exit::usage, "a private key never leaves this machine; nothing was sent");
    // Neither signing in nor a model takes a key, and done twice it is not the same.
    const bool may_repeat = !is_change(request) || (request.access != Access::anyone && !to_model);
    bool streaming = false;
    bool is_proven = false;
    http::Outbound outbound{.method = request.method,
                            .url = target_.origin + request.path,
                            .headers = headers_of(request),
                            .body = request.body,
                            .total_max = !request.is_patient ? hurried_answer_max
                                         : to_model          ? relayed_answer_max
                                                             : answer_max,
                            .response_bytes_max = answer_bytes_max,
                            .ca_file = target_.ca_file,
                            .fresh_connection = !may_repeat};
    if (request.take) {
        outbound.take = [&](std::string_view bytes) {
            streaming = true;
            request.take(bytes);
        };
        outbound.is_over = request.is_over;
    }
    for (int attempt = 0;; ++attempt) {
        const bool is_last = !request.is_patient || attempt + 1 == attempts_max;
        try {
            const http::Response response = parts_.client.send(outbound);
            if (response.status >= 200 && response.status < 300) {
                if (is_page(response) && !request.may_be_page) throw answered_by_page();
                renew_session(response);
                return {response.status, response.body,
                        std::string(response.headers.find("Berth-Next-Cursor").value_or(""))};
            }
            const auto purpose = response.headers.find(api::step_up_header);
            if (purpose && !is_proven && request.is_patient) {
                get_proof(request, response, *purpose);
                is_proven = true;
                outbound.headers = headers_of(request);  // the proof has renewed the session
                continue;
            }
            if (!is_worth_another_try(response) || is_last)
                throw explained(failure_of(response.status, response.body), request.access);
            wait_before(attempt, reason_to_wait(response.status));
        } catch (const http::AnswerTooLarge&) {
            throw too_large();
        } catch (const http::TransportError& error) {
            const bool is_over = streaming || (error.was_sent() && !may_repeat);
            if (is_last || is_over) throw no_answer(error, to_model);
            wait_before(attempt, error.what());
        }
    }
}

bool can_be_token(std::string_view text) {
    const std::string_view digits = text.starts_with("0x") ? text.substr(2) : text;
    const bool is_wallet =
        digits.size() == 64 && std::all_of(digits.begin(), digits.end(), is_hex_digit);
    return !is_wallet &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string percent_encode(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~')
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

}  // namespace berth::cli
