#include "admin/treasury_desk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admin/treasury_view.hpp"
#include "base/check.hpp"
#include "base/log.hpp"
#include "block_list/block_list.hpp"
#include "four_eyes/four_eyes.hpp"
#include "transfers/adopt.hpp"

namespace berth::admin {
namespace {

treasury::Authority authority(const api::Call& call, const Reason& reason) {
    return {.actor = audit::Actor::of(call.caller.account),
            .reason = reason.value,
            .request = call.request_id};
}

funding::DepositMark require_deposit(api::Call& call, funding::DepositId id) {
    const auto mark = funding::find_mark(call.tx(), id);
    if (!mark) throw Problem(Code::not_found, "no such transfer to a treasury");
    return *mark;
}

funding::DepositRow require_row(api::Call& call, const funding::DepositMark& mark) {
    auto row = funding::find_deposit(call.tx(), mark);
    require(row.has_value(), "a transfer that has a mark is there");
    return std::move(*row);
}

chain::Hash hash_of(const wire::TransactionHash& text) {
    const auto hash = chain::parse_hash(text.value);
    require(hash.has_value(), "the wire lets only transaction hashes through");
    return *hash;
}

std::optional<crypto::Address> address_of(const ReturnDeposit& request) {
    if (!request.address) return std::nullopt;
    const auto to = crypto::parse_address(request.address->value);
    if (!to) throw Problem(Code::invalid_input, "body.address: has a wrong checksum");
    return to;
}

// An unclaimed transfer that goes to somebody who did not send it, always with a second admin: it
// is the one way in which money of nobody becomes somebody's. That it is unclaimed is part of what
// was shown, and nobody is asked to confirm what is somebody's by now.
four_eyes::Wish giving(api::Call& call, const funding::DepositRow& deposit, const Reason& reason,
                       std::string action, const std::string& to) {
    const bool unclaimed =
        funding::find_in_suspense(call.tx(), chain::to_string(deposit.transaction), deposit.asset,
                                  deposit.amount)
            .has_value();
    if (!unclaimed && call.approval() == nullptr)
        throw Problem(Code::conflict, "this transfer is not in suspense any more");
    return {.action = std::move(action),
            .target = {"transfer_on_chain", chain::to_string(deposit.transaction)},
            .reason = reason.value,
            .consequence = fmt::format("{} micro-units of {} that {} sent go to {}.",
                                       to_string(deposit.amount), ledger::name(deposit.asset),
                                       crypto::checksummed(deposit.sender), to),
            .seen = unclaimed ? "in suspense" : "not in suspense"};
}

treasury::Purpose purpose_of(MovementKind kind) {
    switch (kind) {
        case MovementKind::gas: return treasury::Purpose::gas;
        case MovementKind::fee_take_out: return treasury::Purpose::fee_take_out;
        case MovementKind::to_cold: return treasury::Purpose::to_cold;
        case MovementKind::top_up: break;
    }
    throw std::logic_error("a top-up is no payment");
}

}  // namespace

DepositEnded TreasuryDesk::match(api::Call& call, const DepositPath& path,
                                 const MatchDeposit& request) const {
    const funding::DepositMark deposit = require_deposit(call, path.deposit_id);
    if (!accounts::find_record(call.tx(), request.account_id))
        throw Problem(Code::not_found, "body.account_id: no such account");
    call.require_step_up();
    if (request.account_id == call.caller.account)
        throw Problem(Code::forbidden, "nobody matches a transfer to their own account");
    if (block_list::is_blocked(call.tx(), require_row(call, deposit).sender))
        throw Problem(Code::conflict, "its sender is on the block list");
    four_eyes::Wish wish =
        giving(call, require_row(call, deposit), request.reason, "match_suspense",
               "the balance of account " + to_string(request.account_id));
    wish.about = wish.gains = request.account_id;
    four_eyes::require_second(call, outbox_, wish);
    treasury::Authority word = authority(call, request.reason);
    word.evidence = cleaned(call.tx(), request.evidence);
    const auto event = treasury::match(call.context(), deposit, request.account_id, word);
    return {path.deposit_id, "CLAIMED", event, std::nullopt};
}

std::function<PaymentFacts()> TreasuryDesk::ask(api::Call& call,
                                                const wire::TransactionHash& hash) const {
    if (chain_ == nullptr) throw Problem(Code::unavailable, "no chain is set up on this server");
    return [chain = chain_, ours = funding::list_watched(call.tx()), wanted = hash_of(hash)] {
        try {
            return PaymentFacts{treasury::find_payment(*chain, ours, wanted, std::nullopt)};
        } catch (const chain::ProviderError& error) {
            log(Level::warn, "chain_provider_failed", {{"why", error.what()}});
            throw Problem(Code::unavailable,
                          "the chain cannot be read now; nothing was booked; try again later");
        }
    };
}

std::function<PaymentFacts()> TreasuryDesk::prepare_return(api::Call& call, const DepositPath& path,
                                                           const ReturnDeposit& request) const {
    const auto to = address_of(request);
    const auto deposit = funding::find_deposit(call.tx(), require_deposit(call, path.deposit_id));
    const bool proven = request.evidence && !request.evidence->value.empty();
    if (!request.tx_hash && to && *to != deposit->sender && !proven)
        throw Problem(Code::invalid_input,
                      "body.evidence: must say why it goes to another address than its sender's");
    call.require_step_up();
    if (!request.tx_hash) return [] { return PaymentFacts{}; };
    return ask(call, *request.tx_hash);
}

// A return to another address than its sender's. Whoever has that address gains by it, and neither
// asks for it nor confirms it: this runs for both.
void TreasuryDesk::require_foreign(api::Call& call, const funding::DepositRow& deposit,
                                   const crypto::Address& to, const Reason& reason) const {
    if (block_list::is_blocked(call.tx(), to))
        throw Problem(Code::conflict, "the address that it would go to is on the block list");
    const auto owners = transfers::find_owners(call.tx(), to);
    if (std::find(owners.begin(), owners.end(), call.caller.account) != owners.end())
        throw Problem(Code::forbidden, "nobody returns a transfer to their own address");
    four_eyes::Wish wish =
        giving(call, deposit, reason, "return_suspense", crypto::checksummed(to));
    if (!owners.empty()) {
        wish.gains = owners.front();
        wish.consequence +=
            " That address is known as one of account " + to_string(owners.front()) + ".";
    }
    four_eyes::require_second(call, outbox_, wish);
}

DepositEnded TreasuryDesk::give_back(api::Call& call, const PaymentFacts& facts,
                                     const DepositPath& path, const ReturnDeposit& request) const {
    const funding::DepositMark deposit = require_deposit(call, path.deposit_id);
    call.require_step_up();
    treasury::Authority word = authority(call, request.reason);
    if (request.evidence) word.evidence = cleaned(call.tx(), *request.evidence);
    const auto to = address_of(request);
    if (!facts.payment) {
        const auto row = require_row(call, deposit);
        if (to && *to != row.sender) require_foreign(call, row, *to, request.reason);
        const auto made = treasury::send_back(call.context(), treasury_, deposit, to, word);
        return {path.deposit_id, "RETURNING", made.event, made.transfer};
    }
    const crypto::Address& paid = facts.payment->transfer.to;
    if (to && *to != paid)
        throw Problem(Code::conflict, "the payment went to another address than body.address");
    const auto row = require_row(call, deposit);
    if (paid != row.sender) require_foreign(call, row, paid, request.reason);
    const auto event = treasury::give_back(call.context(), deposit, *facts.payment, word);
    return {path.deposit_id, "RETURNED", event, std::nullopt};
}

DepositEnded TreasuryDesk::cancel_return(api::Call& call, const DepositPath& path,
                                         const KeepDeposit& request) const {
    const funding::DepositMark deposit = require_deposit(call, path.deposit_id);
    call.require_step_up();
    const auto made = treasury::keep_here(call.context(), deposit, authority(call, request.reason));
    return {path.deposit_id, "SUSPENSE", made.event, made.transfer};
}

std::function<PaymentFacts()> TreasuryDesk::prepare_movement(api::Call& call,
                                                             const NewMovement& request) const {
    call.require_step_up();
    if (!request.tx_hash.value)
        throw Problem(Code::conflict, "what moved on chain is booked by its transaction");
    if (request.kind == MovementKind::top_up) return [] { return PaymentFacts{}; };
    return ask(call, *request.tx_hash.value);
}

MovementBooked TreasuryDesk::move(api::Call& call, const PaymentFacts& facts,
                                  const NewMovement& request) const {
    call.require_step_up();
    const std::string hash = chain::to_string(hash_of(*request.tx_hash.value));
    const treasury::Authority word = authority(call, request.reason);
    MovementBooked booked{request.kind, request.asset, request.amount_micro, {hash}, {}};
    if (request.kind == MovementKind::top_up) {
        const auto own =
            funding::find_in_suspense(call.tx(), hash, request.asset, request.amount_micro.value);
        if (!own) throw Problem(Code::conflict, "no such transfer is in suspense");
        if (block_list::is_blocked(call.tx(), require_row(call, *own).sender))
            throw Problem(Code::conflict, "its sender is on the block list");
        four_eyes::require_second(call, outbox_,
                                  giving(call, require_row(call, *own), request.reason, "top_up",
                                         "the platform's capital"));
        booked.audit_event_id =
            treasury::keep(call.context(), treasury_, {*own, treasury::Own::top_up}, word);
        return booked;
    }
    require(facts.payment.has_value(), "the chain was asked for the payment");
    if (facts.payment->asset != request.asset ||
        facts.payment->transfer.amount != request.amount_micro.value)
        throw Problem(Code::conflict, "the transaction moved something else");
    booked.audit_event_id =
        treasury::pay(call.context(), treasury_, {purpose_of(request.kind), *facts.payment}, word);
    return booked;
}

void TreasuryDesk::add_suspense_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/suspense/{deposit_id}/match",
         .name = "match_suspense",
         .group = "admin",
         .summary = "Credits an unclaimed transfer to the account that proved it.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .deferral = four_eyes::waits,
         .errors = {Code::not_found,
                    {Code::forbidden, "the account is the caller's own"},
                    {Code::conflict, "it is not in suspense any more, or its sender is blocked"},
                    {Code::unavailable, "payments are being compared with the chain"}}},
        [this](api::Call& call, const api::Path<DepositPath>& path,
               const api::Body<MatchDeposit>& body) { return match(call, *path, *body); });
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/admin/suspense/{deposit_id}/return",
         .name = "return_suspense",
         .group = "admin",
         .summary = "Sends an unclaimed transfer back to its sender.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .deferral = four_eyes::waits,
         .errors = {Code::not_found,
                    {Code::forbidden, "the address is the caller's own"},
                    {Code::conflict, "it is not in suspense any more"},
                    {Code::conflict, "its sender cannot be paid"},
                    {Code::conflict, "the transaction is not final, or paid something else"},
                    {Code::unavailable,
                     "payments are not set up on this server or are being "
                     "compared with the chain, or it cannot be read"}}},
        [this](api::Call& call, const api::Path<DepositPath>& path,
               const api::Body<ReturnDeposit>& body) { return prepare_return(call, *path, *body); },
        [this](api::Call& call, const PaymentFacts& facts, const api::Path<DepositPath>& path,
               const api::Body<ReturnDeposit>& body) {
            return give_back(call, facts, *path, *body);
        });
    router.add(
        {.method = "POST",
         .path = "/api/v1/admin/suspense/{deposit_id}/return/cancel",
         .name = "cancel_suspense_return",
         .group = "admin",
         .summary = "Calls a return off that was not signed yet.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .errors = {{Code::not_found, "it is not being sent back"},
                    {Code::conflict, "its payment was signed already, is over, or is held back"},
                    {Code::unavailable,
                     "payments are being compared with the chain; try again later"}}},
        [this](api::Call& call, const api::Path<DepositPath>& path,
               const api::Body<KeepDeposit>& body) { return cancel_return(call, *path, *body); });
}

