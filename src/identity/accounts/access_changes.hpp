// Accounts whose sessions, keys or rights have changed, by a number that rises in the order of the
// commits: whoever serves somebody for long (a stream of events) looks what is new since its last
// look, and asks again whether those may still be served. Like events it takes its number last.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "base/wake.hpp"
#include "db/db.hpp"

namespace berth::accounts {

// For who ends a session or key, or changes what an account may do, in the same transaction.
void note_access_change(db::Transaction& tx, AccountId account);

// Woken after the commit of such a change.
inline constexpr std::string_view access_topic = "access";

struct AccessChanges {
    std::int64_t epoch = 0;           // of the last change of all
    std::vector<AccountId> accounts;  // changed after the epoch that was asked about
};
std::int64_t current_access_epoch(db::Transaction& tx);
AccessChanges access_changes_since(db::Transaction& tx, std::int64_t epoch);

}  // namespace berth::accounts
