#include "transfers/letters.hpp"

#include <fmt/format.h>

namespace berth::transfers::letters {
namespace {

std::string_view noun(TransferKind kind) {
    return kind == TransferKind::payout ? "payout" : "withdrawal";
}

// "12.5 USDC": whole units for people, who do not count in millionths.
std::string amount_text(const Wish& wish) {
    constexpr std::int64_t micro_per_unit = 1'000'000;
    std::string text = fmt::format("{}.{:06}", wish.amount.value / micro_per_unit,
                                   wish.amount.value % micro_per_unit);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return fmt::format("{} {}", text, ledger::name(wish.asset));
}

std::string sentence(const Wish& wish) {
    return fmt::format("{} of {} on Base to {}", noun(wish.kind), amount_text(wish),
                       crypto::checksummed(wish.address));
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

mail::Message called_off(const Sender& sender, const std::string& email, const Wish& wish) {
    return {.to = email,
            .subject = fmt::format("{}: a {} was called off", sender.brand, noun(wish.kind)),
            .text = fmt::format("An operator has called off a {}. Nothing was sent, and what was "
                                "locked for it is yours again.\n\nWrite to support if you want to "
                                "know more.\n",
                                sentence(wish))};
}

mail::Message requested(const Sender& sender, const std::string& email, const Wish& wish) {
    return {.to = email,
            .subject = fmt::format("A {} from your {} account", noun(wish.kind), sender.brand),
            .text = fmt::format("A {} was requested and is on its way.\n\n"
                                "If this was not you, write to support at once and revoke your API "
                                "keys.\n",
                                sentence(wish))};
}

}  // namespace berth::transfers::letters
