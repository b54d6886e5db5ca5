// The routes of wallets, one declaration each.
#include "wallets/wallets.hpp"

namespace berth::wallets {

using api::Access;
using api::Body;
using api::Call;
using api::Path;
using api::StepUp;
using api::Work;

namespace {

// A contract that makes the providers disagree costs each of them its gas with every try, and its
// nonce stays good.
const api::RateRule link_rate{"wallet links",
                              [](const settings::Snapshot&) { return links_per_ten_minutes; },
                              std::chrono::minutes(10), api::RateRule::By::account};

}  // namespace

void Wallets::add_routes(api::Router& router) const {
    step_ups_.add_routes(router);
    router.add({.method = "POST",
                .path = "/api/v1/wallets/nonce",
                .name = "make_wallet_nonce",
                .group = "wallets",
                .summary = "A nonce for one EIP-4361 message, bound to this session.",
                .access = Access::session,
                .work = Work::write,
                .step_up = StepUp::wallet,
                .idempotent = true,
                .status = 201},
               [this](Call& call, const api::Query<NonceQuery>& query) {
                   return make_nonce(call, *query);
               });
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/wallets/link",
         .name = "link_wallet",
         .group = "wallets",
         .summary = "Binds a wallet by its signed message; of one that is a contract the chain is "
                    "asked (ERC-1271).",
         .access = Access::session,
         .work = Work::write,
         .step_up = StepUp::wallet,
         .idempotent = true,
         .status = 201,
         .errors = {{Code::authorization_invalid,
                     "the message is not the one that was issued, was used, or is not "
                     "signed by its address"},
                    {Code::conflict, "the wallet belongs to another account"},
                    {Code::unavailable, "the chain cannot be asked now; nothing was changed"}},
         .rate = &link_rate},
        [this](Call& call, const Body<LinkWallet>& body) { return prepare_link(call, *body); },
        [this](Call& call, const LinkFacts& facts, const Body<LinkWallet>& body) {
            return link(call, facts, *body);
        });
    router.add({.method = "GET",
                .path = "/api/v1/wallets",
                .name = "list_wallets",
                .group = "wallets",
                .summary = "The account's wallets, unlinked ones too."},
               [this](Call& call) { return list(call); });
    router.add({.method = "DELETE",
                .path = "/api/v1/wallets/{binding_id}",
                .name = "unlink_wallet",
                .group = "wallets",
                .summary = "Blocks a wallet from further use; its address stays reserved.",
                .access = Access::session,
                .work = Work::write,
                .step_up = StepUp::wallet,
                .idempotent = true,
                .status = 204,
                .errors = {{Code::not_found, "the account has no such wallet"}}},
               [this](Call& call, const Path<BindingPath>& path) { remove(call, *path); });
}

void StepUps::add_routes(api::Router& router) const {
    router.add({.method = "POST",
                .path = "/api/v1/account/step-up/challenge",
                .name = "challenge_step_up",
                .group = "account",
                .summary = "A message for an agent to sign, to step up with its key.",
                .work = Work::write,
                .status = 201,
                .errors = {{Code::conflict,
                            "the account is a person's, who confirms by a code, or has no wallet"},
                           {Code::forbidden, "the purpose needs a session"}}},
               [this](Call& call, const Body<AskStepUpChallenge>& body) {
                   return challenge(call, *body);
               });
    router.add({.method = "POST",
                .path = "/api/v1/account/step-up",
                .name = "step_up",
                .group = "account",
                .summary = "Grants one purpose to this session, or an agent's key, for 5 minutes.",
                .work = Work::write,
                .errors = {{Code::authorization_invalid, "the proof is wrong, used or too old"},
                           {Code::forbidden,
                            "the purpose needs a session, an authenticator, or an agent's key"}}},
               [this](Call& call, const Body<AskStepUp>& body) { return step_up(call, *body); });
}

}  // namespace berth::wallets