void TreasuryDesk::add_routes(api::Router& router) const {
    using api::Access;
    using api::StepUp;
    using api::Work;
    add_suspense_routes(router);
    router.add({.method = "GET",
                .path = "/api/v1/admin/treasury",
                .name = "show_treasury",
                .group = "admin",
                .summary = "The treasury's addresses, what books and chain say of it, and what "
                           "moved.",
                .access = Access::operator_},
               [this](api::Call& call) { return show_treasury(call, treasury_); });
    router.add_asking(
        {.method = "POST",
         .path = "/api/v1/admin/treasury/movements",
         .name = "book_treasury_movement",
         .group = "admin",
         .summary = "Books what the operator took out of the treasury, or put into it.",
         .access = Access::finance,
         .work = Work::write,
         .step_up = StepUp::admin_sensitive,
         .idempotent = true,
         .status = 201,
         .deferral = four_eyes::waits,
         .errors = {{Code::conflict, "the transaction is not final, or moved something else"},
                    {Code::conflict, "it is booked already"},
                    {Code::conflict, "it is more than there is of fee income"},
                    {Code::conflict, "it went to another address than the pinned settings name"},
                    Code::unavailable}},
        [this](api::Call& call, const api::Body<NewMovement>& body) {
            return prepare_movement(call, *body);
        },
        [this](api::Call& call, const PaymentFacts& facts, const api::Body<NewMovement>& body) {
            return move(call, facts, *body);
        });
}

}  // namespace berth::admin
