// Every migration of the program. Apart from the features, so that what only needs the tables does
// not see everything else.
#pragma once

#include <vector>

#include "db/migrate.hpp"

namespace berth::server {

std::vector<db::Migration> schema();  // in order

}  // namespace berth::server
