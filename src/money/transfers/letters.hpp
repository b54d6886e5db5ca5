// The words that money uses towards people: mails, and the sentence a wallet shows before it signs.
#pragma once

#include "accounts/codes.hpp"
#include "accounts/site.hpp"
#include "mail/outbox.hpp"
#include "transfers/store.hpp"
#include "transfers/told.hpp"

namespace berth::transfers::letters {

struct Wish {
    TransferKind kind;
    crypto::Address address;
    Micro amount;
    Asset asset;
};
Wish of(const TransferRow& transfer);

// What an emailed code is bound to: kind, network, address, amount and asset.
std::string bound_to(const Wish& wish);
// What a wallet signs: the same, as a sentence in the letters that EIP-4361 allows.
std::string statement(const Wish& wish);

// In whose name a mail is written.
struct Sender {
    const std::string& brand;
    const accounts::Site& site;
};

mail::Message code(const Sender& sender, const std::string& email, const Wish& wish,
                   const accounts::EmailCodes::Issued& issued);

struct Confirmation {
    ConfirmationId id;
    std::string token;
    crypto::Address address;
    std::optional<Wish> wish;  // a transfer that waits for the address
    Time expires_at;
};
mail::Message confirm(const Sender& sender, const std::string& email,
                      const Confirmation& confirmation);

mail::Message requested(const Sender& sender, const std::string& email, const Wish& wish);

// Of a transfer that is over: what became of it.
events::Words ended(TransferKind kind, const TransferFacts& facts, std::string_view transfer);

}  // namespace berth::transfers::letters
