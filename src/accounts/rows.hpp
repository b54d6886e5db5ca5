// How rows of accounts and keys are read; shared by the two halves of the store.
#pragma once

#include "accounts/store.hpp"

namespace berth::accounts {

inline constexpr std::size_t account_columns = 7;  // account_id … totp_secret

Account read_account(const db::Result::Row& row);                      // from column 0
KeyRow read_key(const db::Result::Row& row, std::size_t first_column); // key_id … last_used_at
std::string_view role_name(Role role);

}  // namespace berth::accounts
