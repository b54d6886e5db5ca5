#include "accounts/keys.hpp"

#include <algorithm>

#include "accounts/policies.hpp"
#include "crypto/hash.hpp"
#include "crypto/token.hpp"

namespace berth::accounts {
namespace {

bool has(const Scopes& scopes, Scope scope) {
    return std::find(scopes.value.begin(), scopes.value.end(), scope) != scopes.value.end();
}

Scopes scopes_of(const KeyRow& row) {
    Scopes scopes;
    if (row.renter) scopes.value.push_back(Scope::renter);
    if (row.host) scopes.value.push_back(Scope::host);
    return scopes;
}

std::string key_sentence(const std::string& prefix) { return "It begins with " + prefix + "."; }

}  // namespace

IssuedKey Keys::issue(api::Call& call, const Order& order) const {
    const std::string secret = crypto::make_token(issued::api_key, call.random);
    KeyRow row;
    row.id = call.make_id<KeyId>();
    row.key_hash = crypto::sha256(secret);
    row.account = order.account;
    row.name = order.name;
    row.prefix = secret.substr(0, key_prefix_letters);
    row.renter = has(order.scopes, Scope::renter);
    row.host = has(order.scopes, Scope::host);
    row.created_at = call.now;
    row.expires_at = order.expires_at;
    add_key(call.tx(), row);
    if (order.policy) add_policy(call.tx(), row.id, *order.policy);
    notices_.send(call, {.account = order.account,
                         .action = "make_api_key",
                         .what = "an API key was made",
                         .detail = key_sentence(row.prefix),
                         .changes = {{"key_id", std::nullopt, to_string(row.id)}},
                         .key_prefix = row.prefix});
    return {row.id,         {row.name},   row.prefix, scopes_of(row), row.created_at,
            row.expires_at, std::nullopt, {secret},   order.policy};
}

IssuedKey Keys::create(api::Call& call, const NewKey& request) const {
    if (request.expires_at &&
        (*request.expires_at <= call.now || *request.expires_at > call.now + key_lifetime_max))
        throw Problem(Code::invalid_input,
                      "body.expires_at: must lie in the future, at most 400 days ahead");
    call.require_step_up();
    auto expires_at = request.expires_at;
    if (call.caller.agent && !expires_at) expires_at = call.now + key_lifetime_max;
    return issue(call, {call.caller.account, request.name.value, request.scopes, expires_at,
                        request.policy});
}

api::Page<ApiKey> Keys::show(api::Call& call, const api::PageQuery& query) const {
    const api::Pager pager(call.cursors, {"api keys", ""}, query);
    const auto show = [&](const KeyRow& row) -> ApiKey {
        return {row.id,         {row.name},     row.prefix,       scopes_of(row),
                row.created_at, row.expires_at, row.last_used_at, find_policy(call.tx(), row.id)};
    };
    return pager.page(
        list_keys(call.tx(), call.caller.account, pager.after_id<KeyId>(), pager.rows_wanted()),
        &KeyRow::id, show);
}

void Keys::remove(api::Call& call, KeyId id) const {
    const auto prefix = find_key_prefix(call.tx(), call.caller.account, id);
    if (!prefix) throw Problem(Code::not_found, "no such key");
    call.require_step_up();
    revoke_key(call.tx(), call.caller.account, id, call.now);
    notices_.send(call, {.account = call.caller.account,
                         .action = "revoke_api_key",
                         .what = "an API key was revoked",
                         .detail = key_sentence(*prefix),
                         .changes = {{"key_id", to_string(id), std::nullopt}},
                         .key_prefix = *prefix});
}

void Keys::revoke_all(api::Call& call, AccountId account) const {
    revoke_keys(call.tx(), account, call.now);
}

Grant Keys::grant(api::Call& call, Purpose purpose) const {
    const Time until = call.now + step_up_lifetime;
    set_step_up(call.tx(), KeyId{call.caller.credential_id}, purpose, until);
    return {call.make_id<GrantId>(), purpose, until, std::nullopt};
}

}  // namespace berth::accounts
