// Step-up: a fresh proof of presence, good for five minutes and one purpose. People give a code, by
// mail or of their authenticator, and the grant belongs to their session; an agent has only its
// wallet, signs a challenge, and the grant belongs to the key that asked.
#pragma once

#include "accounts/accounts.hpp"
#include "wallets/challenges.hpp"
#include "wallets/types.hpp"

namespace berth::wallets {

class StepUps {
public:
    StepUps(const Challenges& challenges, const accounts::Accounts& accounts)
        : challenges_(challenges), accounts_(accounts) {}

    void add_routes(api::Router& router) const;

    StepUpChallenge challenge(api::Call& call, const AskStepUpChallenge& request) const;
    accounts::Grant step_up(api::Call& call, const AskStepUp& request) const;

private:
    accounts::Grant by_wallet(api::Call& call, const StepUpByWallet& request) const;

    const Challenges& challenges_;
    const accounts::Accounts& accounts_;
};

}  // namespace berth::wallets
