// Every migration of the program, and what it remembers of its tables. Apart from the features, so
// that what only needs the tables does not see everything else.
#pragma once

#include <vector>

#include "db/changes.hpp"
#include "db/migrate.hpp"

namespace berth::server {

std::vector<db::Migration> schema();  // in order
std::vector<db::Watched> watched();

}  // namespace berth::server
