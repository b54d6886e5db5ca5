#include "accounts/sessions.hpp"

#include <fmt/format.h>

#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "http/text.hpp"

namespace berth::accounts {
namespace {

Bytes user_agent_hash(const http::Request& request) {
    return crypto::sha256(request.headers.find("User-Agent").value_or(""));
}

// What the browser calls itself, cut and without letters that are not plain ones.
std::string shown_user_agent(const http::Request& request) {
    constexpr std::size_t bytes_max = 200;
    std::string text(request.headers.find("User-Agent").value_or("").substr(0, bytes_max));
    for (char& letter : text)
        if (letter < ' ' || letter > '~') letter = '?';
    return text;
}

// What the CSRF token of a session's token is the hash of.
std::string csrf_text(std::string_view token) { return fmt::format("csrf:{}", token); }

}  // namespace

std::optional<std::string_view> find_cookie(const http::Request& request, std::string_view name) {
    std::optional<std::string_view> found;
    for (const auto& field : request.headers) {
        if (!http::equal_without_case(field.name, "Cookie")) continue;
        for (std::string_view rest = field.value; !rest.empty();) {
            const std::size_t end = std::min(rest.find(';'), rest.size());
            const std::string_view pair = http::trim(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            const std::size_t sign = pair.find('=');
            if (sign == pair.npos || pair.substr(0, sign) != name) continue;
            if (found) return std::nullopt;  // somebody planted a second one
            found = pair.substr(sign + 1);
        }
    }
    return found;
}

bool Sessions::has_csrf_token(const http::Request& request) const {
    const auto given = request.headers.find("X-CSRF-Token");
    const auto hash = given ? from_base64url(*given) : std::nullopt;
    return hash && keys_.matches(*hash, csrf_text(find_cookie(request, site_.cookie).value_or("")));
}

std::string Sessions::csrf_of(std::string_view token) const {
    return to_base64url(keys_.hash(csrf_text(token)));
}

std::string Sessions::csrf_token(const http::Request& request) const {
    return csrf_of(find_cookie(request, site_.cookie).value_or(""));
}

void Sessions::set_cookie(api::Call& call, std::string_view token, Duration lifetime) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lifetime).count();
    call.add_header("Set-Cookie",
                    fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{}", site_.cookie,
                                token, seconds, site_.secure ? "; Secure" : ""));
}

Sessions::Fresh Sessions::open(api::Call& call, AccountId account, bool pending) const {
    const std::string token = crypto::make_token(issued::session, call.random);
    const Duration lifetime = pending ? pending_lifetime : session_lifetime;
    Session session;
    session.id = call.make_id<SessionId>();
    session.account = account;
    session.origin = site_.origin;
    session.user_agent_hash = user_agent_hash(call.request);
    session.pending = pending;
    session.user_agent = shown_user_agent(call.request);
    session.opened_from = call.request.client_address;
    session.created_at = call.now;
    session.expires_at = call.now + lifetime;
    add_session(call.tx(), session, crypto::sha256(token));
    set_cookie(call, token, lifetime);
    return {csrf_of(token), session.expires_at};
}

Sessions::Fresh Sessions::rotate(api::Call& call) const {
    const std::string token = crypto::make_token(issued::session, call.random);
    const auto expires_at = rotate_session(
        call.tx(),
        {{call.caller.credential_id}, crypto::sha256(token), call.now + session_lifetime});
    if (!expires_at) throw Problem(Code::unauthenticated, "the session has ended");
    set_cookie(call, token, *expires_at - call.now);
    return {csrf_of(token), *expires_at};
}

void Sessions::close(api::Call& call) const {
    delete_session(call.tx(), call.caller.account, {call.caller.credential_id});
    set_cookie(call, "", Duration{0});
}

api::Page<OpenedSession> Sessions::list(api::Call& call, const api::PageQuery& query) const {
    const api::Pager pager(call.cursors, {"sessions", ""}, query);
    const SessionsOf wanted{call.caller.account, call.now, call.now - session_idle_max,
                            pager.after_id<SessionId>()};
    const auto show = [&](const Session& session) -> OpenedSession {
        return {session.id,           session.id.uuid == call.caller.credential_id,
                session.pending,      session.user_agent,
                session.opened_from,  session.created_at,
                session.last_seen_at, session.expires_at};
    };
    return pager.page(list_sessions(call.tx(), wanted, pager.rows_wanted()), &Session::id, show);
}

std::optional<OpenSession> Sessions::find(const http::Request& request, db::Transaction& tx,
                                          Time now) const {
    const auto token = find_cookie(request, site_.cookie);
    if (!token || !crypto::looks_like_token(issued::session, *token)) return std::nullopt;
    auto found = find_session(tx, crypto::sha256(*token));
    if (!found) return std::nullopt;
    const Session& session = found->session;
    const bool good = session.expires_at > now && session.last_seen_at + session_idle_max > now &&
                      session.origin == site_.origin &&
                      session.user_agent_hash == user_agent_hash(request) &&
                      !found->account.suspended;
    return good ? found : std::nullopt;
}

bool Sessions::is_named_by(const http::Request& request) const {
    return find_cookie(request, site_.cookie).has_value();
}

void Sessions::check_same_site(const http::Request& request) const {
    if (request.headers.find("Origin") != site_.origin)
        throw Problem(Code::forbidden, "header.Origin: must be " + site_.origin);
    check_csrf(request);
}

void Sessions::check_csrf(const http::Request& request) const {
    if (!has_csrf_token(request))
        throw Problem(Code::forbidden, "header.X-CSRF-Token: must be that of this session");
}

void Sessions::check_origin(const http::Request& request) const {
    const auto origin = request.headers.find("Origin");
    if (origin && *origin != site_.origin)
        throw Problem(Code::forbidden, "header.Origin: must be " + site_.origin);
}

}  // namespace berth::accounts
