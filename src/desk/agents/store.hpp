// All SQL of agent profiles.
#pragma once

#include "agents/types.hpp"
#include "db/db.hpp"

namespace berth::agents {

void put_profile(db::Transaction& tx, AccountId account, const AgentProfile& profile, Time now);

}  // namespace berth::agents
