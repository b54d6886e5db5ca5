// All SQL of agent profiles.
#pragma once

#include "agent_accounts/types.hpp"
#include "db/db.hpp"

namespace berth::agent_accounts {

void put_profile(db::Transaction& tx, AccountId account, const AgentProfile& profile, Time now);

}  // namespace berth::agent_accounts
