#include "server/operations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "chain/transaction.hpp"
#include "wallets/types.hpp"
#include "wire/wire.hpp"

namespace berth::server {
namespace {

constexpr const char* adopt_operation = "adopt_payment";
constexpr const char* order_operation = "order_treasury";

struct AdoptionArguments {
    std::string transaction;  // as it was signed, in hex
    AccountId account;
    Time paid_at;
    wire::Count after_block;
    std::vector<transfers::TransferId> paid_too;
    std::vector<wire::Count> found_too;
    std::string reason;
    std::vector<std::string> evidence;
};
BOOST_DESCRIBE_STRUCT(AdoptionArguments, (),
                      (transaction, account, paid_at, after_block, paid_too, found_too, reason,
                       evidence))

struct AdoptionResult {
    transfers::TransferId transfer_id;
    Micro amount_micro;
    Micro advance_micro;
    std::vector<transfers::TransferId> called_off;
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(AdoptionResult, (),
                      (transfer_id, amount_micro, advance_micro, called_off, audit_event_id))

struct SeenPayment {
    ledger::Asset asset{};
    Micro amount_micro;
    std::string token;
    std::string sender;
    std::string recipient;
    std::string transaction;
    wire::Count ordinal;
};
BOOST_DESCRIBE_STRUCT(SeenPayment, (),
                      (asset, amount_micro, token, sender, recipient, transaction, ordinal))

struct OrderArguments {
    Words words;
    std::optional<SeenPayment> payment;
};
BOOST_DESCRIBE_STRUCT(OrderArguments, (), (words, payment))

struct OrderResult {
    audit::AuditEventId audit_event_id;
};
BOOST_DESCRIBE_STRUCT(OrderResult, (), (audit_event_id))

std::string to_arguments(const transfers::Adoption& adoption,
                         const treasury::Authority& authority) {
    AdoptionArguments arguments{to_hex(adoption.payment.bytes),
                                adoption.account,
                                adoption.paid_at,
                                {adoption.after_block},
                                adoption.paid_too,
                                {},
                                authority.reason,
                                authority.evidence};
    for (const std::int64_t nonce : adoption.found_too) arguments.found_too.push_back({nonce});
    return wire::encode(arguments);
}

transfers::Adoption adoption_in(const AdoptionArguments& arguments) {
    const auto bytes = from_hex(arguments.transaction);
    const auto payment = chain::parse_signed(bytes.value_or(""), wallets::base_chain_id);
    require(payment.has_value(), "what waits to be adopted is a payment that was signed");
    transfers::Adoption adoption{.payment = *payment,
                                 .account = arguments.account,
                                 .paid_at = arguments.paid_at,
                                 .after_block = arguments.after_block.value,
                                 .paid_too = arguments.paid_too};
    for (const wire::Count& nonce : arguments.found_too) adoption.found_too.push_back(nonce.value);
    return adoption;
}

SeenPayment to_seen(const treasury::Payment& payment) {
    const chain::Transfer& sent = payment.transfer;
    return {payment.asset,
            sent.amount.value(),
            crypto::to_string(sent.token),
            crypto::to_string(sent.from),
            crypto::to_string(sent.to),
            chain::to_string(sent.transaction),
            {sent.ordinal}};
}

treasury::Payment payment_in(const SeenPayment& seen) {
    treasury::Payment payment;
    payment.asset = seen.asset;
    payment.transfer.amount = seen.amount_micro;
    payment.transfer.token = crypto::parse_address(seen.token).value();
    payment.transfer.from = crypto::parse_address(seen.sender).value();
    payment.transfer.to = crypto::parse_address(seen.recipient).value();
    payment.transfer.transaction = chain::parse_hash(seen.transaction).value();
    payment.transfer.ordinal = seen.ordinal.value;
    return payment;
}

// On the word of who confirms; who asked had the machine, and is in the audit record as such.
treasury::Authority authority_of(const api::Call& call, const std::string& reason,
                                 const std::vector<std::string>& evidence) {
    return {audit::Actor::of(call.caller.account), reason, evidence, call.request_id};
}

std::string adopt_confirmed(api::Call& call, const ledger::Treasury& ours,
                            const std::string& text) {
    const auto arguments = wire::decode<AdoptionArguments>(text, "arguments");
    const auto [what, event] =
        treasury::adopt(call.context(), ours, adoption_in(arguments),
                        authority_of(call, arguments.reason, arguments.evidence));
    return wire::encode(
        AdoptionResult{what.transfer, what.amount, what.advance, what.called_off, event});
}

std::string book_confirmed(api::Call& call, const ledger::Treasury& ours, const std::string& text) {
    const auto arguments = wire::decode<OrderArguments>(text, "arguments");
    const auto order = parse_order(arguments.words);
    require(order.has_value(), "what waits to be booked is an order");
    SeenOrder seen{*order};
    if (arguments.payment) seen.payment = payment_in(*arguments.payment);
    return wire::encode(OrderResult{book_order(
        call.context(), ours, seen, authority_of(call, order->reason, order->evidence))});
}

}  // namespace

four_eyes::PendingActionId ask_to_adopt(db::Context context, const ledger::Treasury& ours,
                                        const transfers::Adoption& adoption,
                                        const treasury::Authority& authority) {
    const auto owners = treasury::check_adoption(context.tx, adoption, authority);
    const bool owns = std::ranges::find(owners, adoption.account) != owners.end();
    const chain::Original& payment = adoption.payment;
    const auto call = chain::payment_in(payment.data);
    const auto asset = ours.asset_of(payment.to);
    if (!call || !asset) throw Problem(Code::conflict, "this is no payment of one of our tokens");
    transfers::freeze(context.tx, {payment.from, payment.nonce}, adoption.account, context.now);
    four_eyes::Wish wish{
        .action = adopt_operation,
        .target = {"transaction", chain::to_string(payment.hash)},
        .about = adoption.account,
        .reason = authority.reason,
        .consequence = fmt::format(
            "Account {} is debited {} micro-units of {}, which treasury {} paid to {} with nonce "
            "{}. The account {} that address.",
            to_string(adoption.account), to_string(call->payment.amount), ledger::name(*asset),
            crypto::checksummed(payment.from), crypto::checksummed(call->payment.to), payment.nonce,
            owns ? "owns" : "does not own")};
    if (!owns && !owners.empty()) {
        wish.gains = owners.front();
        wish.consequence += fmt::format(" Account {} does.", to_string(owners.front()));
    }
    return four_eyes::ask_from_command(context, wish, adopt_operation,
                                       to_arguments(adoption, authority));
}

four_eyes::PendingActionId ask_for_order(db::Context context, const SeenOrder& seen,
                                         const four_eyes::Wish& wish) {
    OrderArguments arguments{to_words(seen.order), std::nullopt};
    if (seen.payment) arguments.payment = to_seen(*seen.payment);
    return four_eyes::ask_from_command(context, wish, order_operation, wire::encode(arguments));
}

void add_operations(four_eyes::FourEyes& four_eyes, const ledger::Treasury& ours) {
    four_eyes.add_operation(adopt_operation, [&ours](api::Call& call, const std::string& text) {
        return adopt_confirmed(call, ours, text);
    });
    four_eyes.add_operation(order_operation, [&ours](api::Call& call, const std::string& text) {
        return book_confirmed(call, ours, text);
    });
}

}  // namespace berth::server
