// What every module with routes, tables and settings includes, beside the standard headers.
#pragma once
#include "api/page.hpp"
#include "api/router.hpp"
#include "db/query.hpp"
#include "precompiled.hpp"
#include "settings/registry.hpp"
#include "wire/wire.hpp"
