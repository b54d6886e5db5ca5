// `berthd secrets rotate`: one step of exchanging seal.key and cursor.key, and a sentence that says
// what to do before the next one.
#pragma once

#include "db/db.hpp"
#include "server/settings.hpp"

namespace berth::server {

// `alone`: there is one server, so the first two steps are one.
int rotate_secrets(const settings::Given& given, bool alone);

// Seals everything with the present key. Throws std::runtime_error with one sentence when a value
// opens with none of the keys, or no server has been started with the new ones.
std::string reseal(const std::string& secrets_folder, db::Database& database, const Clock& clock,
                   Random& random);

}  // namespace berth::server
