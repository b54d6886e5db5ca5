// What becomes of how one gets into an account, when its owner leaves.
#pragma once

#include "accounts/operators.hpp"

namespace berth::accounts {

// Nobody gets in any more: suspended, every session over, every key revoked. False, and nothing
// happens, when the account is at another version.
bool shut(db::Transaction& tx, const Seen& seen, Time now);

// Forgets who the owner was: the mailbox and all former ones with their mail and their places on
// the allow list, authenticator, networks, names of keys, the hub's token. The row stays, since the
// books name the account by its number.
void forget_person(db::Transaction& tx, const Record& account, Time now);

// The networks from which somebody got in, as they are kept.
std::vector<std::string> list_networks(db::Transaction& tx, AccountId account);

}  // namespace berth::accounts
