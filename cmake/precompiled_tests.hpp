// What nearly every test that has a server includes.
#pragma once
#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "ledger/ledger.hpp"
#include "precompiled_routes.hpp"
#include "support/machines.hpp"
#include "support/process.hpp"
#include "support/town.hpp"
