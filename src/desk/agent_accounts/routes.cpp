// The routes of agent registration, one declaration each.
#include "agent_accounts/agents.hpp"
#include "agent_accounts/settings.hpp"

namespace berth::agent_accounts {

using api::Access;
using api::Body;
using api::Call;
using api::Work;

namespace {

const api::RateRule challenge_rate{"challenge",
                                   api::rate_setting<&Settings::rate_challenge_per_hour>,
                                   std::chrono::hours(1), api::RateRule::By::address};

}  // namespace

void Agents::add_routes(api::Router& router) const {
    router.add(
        {.method = "POST",
         .path = "/api/v1/agents/accounts/challenge",
         .name = "challenge_agent",
         .group = "agents",
         .summary = "A message for an agent to sign with its wallet.",
         .access = Access::anyone,
         .work = Work::write,
         .rate = &challenge_rate},
        [this](Call& call, const Body<AskChallenge>& body) { return challenge(call, *body); });
    router.add(
        {.method = "POST",
         .path = "/api/v1/agents/accounts",
         .name = "register_agent",
         .group = "agents",
         .summary = "Opens the account of the wallet that signed, or gives it a new key.",
         .access = Access::anyone,
         .work = Work::write,
         .status = 201,
         .errors = {{Code::authorization_invalid,
                     "the message is not the one that was issued, was used, or is not "
                     "signed by its address"},
                    {Code::forbidden,
                     "the account is suspended, the wallet belongs to a person, or another one has "
                     "taken its place"},
                    {Code::forbidden, "the market is closed, and the wallet is on no allow list"}},
         .body_bytes_max = api::registration_body_bytes_max},
        [this](Call& call, const Body<RegisterAgent>& body) { return enlist(call, *body); });
}

}  // namespace berth::agent_accounts
