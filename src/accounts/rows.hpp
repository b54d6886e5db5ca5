// How rows of accounts are read; shared by the two halves of the store.
#pragma once

#include "accounts/store.hpp"

namespace berth::accounts {

inline constexpr std::size_t account_columns = 7;  // account_id … totp_secret

Account read_account(const db::Result::Row& row);  // from column 0
std::string_view role_name(Role role);

}  // namespace berth::accounts
