// What accounts keep sealed, and in which context.
#pragma once

#include "crypto/seal.hpp"
#include "db/db.hpp"

namespace berth::accounts {

std::string totp_context(AccountId account);
std::string recovery_context(AccountId account);
std::string integration_context(AccountId account, std::string_view provider);

// Brings all of it under the present key, a page to a transaction.
void reseal(db::Database& database, crypto::Resealing& resealing);

}  // namespace berth::accounts
