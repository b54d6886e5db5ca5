// Addresses that a token will not pay, because its issuer has barred them or for whatever reason of
// its own. Each payment that it refused counts, tried or reverted on the chain; after a few in a
// row the address is barred here: what waits for it is called off with the money back, and nothing
// more is asked for until an operator lifts the bar. A payment that arrives forgets all of it.
//
// Reverts to different addresses, one after the other, are no payee's fault: then nothing is signed
// until a person has looked.
#pragma once

#include "transfers/settings.hpp"
#include "transfers/store.hpp"

namespace berth::api {
class Router;
}

namespace berth::transfers {

// One that was refused a moment ago is not counted again by the next look.
inline constexpr Duration refusals_apart = std::chrono::minutes(1);

// A token pays or bars an address whatever others do.
struct Payee {
    Asset asset{};
    crypto::Address address;
};
bool is_barred(db::Transaction& tx, const Payee& payee);
// Throws a Problem CONFLICT then.
void require_payable(db::Transaction& tx, const Payee& payee);

// Keeps: a payment that would be reverted is not signed, and its money goes back in the transaction
// that calls it off. Counts a refusal of each; those whose address is barred by now are called off,
// unless books and chain are being compared. Gives those.
std::vector<TransferId> refuse_payments(db::Context context, std::span<const TransferRow> refused,
                                        const Settings& limits);

// What became of payments on the chain.
struct ChainEndings {
    std::vector<Payee> paid;
    std::vector<Payee> reverted;
};
// True when they were the last of so many reverts that payments are held from now on.
bool note_endings(db::Context context, const ChainEndings& endings, const Settings& limits);

// What operators see of it, and lift.
void add_payee_routes(api::Router& router);

}  // namespace berth::transfers
