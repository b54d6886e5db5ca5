// The tables of rentals.
#pragma once

#include "db/migrate.hpp"

namespace berth::rentals {

extern const std::span<const db::Migration> migrations;

}  // namespace berth::rentals
