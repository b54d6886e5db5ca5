// Browser sessions: a row on the server, a cookie at the client, pinned to origin and user agent.
// The CSRF token is derived from the cookie's token, so that it changes whenever that does.
#pragma once

#include "accounts/code_keys.hpp"
#include "accounts/site.hpp"
#include "accounts/store.hpp"
#include "api/call.hpp"

namespace berth::accounts {

inline constexpr Duration session_lifetime = std::chrono::hours(12);
inline constexpr Duration session_idle_max = std::chrono::minutes(30);
inline constexpr Duration session_touch_after = std::chrono::minutes(1);
inline constexpr Duration pending_lifetime = std::chrono::minutes(10);

// The one cookie of that name; empty when there is none, or several.
std::optional<std::string_view> find_cookie(const http::Request& request, std::string_view name);

class Sessions {
public:
    Sessions(const Site& site, const CodeKeys& keys) : site_(site), keys_(keys) {}

    // What a new or rotated session gives the client, besides the cookie it sets.
    struct Fresh {
        std::string csrf_token;
        Time expires_at;
    };
    Fresh open(api::Call& call, AccountId account, bool pending) const;
    // A new token for the caller's session, which is no longer pending.
    Fresh rotate(api::Call& call) const;
    void close(api::Call& call) const;
    api::Page<OpenedSession> list(api::Call& call, const api::PageQuery& query) const;

    // The session of the request's cookie if it is good: not over, not idle, the same user agent,
    // an account that is not suspended.
    std::optional<OpenSession> find(const http::Request& request, db::Transaction& tx,
                                    Time now) const;
    bool is_named_by(const http::Request& request) const;  // it has our cookie, good or not
    // Throws a Problem FORBIDDEN when a request that changes something lacks Origin or CSRF token.
    void check_same_site(const http::Request& request) const;
    // The token alone: a browser sends no Origin to its own site when it only reads.
    void check_csrf(const http::Request& request) const;
    // A sign-in has no session yet: a browser elsewhere is told by its Origin.
    void check_origin(const http::Request& request) const;

    std::string csrf_token(const http::Request& request) const;  // of the request's cookie

private:
    bool has_csrf_token(const http::Request& request) const;
    std::string csrf_of(std::string_view token) const;
    void set_cookie(api::Call& call, std::string_view token, Duration lifetime) const;

    const Site& site_;
    const CodeKeys& keys_;
};

}  // namespace berth::accounts
