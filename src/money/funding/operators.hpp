// What operators look through of what comes in: intents, claims that wait for the chain, deposits.
#pragma once

#include "api/router.hpp"
#include "funding/operator_types.hpp"

namespace berth::funding {

void add_operator_routes(api::Router& router);

api::Page<AdminIntent> list_all_intents(api::Call& call, const AdminIntentsQuery& query);
api::Page<AdminClaim> list_all_claims(api::Call& call, const AdminClaimsQuery& query);
api::Page<AdminDeposit> list_all_deposits(api::Call& call, const AdminDepositsQuery& query);

}  // namespace berth::funding
