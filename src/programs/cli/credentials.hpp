// What a command would replace or forget: nothing here drops the last credential of an account
// without a question, and never without a copy. Other accounts belong into other profiles.
#pragma once

#include <string>
#include <string_view>

#include "cli/context.hpp"

namespace berth::cli {

bool has_key(const Profile& profile);  // wherever it is kept

// Whether the account stays reachable without the key: by mail, or by the wallet of the profile.
bool can_make_another_key(const Profile& profile);

// Whether the profile is another account's, or one of another server. One that has neither a key
// nor an account is free, whatever wallet it names.
bool is_of_another(const Profile& profile, const std::string& server, const std::string& account);

// Says whose credentials the profile holds and that a copy stays, and asks the question; --yes
// answers it. Where nobody can be asked, and with any answer but yes, it throws a Failure that says
// `instead`.
void agree_to_drop(Context& context, const Profiles& profiles, const std::string& question,
                   const std::string& instead);

// Copies the profile with its key into a file of its own, mode 0600, that no command touches again;
// put back under `profiles` it is the profile again. Says where it is, and returns that. Throws a
// Failure when the desktop's secret service does not give the key out.
std::string copy_credentials(Context& context, const Profiles& profiles);

// Of a profile that a command is about to fill with a key of this account: agree_to_drop(), where
// it is another's.
void agree_to_fill(Context& context, const std::string& account);
// The profile to be filled, after its credentials were copied where they are another's; `copy` is
// where, else empty.
Profile make_room(Context& context, const std::string& account, std::string& copy);

// Asks before the key that this very command uses, or that of its profile, is ended.
void agree_to_revoke(Context& context, const std::string& key_id);

}  // namespace berth::cli
