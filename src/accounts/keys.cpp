#include "accounts/keys.hpp"

#include <algorithm>

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
    const std::string secret = crypto::make_token(crypto::api_key_prefix, call.random);
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
    notices_.send(call, {order.account, "an API key was made", key_sentence(row.prefix)});
    return {row.id,         {row.name},     row.prefix,   scopes_of(row),
            row.created_at, row.expires_at, std::nullopt, {secret}};
}

IssuedKey Keys::create(api::Call& call, const NewKey& request) const {
    if (request.expires_at &&
        (*request.expires_at <= call.now || *request.expires_at > call.now + key_lifetime_max))
        throw Problem(Code::invalid_input,
                      "body.expires_at: must lie in the future, at most 400 days ahead");
    call.require_step_up();
    return issue(call, {call.caller.account, request.name.value, request.scopes,
                        request.expires_at});
}

api::Page<ApiKey> Keys::show(api::Call& call, const api::PageQuery& query) const {
    const api::Pager pager(call.cursors, {"api keys", ""}, query);
    std::optional<KeyId> after;
    if (pager.after()) after = KeyId{parse_uuid(*pager.after()).value()};
    std::vector<ApiKey> items;
    for (const KeyRow& row :
         list_keys(call.tx(), call.caller.account, after, pager.rows_wanted()))
        items.push_back({row.id, {row.name}, row.prefix, scopes_of(row), row.created_at,
                         row.expires_at, row.last_used_at});
    return pager.page(std::move(items), [](const ApiKey& key) { return to_string(key.key_id); });
}

void Keys::remove(api::Call& call, KeyId id) const {
    const auto prefix = find_key_prefix(call.tx(), call.caller.account, id);
    if (!prefix) throw Problem(Code::not_found, "no such key");
    call.require_step_up();
    revoke_key(call.tx(), id, call.now);
    notices_.send(call, {call.caller.account, "an API key was revoked", key_sentence(*prefix)});
}

}  // namespace berth::accounts
