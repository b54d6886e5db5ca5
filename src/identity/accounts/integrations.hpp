// Tokens of other services that an account leaves with us: today the model hub's. A token is sealed
// at rest and leaves only in the command that starts a rental.
#pragma once

#include "accounts/store.hpp"
#include "api/call.hpp"
#include "crypto/seal.hpp"

namespace berth::accounts {

inline constexpr std::string_view hub_provider = "huggingface";

class Integrations {
public:
    explicit Integrations(const crypto::Sealer& sealer) : sealer_(sealer) {}

    Integration show(api::Call& call, const ProviderPath& path) const;
    Integration put(api::Call& call, const ProviderPath& path, const HubToken& request) const;
    void remove(api::Call& call, const ProviderPath& path) const;
    // The hub's token itself, for the command that starts a rental; none when none was left.
    std::optional<std::string> hub_token(db::Transaction& tx, AccountId account) const;

private:
    const crypto::Sealer& sealer_;
};

}  // namespace berth::accounts
