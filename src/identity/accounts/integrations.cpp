#include "accounts/integrations.hpp"

#include "accounts/resealing.hpp"

namespace berth::accounts {
namespace {

void check_provider(const ProviderPath& path) {
    if (path.provider.value != hub_provider) throw Problem(Code::not_found, "no such provider");
}

}  // namespace

Integration Integrations::show(api::Call& call, const ProviderPath& path) const {
    check_provider(path);
    const auto row = find_integration(call.tx(), call.caller.account, path.provider.value);
    Integration out{path.provider, row.has_value(), std::nullopt};
    if (row) out.updated_at = row->updated_at;
    return out;
}

Integration Integrations::put(api::Call& call, const ProviderPath& path,
                              const HubToken& request) const {
    check_provider(path);
    const AccountId account = call.caller.account;
    const std::string context = integration_context(account, path.provider.value);
    put_integration(call.tx(), account, path.provider.value,
                    {sealer_.seal({request.token.value, context}, call.random), call.now});
    return {path.provider, true, call.now};
}

void Integrations::remove(api::Call& call, const ProviderPath& path) const {
    check_provider(path);
    delete_integration(call.tx(), call.caller.account, path.provider.value);
}

std::optional<std::string> Integrations::hub_token(db::Transaction& tx, AccountId account) const {
    const auto row = find_integration(tx, account, hub_provider);
    if (!row) return std::nullopt;
    const std::string context = integration_context(account, hub_provider);
    auto token = sealer_.open({row->sealed_token, context});
    require(token.has_value(), "what we sealed opens");
    return std::move(*token);
}

}  // namespace berth::accounts
