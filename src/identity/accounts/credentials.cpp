#include "accounts/credentials.hpp"

#include "crypto/hash.hpp"
#include "crypto/token.hpp"
#include "http/text.hpp"

namespace berth::accounts {
namespace {

constexpr Duration key_touch_after = std::chrono::minutes(1);
constexpr std::size_t credentials_at_once = 64;  // asked for in one round trip

bool changes_something(const http::Request& request) {
    return request.method != "GET" && request.method != "HEAD";
}

// The key in an Authorization header, if it has the form of one; the scheme has no case.
std::optional<std::string_view> key_in(std::string_view header) {
    constexpr std::string_view scheme = "Bearer ";
    if (!http::equal_without_case(header.substr(0, scheme.size()), scheme)) return std::nullopt;
    const std::string_view secret = header.substr(scheme.size());
    if (!crypto::looks_like_token(issued::api_key, secret)) return std::nullopt;
    return secret;
}

constexpr std::string_view key_columns[] = {"key_hash", "account_id", "renter",
                                            "host",     "expires_at", "revoked_at"};
constexpr std::string_view account_columns[] = {"kind", "suspended", "host_capability"};

}  // namespace

std::vector<db::Watched> watched_of_keys() {
    return {{"api_keys", key_columns}, {"accounts", account_columns}};
}

std::vector<bool> find_good(db::Transaction& tx, const std::vector<HeldCredential>& held,
                            Time now) {
    std::vector<bool> good;
    for (std::size_t from = 0; from < held.size(); from += credentials_at_once) {
        const std::size_t end = std::min(held.size(), from + credentials_at_once);
        std::vector<db::Transaction::Ticket> tickets;
        for (std::size_t i = from; i < end; ++i)
            tickets.push_back(
                held[i].kind == api::Credential::api_key
                    ? ask_for_good_key(tx, {held[i].id}, now)
                    : ask_for_good_session(tx, {held[i].id}, {now, now - session_idle_max}));
        for (const auto& ticket : tickets) good.push_back(!tx.finish(ticket).empty());
    }
    return good;
}

Rights rights_of(const api::Caller& caller) {
    return {caller.renter, caller.host, caller.admin || caller.finance || caller.support};
}

std::vector<std::optional<Rights>> find_rights(db::Transaction& tx,
                                               const std::vector<HeldCredential>& held, Time now) {
    std::vector<std::optional<Rights>> all;
    all.reserve(held.size());
    const auto is_key = [&](std::size_t i) { return held[i].kind == api::Credential::api_key; };
    for (std::size_t from = 0; from < held.size(); from += credentials_at_once) {
        const std::size_t end = std::min(held.size(), from + credentials_at_once);
        std::vector<db::Transaction::Ticket> tickets;
        for (std::size_t i = from; i < end; ++i)
            tickets.push_back(is_key(i) ? ask_for_key_rights(tx, {held[i].id}, now)
                                        : ask_for_session_rights(tx, {held[i].id},
                                                                 {now, now - session_idle_max}));
        for (std::size_t i = from; i < end; ++i) {
            const db::Result result = tx.finish(tickets[i - from]);
            all.push_back(is_key(i) ? key_rights_in(result) : session_rights_in(result));
        }
    }
    return all;
}

bool Credentials::may_identify(const http::Request& head) const {
    if (head.headers.count("Authorization") > 1) return false;
    if (const auto header = head.headers.find("Authorization")) return key_in(*header).has_value();
    return head.headers.find("Cookie").has_value();
}

api::Caller Credentials::identify(const http::Request& request, db::Transaction& tx, Time now) {
    if (request.headers.count("Authorization") > 1)
        throw api::InvalidCredential("header.Authorization: must be given once");
    if (const auto header = request.headers.find("Authorization"))
        return identify_key(*header, tx, now);
    return identify_session(request, tx, now);
}

api::Caller Credentials::identify_key(std::string_view header, db::Transaction& tx,
                                      Time now) const {
    const auto secret = key_in(header);
    if (!secret)
        throw api::InvalidCredential("header.Authorization: must be Bearer and an API key");
    const auto key = find_key(tx, crypto::sha256(*secret));
    if (!key || (key->expires_at && *key->expires_at <= now))
        throw api::InvalidCredential("the API key is unknown, or has ended");

    api::Caller caller;
    caller.credential = api::Credential::api_key;
    caller.account = key->account;
    caller.renter = key->renter;
    caller.host = key->host && key->host_capability;
    caller.agent = key->kind == Kind::agent;
    caller.credential_id = key->id.uuid;
    caller.step_up_until = key->step_up_until;
    caller.use_is_stale = !key->last_used_at || *key->last_used_at + key_touch_after <= now;
    caller.ends_at = key->expires_at;
    return caller;
}

api::Caller Credentials::identify_session(const http::Request& request, db::Transaction& tx,
                                          Time now) const {
    const auto found = sessions_.find(request, tx, now);
    if (!found && !sessions_.is_named_by(request))
        throw Problem(
            Code::unauthenticated,
            "a credential is required: an API key as Authorization: Bearer, or a session");
    if (!found) throw api::InvalidCredential("the session has ended; sign in again");
    if (changes_something(request)) sessions_.check_same_site(request);
    const bool pending = found->session.pending;
    api::Caller caller;
    caller.credential = pending ? api::Credential::pending_session : api::Credential::session;
    caller.account = found->account.id;
    caller.renter = !pending;
    caller.host = !pending && found->account.host_capability;
    const bool proven = !pending && found->account.totp_secret.has_value();
    caller.admin = proven && found->account.role == Role::admin;
    caller.finance = proven && found->account.desk_role == DeskRole::finance;
    caller.support = proven && found->account.desk_role == DeskRole::support;
    caller.credential_id = found->session.id.uuid;
    caller.step_up_until = found->session.step_up_until;
    caller.use_is_stale = found->session.last_seen_at + session_touch_after <= now;
    caller.ends_at = found->session.expires_at;
    return caller;
}

void Credentials::check_own_page(const http::Request& request) const {
    sessions_.check_csrf(request);
}

void Credentials::note_use(const api::Caller& caller, db::Transaction& tx, Time now) {
    if (caller.credential == api::Credential::api_key)
        touch_key(tx, {caller.credential_id}, now);
    else
        touch_session(tx, {caller.credential_id}, now);
}

}  // namespace berth::accounts
