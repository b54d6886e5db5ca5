#include "transfers/letters.hpp"

#include <fmt/format.h>

#include "ledger/amounts.hpp"

namespace berth::transfers::letters {
namespace {

std::string_view noun(TransferKind kind) {
    return kind == TransferKind::payout ? "payout" : "withdrawal";
}

std::string sentence(TransferKind kind, Micro amount, Asset asset, const std::string& address) {
    return fmt::format("{} of {} on Base to {}", noun(kind), ledger::amount_text(amount, asset),
                       address);
}

std::string sentence(const Wish& wish) {
    return sentence(wish.kind, wish.amount, wish.asset, crypto::checksummed(wish.address));
}

struct Outcome {
    std::string_view word;  // ends the subject
    std::string text;       // goes on from "Your withdrawal of …"
};
Outcome outcome_of(const TransferFacts& facts) {
    const std::string because =
        facts.reason.value ? fmt::format(": {}", *facts.reason.value) : std::string();
    switch (facts.state) {
        case TransferState::SETTLED:
            return {"was paid", facts.tx_hash.value
                                    ? fmt::format("was paid.\n\nThe transaction is {}.",
                                                  facts.tx_hash.value->value)
                                    : "was paid."};
        case TransferState::FAILED:
            return {"could not be paid",
                    "could not be paid" + because +
                        ". Nothing was paid, and what was set aside for it is back in your "
                        "account."};
        case TransferState::EXPIRED:
            return {"has expired", "has expired" + because + ". Nothing was paid."};
        // Nothing is set aside before a link was opened, and what is called back may go to a
        // renter.
        default:
            return {"was called off",
                    "was called off" + because +
                        ". Nothing was paid, and nothing is set aside for it any more."};
    }
}

}  // namespace

Wish of(const TransferRow& transfer) {
    return {transfer.kind, transfer.address, transfer.amount, transfer.asset};
}

std::string bound_to(const Wish& wish) {
    return fmt::format("{}:base:{}:{}:{}", noun(wish.kind), crypto::to_string(wish.address),
                       wish.amount.value, ledger::name(wish.asset));
}

std::string statement(const Wish& wish) {
    return fmt::format("Confirm a {} of {} micro-{} on network base to {}.", noun(wish.kind),
                       wish.amount.value, ledger::name(wish.asset),
                       crypto::checksummed(wish.address));
}

mail::Message code(const Sender& sender, const std::string& email, const Wish& wish,
                   const accounts::EmailCodes::Issued& issued) {
    return {
        .to = email,
        .subject = fmt::format("Your {} {} code", sender.brand, noun(wish.kind)),
        .text = fmt::format("Your code for a {}: {}\n\n"
                            "It works once, for ten minutes, for exactly this amount and "
                            "address. If you did not ask for this, somebody is in your account: "
                            "sign out everywhere and write to support.\n",
                            sentence(wish), issued.code),
        .useful_until = issued.expires_at};
}

mail::Message confirm(const Sender& sender, const std::string& email,
                      const Confirmation& confirmation) {
    const std::string what =
        confirmation.wish
            ? fmt::format("A {} was requested. It waits until you confirm the new address.",
                          sentence(*confirmation.wish))
            : fmt::format("Withdrawals to {} on Base are to be allowed.",
                          crypto::checksummed(confirmation.address));
    return {.to = email,
            .subject = fmt::format("Confirm a new {} withdrawal address", sender.brand),
            .text = fmt::format("{}\n\nTo confirm, open this link and press the button:\n"
                                "{}/confirm/{}#{}\n\n"
                                "It works once, until {}. If you did not ask for this, do not open "
                                "it: nothing leaves without it. Sign out everywhere and write to "
                                "support.\n",
                                what, sender.site.base_url, to_string(confirmation.id),
                                confirmation.token, to_rfc3339(confirmation.expires_at)),
            .useful_until = confirmation.expires_at};
}

mail::Message requested(const Sender& sender, const std::string& email, const Wish& wish) {
    return {.to = email,
            .subject = fmt::format("A {} from your {} account", noun(wish.kind), sender.brand),
            .text = fmt::format("A {} was requested and is on its way.\n\n"
                                "If this was not you, write to support at once and revoke your API "
                                "keys.\n",
                                sentence(wish))};
}

events::Words ended(TransferKind kind, const TransferFacts& facts, std::string_view transfer) {
    const Outcome outcome = outcome_of(facts);
    return {fmt::format("your {} {}", noun(kind), outcome.word),
            fmt::format("Your {} {}\n\nIts number is {}.\n\nIf this was not you, write to support "
                        "at once and revoke your API keys.",
                        sentence(kind, facts.amount_micro, facts.asset, facts.address.value),
                        outcome.text, transfer)};
}

}  // namespace berth::transfers::letters
