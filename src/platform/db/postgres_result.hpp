// What PostgreSQL answers, in our terms: binary columns as cells, SQLSTATEs as failures.
#pragma once

#include "db/engine.hpp"

struct pg_result;

namespace berth::db {

// `first_use` tells that the statement was prepared together with this run of it, so that a plan
// that became stale cannot be the reason.
Failure failure_of(const pg_result* result, bool first_use);

Result result_of(const pg_result* result, Failure& failure);

}  // namespace berth::db
