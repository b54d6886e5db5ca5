// What a command on an account comes to, as counts: asked before and after it was carried out.
#pragma once

#include "accounts/operators.hpp"
#include "api/call.hpp"
#include "api/preview.hpp"

namespace berth::admin {

// What an account has that a command may end or stop.
struct AtStake {
    accounts::Record user;
    std::vector<std::string> sessions = {};
    std::vector<std::string> keys = {};
    std::vector<std::string> rentals = {};    // on its side as a renter
    Micro held = {};                          // for them
    std::vector<std::string> machines = {};   // for rent
    std::vector<std::string> transfers = {};  // not signed yet
    Micro leaving = {};                       // with them
};
AtStake look_at(api::Call& call, AccountId account);

void add_effects(api::ActionPreview& preview, const AtStake& before, const AtStake& after);

}  // namespace berth::admin
